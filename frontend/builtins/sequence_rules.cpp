// Sequences, iteration, containers.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/item_numbers.h"
#include "frontend/values/iterators.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/slices.h"

namespace md {

bool less_than(Tracer& t, const ValueRef& a, const ValueRef& b) { return t.realize(t.compare(a, b, Py_LT))->truth(t); }

bool reverse_order(Tracer& t, const ValueRef& reverse) {
  if (!reverse) return false;
  const ValueRef v = kReverseIsInt ? index_value(t, reverse) : t.realize(reverse);
  const bool number = v->kind == ValueKind::Size || (v->kind == ValueKind::Constant && PyLong_Check(v->real.get()));
  if (kReverseIsInt && !number) throw WrongArguments{};
  return v->truth(t);
}

constexpr int kDeepestKey = 20;  // a list may contain itself

// A constant, a member of an enumeration, a tuple or list of these. Items are looked at only when somebody asks.
static bool has_known_order(Tracer& t, const ValueRef& key, int depth = 0) {
  if (is_item_number(key)) return false;
  auto* tuple = as<TupleValue>(key);
  auto* list = as<ListValue>(key);
  if (!tuple && !list) return is_member(key) || key->as_constant();
  return depth < kDeepestKey && std::ranges::all_of(
                                    tuple ? tuple->items : list->items,
                                    [&](ValueRef& item) {
                                      item = t.realize(item);
                                      return has_known_order(t, item, depth + 1);
                                    });
}

std::vector<ValueRef> sorted_values(Tracer& t, std::vector<ValueRef> items, const ValueRef& key, bool reverse) {
  struct Keyed {
    ValueRef key, item;
  };
  std::vector<Keyed> keyed;
  for (auto& x : items) {
    ValueRef k = key && !is_true_constant(key, Py_None) ? t.call(key, CallArgs{{x}, {}}) : x;
    k = t.realize(k);
    if (!has_known_order(t, k)) graph_break<GB0207>(k->print());
    keyed.push_back({k, x});
  }
  // Insertion keeps equal keys in order and uses only <, as list.sort does.
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  std::stable_sort(keyed.begin(), keyed.end(),
                   [&](const Keyed& a, const Keyed& b) { return less_than(t, a.key, b.key); });
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  std::vector<ValueRef> out;
  for (auto& k : keyed) out.push_back(k.item);
  return out;
}

namespace {

ValueRef rule_len(Tracer& t, CallArgs& args) {
  expect_args(t, "len", args, 1, 1);
  return args[0]->length_value(t);
}

ValueRef rule_range(Tracer& t, CallArgs& args) {
  for (auto& a : args.positional) a = index_value(t, a);
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_constant(args, positional, kwargs))
    not_modelled<GB0059>(std::string("range"), argument_types(t, args), std::string("False"));
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef r = PyRef::steal(PyObject_Call(reinterpret_cast<PyObject*>(&PyRange_Type), tuple.get(), kwargs.get()));
  if (!r) t.raise_current();
  return make_ref<RangeValue>(r);
}

ValueRef rule_list(Tracer& t, CallArgs& args) {
  expect_args(t, "list", args, 0, 1);
  return make_ref<ListValue>(args.size() ? collect_sized(t, args[0]) : std::vector<ValueRef>());
}

ValueRef rule_tuple(Tracer& t, CallArgs& args) {
  expect_args(t, "tuple", args, 0, 1);
  if (args.size() && args[0]->kind == ValueKind::Tuple && args[0]->python_type() == &PyTuple_Type) return args[0];
  return make_ref<TupleValue>(args.size() ? collect_sized(t, args[0]) : std::vector<ValueRef>());
}

ValueRef make_set(Tracer& t, CallArgs& args, const char* name, bool frozen) {
  expect_args(t, name, args, 0, 1);
  auto s = make_ref<SetValue>(frozen);
  if (args.size()) args.positional[0] = as_any_set(t, args[0]);
  if (args.size() && (args[0]->kind == ValueKind::Set || args[0]->kind == ValueKind::Dict))
    return s->combine(t, "union", args.positional);
  if (args.size())
    for (auto& x : collect(t, args[0])) s->add(t, x);
  return s;
}
ValueRef rule_set(Tracer& t, CallArgs& args) { return make_set(t, args, "set", false); }
ValueRef rule_frozenset(Tracer& t, CallArgs& args) {
  expect_args(t, "frozenset", args, 0, 1);
  if (args.size() && args[0]->python_type() == &PyFrozenSet_Type) return args[0];  // itself, no copy
  return make_set(t, args, "frozenset", true);
}

ValueRef rule_dict(Tracer& t, CallArgs& args) {
  auto d = make_ref<DictValue>(&PyDict_Type);
  if (args.positional.size() > 1)
    t.raise(PyExc_TypeError, "dict expected at most 1 argument, got " + std::to_string(args.positional.size()));
  if (!args.positional.empty()) fill_dict(t, *d, args[0]);
  for (auto& [k, v] : args.keywords) d->put(t, t.constant(k), v);
  return d;
}

ValueRef rule_slice(Tracer& t, CallArgs& args) {
  expect_args(t, "slice", args, 1, 3);
  if (args.size() == 1) return slice_between(t.none(), args[0], t.none());
  return slice_between(args[0], args[1], args.size() == 3 ? args[2] : t.none());
}

ValueRef rule_iter(Tracer& t, CallArgs& args) {
  expect_args(t, "iter", args, 1, 2);
  if (args.size() == 2) return t.call(t.from_object(reinterpret_cast<PyObject*>(&PyCallIter_Type), nullptr), args);
  return args[0]->iter(t);
}

ValueRef rule_next(Tracer& t, CallArgs& args) {
  expect_args(t, "next", args, 1, 2);
  if (auto* g = as<GeneratorValue>(args[0]); g && args.size() == 1)
    return g->call_method(t, checked(PyUnicode_FromString("__next__")).get(), {});
  PyTypeObject* type = args[0]->python_type();
  if (type && !type->tp_iternext && t.config.trace_more && !t.uncaught()) throw WrongArguments{};
  if (ValueRef v = args[0]->next(t)) return v;
  if (args.size() == 2) return args[1];
  throw TracedRaise{
      make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), std::vector<ValueRef>{})};
}

