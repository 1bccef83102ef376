// dict and set methods.
#include "frontend/builtins/families.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/attribute_dict.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

// x.keys() of anything that has such a method; null if it has none.
static ValueRef keys_of_mapping(Tracer& t, const ValueRef& from) {
  if (from->kind != ValueKind::Object && from->kind != ValueKind::Polyfilled) return {};
  PyRef name = checked(PyUnicode_InternFromString("keys"));
  return from->has_attr(t, name.get()) ? t.call(from->get_attr(t, name.get()), {}) : ValueRef();
}

static std::vector<ValueRef> elements_of_pair(Tracer& t, const ValueRef& pair, std::int64_t at) {
  PyTypeObject* type = pair->python_type();
  if (type && pair->kind != ValueKind::Object && !type->tp_iter &&
      !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    t.raise(PyExc_TypeError,
            "cannot convert dictionary update sequence element #" + std::to_string(at) + " to a sequence");
  return collect(t, pair);
}

void fill_dict(Tracer& t, DictValue& d, const ValueRef& raw) {
  ValueRef from = t.realize(raw);
  if (auto* o = as<ObjectValue>(from)) {
    PyRef keys = checked(PyUnicode_InternFromString("keys"));
    auto* held = as<DictValue>(o->payload);
    if (held && held->type == &PyDict_Type && !o->special(t, "__iter__")) {
      from = o->payload;
    } else if (o->has_attr(t, keys.get())) {
      for (auto& key : collect(t, o->call_method(t, keys.get(), {}))) d.put(t, key, o->get_item(t, key));
      return;
    }
  }
  if (auto* attributes = as<AttributeDictValue>(from)) from = attributes->contents(t);
  from = shown_mapping(from);
  if (auto* other = as<DictValue>(from)) {
    other->observe_keys(t);
    for (auto& e : other->live()) d.put(t, e.key, e.value);
    return;
  }
  if (ValueRef keys = keys_of_mapping(t, from)) {
    ValueRef it = t.realize(keys)->iter(t);
    while (ValueRef key = it->next(t)) d.put(t, key, from->get_item(t, key));
    return;
  }
  ValueRef it = t.realize(from->iter(t));
  for (std::int64_t k = 0;; ++k) {
    ValueRef pair = it->next(t);
    if (!pair) return;
    auto kv = elements_of_pair(t, t.realize(pair), k);
    if (kv.size() != 2)
      t.raise(PyExc_ValueError, "dictionary update sequence element #" + std::to_string(k) + " has length " +
                                    std::to_string(kv.size()) + "; 2 is required");
    d.put(t, kv[0], kv[1]);
  }
}

namespace {

DictValue& dict_of(Value& self) { return static_cast<DictValue&>(self); }
SetValue& set_of(Value& self) { return static_cast<SetValue&>(self); }

ValueRef dict_get(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "get", args, 1, 2);
  if (ValueRef v = dict_of(self).find(t, args[0])) return v;
  return args.size() == 2 ? args[1] : t.none();
}

ValueRef dict_setdefault(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "setdefault", args, 1, 2);
  if (ValueRef v = dict_of(self).find(t, args[0])) return v;
  ValueRef v = args.size() == 2 ? args[1] : t.none();
  dict_of(self).put(t, args[0], v);
  return v;
}

ValueRef dict_pop(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "pop", args, 1, 2);
  ValueRef v = dict_of(self).find(t, args[0]);
  if (!v && args.size() == 2) return args[1];
  if (!v) {
    raise_key_error(t, args[0]);
  }
  dict_of(self).remove(t, args[0]);
  return v;
}

ValueRef dict_popitem(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "popitem", args, 0, 0);
  dict_of(self).observe_keys(t);
  auto live = dict_of(self).live();
  if (live.empty()) t.raise(PyExc_KeyError, "popitem(): dictionary is empty");
  dict_of(self).remove(t, live.back().key);
  return make_ref<TupleValue>(std::vector<ValueRef>{live.back().key, live.back().value});
}