ValueRef next_of_enumerate(Tracer& t, FunctionIterator& self) {
  ValueRef v = self.inner[0]->next(t);
  if (!v) return {};
  return make_ref<TupleValue>(std::vector<ValueRef>{t.integer(self.count++), v});
}

ValueRef rule_enumerate(Tracer& t, CallArgs& args) {
  ValueRef start = args.take_keyword("start");
  if (args.positional.size() == 2) start = args[1], args.positional.pop_back();
  if (ValueRef named = args.take_keyword("iterable")) args.positional.insert(args.positional.begin(), named);
  if (args.positional.size() != 1 || !args.keywords.empty()) throw WrongArguments{};
  auto it = make_ref<FunctionIterator>("EnumerateVariable()", &PyEnum_Type,
                                       std::vector<ValueRef>{t.realize(args[0])->iter(t)}, next_of_enumerate);
  if (start && !constant_int(t.realize(start), it->count)) {
    if (t.realize(start)->kind == ValueKind::Constant) throw WrongArguments{};
    unmodelled("enumerate", "start that is no constant");
  }
  return it;
}

ValueRef next_of_zip(Tracer& t, FunctionIterator& self) {
  std::vector<ValueRef> row;
  for (std::size_t k = 0; k < self.inner.size(); ++k) {
    ValueRef v = self.inner[k]->next(t);
    if (v) {
      if (self.strict && row.size() < k)
        t.raise(PyExc_ValueError, "zip() argument " + std::to_string(k + 1) + " is longer than argument" +
                                      (k == 1 ? " 1" : "s 1-" + std::to_string(k)));
      row.push_back(v);
    } else if (!self.strict) {
      return {};
    } else if (k > 0 && row.size() == k) {
      t.raise(PyExc_ValueError, "zip() argument " + std::to_string(k + 1) + " is shorter than argument" +
                                    (k == 1 ? " 1" : "s 1-" + std::to_string(k)));
    }
  }
  return row.empty() ? ValueRef() : ValueRef(make_ref<TupleValue>(std::move(row)));
}