ValueRef dict_update(Tracer& t, Value& self, CallArgs& args) {
  if (args.positional.size() > 1)
    t.raise(PyExc_TypeError, "update expected at most 1 argument, got " + std::to_string(args.positional.size()));
  if (!args.positional.empty()) fill_dict(t, dict_of(self), args[0]);
  for (auto& [k, v] : args.keywords) dict_of(self).put(t, t.constant(k), v);
  return t.none();
}

ValueRef dict_clear(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "clear", args, 0, 0);
  dict_of(self).clear(t);
  return t.none();
}

ValueRef dict_copy(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "copy", args, 0, 0);
  dict_of(self).observe_keys(t);
  auto d = make_ref<DictValue>(dict_of(self).type);
  d->default_factory = dict_of(self).default_factory;
  for (auto& e : dict_of(self).live()) d->put(t, e.key, e.value);
  return d;
}

template <ViewKind which>
ValueRef dict_view(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "view", args, 0, 0);
  return make_ref<DictViewValue>(Ref<DictValue>(&dict_of(self)), which);
}

ValueRef set_add(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.add", args, 1, 1);
  if (set_of(self).frozen) return {};
  set_of(self).add(t, args[0]);
  return t.none();
}

ValueRef set_discard(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.discard", args, 1, 1);
  set_of(self).discard(t, args[0]);
  return t.none();
}

ValueRef set_remove(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.remove", args, 1, 1);
  if (!set_of(self).discard(t, args[0])) {
    raise_key_error(t, args[0]);
  }
  return t.none();
}

// By other sets, one after the other, as C does; null: one of them is something else, or there is none.
ValueRef changed_by_sets(Tracer& t, Value& self, const char* method, CallArgs& args) {
  if (set_of(self).frozen || args.positional.empty() || !args.keywords.empty()) return {};
  for (auto& a : args.positional)
    if (!as<SetValue>(a = as_any_set(t, a))) return {};
  for (auto& a : args.positional) set_of(self).change_by(t, method, a);
  return t.none();
}

ValueRef set_difference_update(Tracer& t, Value& self, CallArgs& args) {
  return changed_by_sets(t, self, "difference_update", args);
}

ValueRef set_symmetric_difference_update(Tracer& t, Value& self, CallArgs& args) {
  if (args.positional.size() != 1) return {};
  return changed_by_sets(t, self, "symmetric_difference_update", args);
}

// The content becomes that of the intersection, which is a table of its own, as in C.
ValueRef set_intersection_update(Tracer& t, Value& self, CallArgs& args) {
  SetValue& set = set_of(self);
  if (set.frozen) return {};
  if (ValueRef done = changed_by_sets(t, self, "intersection_update", args)) return done;
  if (set.source) unmodelled_method(self, "intersection_update", args);
  ValueRef result = set.combine(t, "intersection", args.positional);
  auto& made = static_cast<SetValue&>(*result);
  std::swap(set.members, made.members), std::swap(set.values, made.values), std::swap(set.held, made.held);
  ++set.shape;
  return t.none();
}

// Of a set made while tracing: its table has the history of the real one's.
ValueRef set_pop(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.pop", args, 0, 0);
  SetValue& set = set_of(self);
  if (set.frozen) return {};
  if (PySet_GET_SIZE(set.members.get()) == 0) t.raise(PyExc_KeyError, "pop from an empty set");
  if (set.source) unmodelled_method(self, "pop", args);
  set.observe_order(t);
  PyRef key = checked(PySet_Pop(set.members.get()));
  PyObject* at = PyDict_GetItemWithError(set.values.get(), key.get());
  if (!at) throw InternalError("a set member has no value");
  ValueRef v = set.held[PyLong_AsSize_t(at)];
  checked(PyDict_DelItem(set.values.get(), key.get()));
  ++set.shape;
  return v;
}

ValueRef set_clear(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.clear", args, 0, 0);
  set_of(self).clear(t);
  return t.none();
}

ValueRef set_copy(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "set.copy", args, 0, 0);
  if (set_of(self).frozen) return ValueRef(&self);
  return set_of(self).combine(t, "copy", {});
}

ValueRef set_update(Tracer& t, Value& self, CallArgs& args) {
  for (auto& a : args.positional) set_of(self).update(t, a);
  return t.none();
}

// Members of `a` that are (or are not) in `b`.
Ref<SetValue> filtered(Tracer& t, SetValue& a, const ValueRef& b, bool keep) {
  auto other = make_ref<SetValue>(true);
  for (auto& v : collect(t, b)) other->add(t, v);
  auto out = make_ref<SetValue>(a.frozen);
  for (auto& v : a.items(t))
    if (other->contains(t, v) == keep) out->add(t, v);
  return out;
}

ValueRef set_union(Tracer& t, Value& self, CallArgs& args) { return set_of(self).combine(t, "union", args.positional); }
ValueRef set_intersection(Tracer& t, Value& self, CallArgs& args) {
  return set_of(self).combine(t, "intersection", args.positional);
}
ValueRef set_difference(Tracer& t, Value& self, CallArgs& args) {
  return set_of(self).combine(t, "difference", args.positional);
}
ValueRef set_symmetric_difference(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "symmetric_difference", args, 1, 1);
  return set_of(self).combine(t, "symmetric_difference", args.positional);
}

bool subset(Tracer& t, SetValue& a, const ValueRef& b) {
  return *filtered(t, a, as_any_set(t, b), false)->length(t) == 0;
}

ValueRef set_issubset(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "issubset", args, 1, 1);
  return t.boolean(subset(t, set_of(self), args[0]));
}

ValueRef set_issuperset(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "issuperset", args, 1, 1);
  for (auto& v : collect(t, as_any_set(t, args[0])))
    if (!self.contains(t, v)) return t.boolean(false);
  return t.boolean(true);
}

ValueRef set_isdisjoint(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "isdisjoint", args, 1, 1);
  return t.boolean(*filtered(t, set_of(self), args[0], true)->length(t) == 0);
}

constexpr MethodRow kDictRows[] = {{ValueKind::Dict, "get", dict_get},
                                   {ValueKind::Dict, "setdefault", dict_setdefault},
                                   {ValueKind::Dict, "pop", dict_pop},
                                   {ValueKind::Dict, "popitem", dict_popitem},
                                   {ValueKind::Dict, "update", dict_update},
                                   {ValueKind::Dict, "clear", dict_clear},
                                   {ValueKind::Dict, "copy", dict_copy},
                                   {ValueKind::Dict, "keys", dict_view<ViewKind::Keys>},
                                   {ValueKind::Dict, "values", dict_view<ViewKind::Values>},
                                   {ValueKind::Dict, "items", dict_view<ViewKind::Items>}};

constexpr MethodRow kSetRows[] = {{ValueKind::Set, "add", set_add},
                                  {ValueKind::Set, "discard", set_discard},
                                  {ValueKind::Set, "remove", set_remove},
                                  {ValueKind::Set, "clear", set_clear},
                                  {ValueKind::Set, "pop", set_pop},
                                  {ValueKind::Set, "intersection_update", set_intersection_update},
                                  {ValueKind::Set, "difference_update", set_difference_update},
                                  {ValueKind::Set, "symmetric_difference_update", set_symmetric_difference_update},
                                  {ValueKind::Set, "copy", set_copy},
                                  {ValueKind::Set, "update", set_update},
                                  {ValueKind::Set, "union", set_union},
                                  {ValueKind::Set, "intersection", set_intersection},
                                  {ValueKind::Set, "difference", set_difference},
                                  {ValueKind::Set, "symmetric_difference", set_symmetric_difference},
                                  {ValueKind::Set, "issubset", set_issubset},
                                  {ValueKind::Set, "issuperset", set_issuperset},
                                  {ValueKind::Set, "isdisjoint", set_isdisjoint}};

}  // namespace

std::span<const MethodRow> dict_methods() { return kDictRows; }
std::span<const MethodRow> set_methods() { return kSetRows; }

}  // namespace md