ValueRef rule_zip(Tracer& t, CallArgs& args) {
  ValueRef strict = args.take_keyword("strict");
  if (!args.keywords.empty()) return {};
  std::vector<ValueRef> inner;
  for (auto& a : args.positional) inner.push_back(t.realize(a)->iter(t));
  auto it = make_ref<FunctionIterator>("ZipVariable()", &PyZip_Type, std::move(inner), next_of_zip);
  it->strict = strict && t.realize(strict)->truth(t);
  return it;
}

ValueRef next_of_map(Tracer& t, FunctionIterator& self) {
  CallArgs args;
  for (auto& x : self.inner) {
    ValueRef v = x->next(t);
    if (!v) return {};
    args.positional.push_back(v);
  }
  return t.call(self.function, std::move(args));
}

ValueRef rule_map(Tracer& t, CallArgs& args) {
  if (!args.keywords.empty()) return {};
  if (args.size() < 2) t.raise(PyExc_TypeError, "map() must have at least two arguments.");
  std::vector<ValueRef> inner;
  for (std::size_t k = 1; k < args.positional.size(); ++k) inner.push_back(t.realize(args[k])->iter(t));
  auto it = make_ref<FunctionIterator>("MapVariable()", &PyMap_Type, std::move(inner), next_of_map);
  it->function = args[0];
  return it;
}

ValueRef next_of_filter(Tracer& t, FunctionIterator& self) {
  while (ValueRef v = self.inner[0]->next(t)) {
    ValueRef keep = is_true_constant(self.function, Py_None) ? v : t.call(self.function, CallArgs{{v}, {}});
    if (t.realize(keep)->truth(t)) return v;
  }
  return {};
}

ValueRef rule_filter(Tracer& t, CallArgs& args) {
  expect_args(t, "filter", args, 2, 2);
  auto it = make_ref<FunctionIterator>("FilterVariable()", &PyFilter_Type,
                                       std::vector<ValueRef>{t.realize(args[1])->iter(t)}, next_of_filter);
  it->function = args[0];
  return it;
}

// The iterator class of the library that goes backward over such an object; null if nothing does.
PyTypeObject* reverse_iterator(const ValueRef& v) {
  const auto of = [](PyObject* sequence) {
    return Py_TYPE(checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), sequence)).get());
  };
  if (v->kind == ValueKind::List) return &PyListRevIter_Type;
  if (v->kind == ValueKind::Dict) return &PyDictRevIterKey_Type;
  if (auto* view = as<DictViewValue>(v))
    return view->which == ViewKind::Keys || view->which == ViewKind::Proxy ? &PyDictRevIterKey_Type
           : view->which == ViewKind::Values                               ? &PyDictRevIterValue_Type
                                                                           : &PyDictRevIterItem_Type;
  if (v->kind == ValueKind::Deque)
    return of(checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(v->python_type()))).get());
  PyTypeObject* type = v->python_type();
  return type && type->tp_as_sequence && type->tp_as_sequence->sq_item ? &PyReversed_Type : nullptr;
}

ValueRef rule_reversed(Tracer& t, CallArgs& args) {
  expect_args(t, "reversed", args, 1, 1);
  const ValueRef& v = args[0];
  if (v->kind == ValueKind::Range)
    return t.realize(v->get_item(t, make_ref<SliceValue>(t.none(), t.none(), t.integer(-1))))->iter(t);
  if (auto* o = as<ObjectValue>(v)) {
    if (ValueRef m = o->special(t, "__reversed__")) return t.call(m, {});
    const auto own = t.on_class(o->type, checked(PyUnicode_InternFromString("__reversed__")).get(), o->source);
    // The builtin type's own goes over what the instance holds.
    const bool by_items = o->payload &&
                          (o->payload->kind == ValueKind::Tuple || o->payload->kind == ValueKind::Constant) &&
                          o->has_native(t, "__getitem__") && !o->special(t, "__len__");
    const bool native = own.found ? is_method(own.found) && !PyFunction_Check(own.found) : by_items;
    if (native && o->payload && reverse_iterator(o->payload)) {
      CallArgs held{{o->payload}, {}};
      return rule_reversed(t, held);
    }
    if ((own.found && own.found != Py_None) || o->has_native(t, "__getitem__")) unmodelled_method(*o, "__reversed__");
    if (own.found || !o->special(t, "__getitem__"))
      t.raise(PyExc_TypeError, "'" + type_name(o->type) + "' object is not reversible");
  }
  PyTypeObject* type = v->kind == ValueKind::Object ? &PyReversed_Type : reverse_iterator(v);
  if (!type) throw WrongArguments{};
  auto* made = reinterpret_cast<PyObject*>(type);
  return call_library(t, made, library_row(made), args);
}

ValueRef rule_sorted(Tracer& t, CallArgs& args) {
  ValueRef key = args.take_keyword("key"), reverse = args.take_keyword("reverse");
  expect_args(t, "sorted", args, 1, 1);
  std::vector<ValueRef> items = collect_sized(t, args[0]);
  return make_ref<ListValue>(sorted_values(t, std::move(items), key, reverse_order(t, reverse)));
}

ValueRef any_all(Tracer& t, CallArgs& args, bool stop_at, const char* name) {
  expect_args(t, name, args, 1, 1);
  ValueRef it = args[0]->iter(t);
  while (ValueRef v = it->next(t))
    if (t.realize(v)->truth(t) == stop_at) return t.boolean(stop_at);
  return t.boolean(!stop_at);
}
ValueRef rule_any(Tracer& t, CallArgs& args) { return any_all(t, args, true, "any"); }
ValueRef rule_all(Tracer& t, CallArgs& args) { return any_all(t, args, false, "all"); }

// Named tuples make themselves through it.
ValueRef rule_tuple_new(Tracer& t, CallArgs& args) {
  expect_args(t, "tuple.__new__", args, 1, 2);
  PyRef cls = args[0]->as_constant();
  if (!cls || !PyType_Check(cls.get())) return {};
  return make_ref<TupleValue>(args.size() == 2 ? collect_sized(t, args[1]) : std::vector<ValueRef>(),
                              reinterpret_cast<PyTypeObject*>(cls.get()));
}

constexpr BuiltinRow kSequenceRules[] = {{"builtins", "len", rule_len},
                                         {"builtins", "tuple.__new__", rule_tuple_new},
                                         {"builtins", "range", rule_range},
                                         {"builtins", "list", rule_list},
                                         {"builtins", "tuple", rule_tuple},
                                         {"builtins", "set", rule_set},
                                         {"builtins", "frozenset", rule_frozenset},
                                         {"builtins", "dict", rule_dict},
                                         {"builtins", "slice", rule_slice},
                                         {"builtins", "iter", rule_iter},
                                         {"builtins", "next", rule_next},
                                         {"builtins", "enumerate", rule_enumerate},
                                         {"builtins", "zip", rule_zip},
                                         {"builtins", "map", rule_map},
                                         {"builtins", "filter", rule_filter},
                                         {"builtins", "reversed", rule_reversed},
                                         {"builtins", "sorted", rule_sorted},
                                         {"builtins", "any", rule_any},
                                         {"builtins", "all", rule_all}};

}  // namespace

std::span<const BuiltinRow> sequence_rules() { return kSequenceRules; }

}  // namespace md
