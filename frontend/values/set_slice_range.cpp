// SetValue, SliceValue, RangeValue, and equality and identity of values.
#include <algorithm>
#include <cmath>

#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/element_walk.h"
#include "frontend/values/functions.h"
#include "frontend/values/hashed_keys.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/size_value.h"

namespace md {

SetValue::SetValue(bool frozen)
    : Value(kKind), members(checked(PySet_New(nullptr))), values(checked(PyDict_New())), frozen(frozen) {}

PyRef SetValue::as_constant() const {
  for (auto& v : held)
    if (v && !v->as_constant()) return {};
  return frozen ? checked(PyFrozenSet_New(members.get())) : checked(PySet_New(members.get()));
}

void SetValue::add(Tracer& t, const ValueRef& v) {
  PyRef k = key_object(t, v);
  if (!checked(PySet_Contains(members.get(), k.get()))) {
    checked(PySet_Add(members.get(), k.get()));
    checked(PyDict_SetItem(values.get(), k.get(), checked(PyLong_FromSize_t(held.size())).get()));
    held.push_back(t.realize(v));
    ++shape;
  }
  if (!source) return;
  changed = true;
  SideEffect e{EffectKind::SetAdd, ValueRef(this)};
  e.key = v;
  t.effects.record(std::move(e));
}

bool SetValue::discard(Tracer& t, const ValueRef& v) {
  PyRef k = key_object(t, v);
  if (!checked(PySet_Discard(members.get(), k.get()))) return false;
  checked(PyDict_DelItem(values.get(), k.get()));
  ++shape;
  if (!source) return true;
  changed = true;
  SideEffect e{EffectKind::SetDiscard, ValueRef(this)};
  e.key = v;
  t.effects.record(std::move(e));
  return true;
}

void SetValue::clear(Tracer& t) {
  let_go(held);
  checked(PySet_Clear(members.get()));
  PyDict_Clear(values.get());
  held.clear();
  ++shape;
  if (!source) return;
  changed = true;
  t.effects.record({EffectKind::SetClear, ValueRef(this)});
}

static ValueRef value_of(const SetValue& s, PyObject* key) {
  PyObject* at = PyDict_GetItemWithError(s.values.get(), key);
  if (!at) throw InternalError("a set member has no value");
  return s.held[PyLong_AsSize_t(at)];
}

// Its hash is that of the object a run will make: the hash of a key of the program's own, or made of such hashes.
static bool hashes_as_in_runs(PyObject* key) {
  if (!is_stand_in(key) || is_hashed_stand_in(key)) return true;
  bool within = false;  // of what is no stand-in but for its parts
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    PyObject* const part = PyTuple_GET_ITEM(key, i);
    if (!is_stand_in(part)) continue;
    if (!hashes_as_in_runs(part)) return false;
    within = true;
  }
  return within;
}

// One from outside whose keys are compared by the program's code: as long as nothing changes it, its values are in its
// own order, which is guarded.
static bool is_held_in_order(const Tracer& t, const SetValue& set) {
  const bool wrapped = set.source && set.real && set.changed && PyAnySet_Check(set.real.get()) &&
                       PySet_GET_SIZE(set.real.get()) == static_cast<Py_ssize_t>(set.held.size());
  return wrapped && std::ranges::none_of(t.effects.list(), [&](const SideEffect& e) { return e.target.get() == &set; });
}

void SetValue::observe_order(Tracer& t) {
  if (PySet_GET_SIZE(members.get()) < 2) return;
  // Objects hash by their address: of those that a run will make nobody knows it.
  const PyRef keys = checked(PySequence_List(members.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i)
    if (PyObject* const key = PyList_GET_ITEM(keys.get(), i); !hashes_as_in_runs(key))
      unmodelled(print(), "the order of a set of objects");
  if (!source || !real || order_observed) return;
  if (changed) unmodelled(print(), "the order of a set that has changed");
  order_observed = true;
  t.guard(GuardKind::SetOrder, source, checked(PySequence_Tuple(real.get())));
}

std::vector<ValueRef> SetValue::items(Tracer& t) {
  if (is_held_in_order(t, *this)) return held;
  observe_order(t);
  std::vector<ValueRef> out;
  PyRef it = checked(PyObject_GetIter(table().get()));
  while (PyRef k = PyRef::steal(PyIter_Next(it.get()))) out.push_back(value_of(*this, k.get()));
  return out;
}

// For an operation on sets. Nobody knows the order of objects that a run will make, nor that of what comes out: it is
// noticed where that is iterated over. Of constants beside such objects it would not be.
static std::vector<ValueRef> members_of(Tracer& t, SetValue& set) {
  const PyRef keys = checked(PySequence_List(set.members.get()));
  std::vector<ValueRef> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    if (!is_stand_in(key)) return set.items(t);
    out.push_back(value_of(set, key));
  }
  return out;
}

ValueRef SetValue::combine(Tracer& t, const char* method, const std::vector<ValueRef>& others) {
  std::vector<ValueRef> known;
  PyRef places = checked(PyDict_New());  // by key object
  PyRef args = checked(PyTuple_New(static_cast<Py_ssize_t>(others.size())));
  const auto keys_of = [&](const ValueRef& raw) {
    ValueRef v = as_any_set(t, raw);
    auto* set = as<SetValue>(v);
    PyRef keys = set ? PyRef() : checked(PyList_New(0));
    for (auto& x : set ? members_of(t, *set) : collect(t, v)) {
      const PyRef key = key_object(t, x);
      if (!checked(PyDict_Contains(places.get(), key.get())))
        checked(PyDict_SetItem(places.get(), key.get(), checked(PyLong_FromSize_t(known.size())).get()));
      known.push_back(t.realize(x));
      if (keys) checked(PyList_Append(keys.get(), key.get()));
    }
    if (auto* dict = as<DictValue>(v)) return dict->index;
    return set ? set->table() : keys;
  };
  PyRef own = keys_of(ValueRef(this));
  for (std::size_t i = 0; i < others.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), keys_of(others[i]).release());
  PyRef bound = checked(PyObject_GetAttrString(own.get(), method));
  auto out = make_ref<SetValue>(frozen);
  out->members = checked(PyObject_CallObject(bound.get(), args.get()));
  PyRef it = checked(PyObject_GetIter(out->members.get()));
  while (PyRef k = PyRef::steal(PyIter_Next(it.get()))) {
    checked(PyDict_SetItem(out->values.get(), k.get(), checked(PyLong_FromSize_t(out->held.size())).get()));
    PyObject* place = PyDict_GetItemWithError(places.get(), k.get());
    if (!place && PyErr_Occurred()) throw PythonError{};
    out->held.push_back(place ? known[PyLong_AsSize_t(place)] : from_folded(t, k.get()));
  }
  return out;
}

ValueRef frozen_as_set(Tracer& t, const ValueRef& v) {
  if (v->kind != ValueKind::Constant || !PyFrozenSet_CheckExact(v->real.get())) return v;
  auto set = make_ref<SetValue>(true);
  const PyRef it = checked(PyObject_GetIter(v->real.get()));
  while (PyRef member = PyRef::steal(PyIter_Next(it.get()))) set->add(t, t.constant(member.get()));
  set->members = v->real;  // a copy may iterate in another order
  set->source = v->source;
  return set;
}

ValueRef as_any_set(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  const ValueRef data = frozen_as_set(t, data_of(v));
  return data->kind == ValueKind::Set ? data : v;
}

// The set a dictionary's keys are, for the values to its key objects.
static Ref<SetValue> keys_as_set(Tracer& t, const ValueRef& dict) {
  auto keys = make_ref<SetValue>(false);
  for (auto& x : collect(t, dict)) keys->add(t, x);
  return keys;
}

// Adding `keys` one after the other makes a set that iterates as `members` does.
static bool iterates_alike(const PyRef& keys, const PyRef& members) {
  PyRef made = checked(PySet_New(keys.get()));
  PyRef a = checked(PySequence_List(made.get())), b = checked(PySequence_List(members.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a.get()); ++i)
    if (PyList_GET_ITEM(a.get(), i) != PyList_GET_ITEM(b.get(), i)) return false;
  return true;
}

// The set as it is now, which may change later. Python's own copy may iterate in another order: its table is smaller.
static Ref<SetValue> snapshot(Tracer& t, const SetValue& set) {
  bool fixed = true;
  for (auto& v : set.held) fixed &= bool(v->as_constant());
  PyRef keys = checked(PyDict_Keys(set.values.get()));
  if (fixed && !iterates_alike(keys, set.members)) keys = checked(PySequence_List(set.members.get()));
  if (fixed && !iterates_alike(keys, set.members)) unmodelled(set.print(), "the order of a set that has changed");
  auto out = make_ref<SetValue>(set.frozen);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i)
    out->add(t, value_of(set, PyList_GET_ITEM(keys.get(), i)));
  return out;
}

void SetValue::change_by(Tracer& t, const char* method, const ValueRef& by) {
  auto* dict = as<DictValue>(by);
  const Ref<SetValue> taken = dict ? keys_as_set(t, by) : Ref<SetValue>(as<SetValue>(by));
  SetValue& other = *taken;
  if (!source && !dict) other.observe_order(t);
  PyRef name = checked(PyUnicode_InternFromString(method));
  const PyRef table = dict ? dict->index : other.table();
  checked(PyObject_CallMethodObjArgs(members.get(), name.get(), table.get(), nullptr));
  std::vector<ValueRef> now;
  PyRef places = checked(PyDict_New()), it = checked(PyObject_GetIter(members.get()));
  while (PyRef k = PyRef::steal(PyIter_Next(it.get()))) {
    const bool own = checked(PyDict_Contains(values.get(), k.get())) != 0;
    checked(PyDict_SetItem(places.get(), k.get(), checked(PyLong_FromSize_t(now.size())).get()));
    now.push_back(value_of(own ? *this : other, k.get()));
  }
  values = std::move(places), held = std::move(now);
  ++shape;
  if (!source) return;
  changed = true;
  SideEffect e{EffectKind::Call, ValueRef(this)};
  e.value = make_ref<BuiltinValue>(checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(&PySet_Type), name.get())));
  // What the trace has made may change until the effects are replayed: a copy as it is now.
  const ValueRef copy = other.source ? by
                        : dict       ? by->call_method(t, checked(PyUnicode_InternFromString("copy")).get(), {})
                                     : ValueRef(snapshot(t, other));
  e.items = {ValueRef(this), copy};
  t.effects.record(std::move(e));
}

void SetValue::update(Tracer& t, const ValueRef& raw) {
  const ValueRef from = as_any_set(t, raw);
  auto* dict = as<DictValue>(from);
  if (from->kind == ValueKind::Set || (dict && dict->type == &PyDict_Type)) return change_by(t, "update", from);
  ValueRef it = t.realize(from->iter(t));
  while (ValueRef v = it->next(t)) add(t, v);
}

ValueRef SetValue::get_attr(Tracer& t, PyObject* name) { return method_attr(t, this, name); }
ValueRef SetValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}
ValueRef SetValue::iter(Tracer& t) {
  auto it = make_ref<SequenceIterator>(items(t), ValueRef(this));
  it->size = PySet_GET_SIZE(members.get());
  it->shape = shape;
  return it;
}

bool SetValue::contains(Tracer& t, const ValueRef& item) {
  // A set is looked for as the frozenset of its members.
  if (auto* s = as<SetValue>(t.realize(item)); s && !s->frozen)
    if (PyRef c = s->as_constant())
      return checked(PySet_Contains(members.get(), checked(PyFrozenSet_New(c.get())).get()));
  return checked(PySet_Contains(members.get(), key_object(t, item).get()));
}

bool SetValue::comes_at_once() const {
  if (!as_constant()) return false;
  if (iterates_alike(checked(PySequence_List(members.get())), members)) return false;
  if (!iterates_alike(checked(PySet_New(members.get())), members)) graph_break<GB0092>(print());
  return true;
}

// A copy of a set has a table of its own, which may have the size that eager's has.
static Reg copy_of_members(PlanBuilder& b, const SetValue& set) {
  if (!iterates_alike(set.members, set.members)) graph_break<GB0092>(set.print());
  PyTypeObject* type = set.python_type();
  PlanStep copy{StepOp::Call};
  copy.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  copy.regs = {b.load_constant(checked(PySet_New(set.members.get())))};
  return b.step(std::move(copy));
}

Reg SetValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  // Members in the order in which they came, or in that of iteration: whichever gives the order eager's set has.
  PyRef came = checked(PyDict_Keys(values.get())), shown = checked(PySequence_List(members.get()));
  bool fixed = true;
  for (auto& v : held) fixed &= bool(v->as_constant());
  PyRef keys = came;
  if (fixed && !iterates_alike(came, members)) {
    if (!iterates_alike(shown, members)) return copy_of_members(b, *this);
    keys = shown;
  }
  PlanStep make{frozen ? StepOp::BuildFrozenSet : StepOp::NewSet};
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i)
    make.regs.push_back(b.rebuild(value_of(*this, PyList_GET_ITEM(keys.get(), i))));
  return b.step(std::move(make));
}

// --- slice and range -------------------------------------------------------------------------------------------------

PyRef SliceValue::as_constant() const {
  PyRef a = start->as_constant(), o = stop->as_constant(), e = step->as_constant();
  return a && o && e ? checked(PySlice_New(a.get(), o.get(), e.get())) : PyRef();
}

ValueRef SliceValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "start") return start;
  if (n == "stop") return stop;
  if (n == "step") return step;
  if (t.uncaught() && n != "indices" && !type_find(&PySlice_Type, name)) graph_break<GB0137>(print(), n);
  return method_attr(t, this, name);
}

ValueRef SliceValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const bool of_positions = text_of(name) == "indices" && args.size() == 1;
  const auto part = [&](const ValueRef& v) { return index_value(t, v); };
  const PyRef real = of_positions ? SliceValue(part(start), part(stop), part(step)).as_constant() : PyRef();
  const PyRef length = real ? index_value(t, args[0])->as_constant() : PyRef();
  if (!length) return Value::call_method(t, name, std::move(args));
  const PyRef r = PyRef::steal(PyObject_CallMethod(real.get(), "indices", "O", length.get()));
  if (!r) t.raise_current();
  return from_folded(t, r.get());
}

Reg SliceValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  PlanStep s{StepOp::BuildSlice};
  s.regs = {b.rebuild(start), b.rebuild(stop), b.rebuild(step)};
  return b.step(std::move(s));
}

ValueRef RangeValue::get_attr(Tracer& t, PyObject* name) {
  PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name));
  if (!v && !t.config.trace_more) {
    clear_answer();
    listed_break<GB0136>(print(), text_of(name));
  }
  if (!v) t.raise_current();
  return is_constant_object(v.get()) ? t.constant(v) : method_attr(t, this, name);
}

ValueRef RangeValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  if (text_of(name) == "__iter__" && args.size() == 0) return iter(t);
  if (text_of(name) == "__reversed__" && args.size() == 0)
    return t.realize(get_item(t, make_ref<SliceValue>(t.none(), t.none(), t.integer(-1))))->iter(t);
  if (!t.config.trace_more && text_of(name).starts_with("__reduce")) unmodelled_method(*this, text_of(name), args);
  return make_ref<ConstantValue>(real)->call_method(t, name, std::move(args));
}

ValueRef RangeValue::get_item(Tracer& t, const ValueRef& key) {
  PyRef k = t.realize(key)->as_constant();
  if (!k) return Value::get_item(t, key);
  PyRef r = PyRef::steal(PyObject_GetItem(real.get(), k.get()));
  if (!r) t.raise_current();
  return from_folded(t, r.get());
}

std::optional<std::int64_t> RangeValue::length(Tracer& t) {
  const Py_ssize_t n = PyObject_Length(real.get());
  if (n < 0) t.raise_current();
  return n;
}

// Its numbers are made one by one: there may be more of them than anybody asks for.
ValueRef RangeValue::iter(Tracer&) { return make_ref<SequenceIterator>(std::vector<ValueRef>(), ValueRef(this)); }

bool RangeValue::contains(Tracer& t, const ValueRef& item) {
  PyRef k = t.realize(item)->as_constant();
  if (!k) return Value::contains(t, item);
  return checked(PySequence_Contains(real.get(), k.get()));
}

Reg RangeValue::rebuild(PlanBuilder& b) { return source ? b.load_source(source) : b.load_constant(real); }

// --- equality and identity -------------------------------------------------------------------------------------------

static bool is_nan(const ValueRef& v) {
  PyObject* o = v->kind == ValueKind::Constant ? v->real.get() : nullptr;
  return o && PyFloat_CheckExact(o) && std::isnan(PyFloat_AS_DOUBLE(o));
}

static bool is_one(const ValueRef& a, const ValueRef& b) {
  return a.get() == b.get() || (a->real && a->real.get() == b->real.get());
}

// CPython has only one empty tuple.
static bool is_empty_tuple(const ValueRef& v) {
  auto* tuple = as<TupleValue>(v);
  return tuple && tuple->is_exact() && tuple->items.empty();
}

// What a weak reference without a callback refers to: there is one such reference to each object. Null: it is none.
static ValueRef plain_referent(Tracer& t, const ValueRef& v) {
  if (auto* made = as<PolyfilledValue>(v); made && made->type == &_PyWeakref_RefType) {
    ValueRef obj, callback;
    for (const auto& [name, part] : made->parts)
      (text_of(name.get()) == "callback" ? callback : obj) = part ? t.realize(part) : ValueRef();
    return callback && is_true_constant(callback, Py_None) ? obj : ValueRef();
  }
  if (!v->real || !PyWeakref_CheckRefExact(v->real.get())) return {};
  auto* const w = reinterpret_cast<PyWeakReference*>(v->real.get());
  return w->wr_callback ? ValueRef() : t.wrap(w->wr_object, nullptr);
}

bool same_object(Tracer& t, const ValueRef& ra, const ValueRef& rb) {
  ValueRef a = t.realize(ra), b = t.realize(rb);
  if (a.get() == b.get() || (is_empty_tuple(a) && is_empty_tuple(b))) return true;
  if (a->kind == ValueKind::Size || b->kind == ValueKind::Size) {
    if (!a->python_type() || !b->python_type() || a->python_type() != b->python_type()) return false;
    return a->as_constant().get() == b->as_constant().get();  // small ints are shared
  }
  if ((a->kind == ValueKind::DeferredBytes || b->kind == ValueKind::DeferredBytes) &&
      a->python_type() == b->python_type())
    unmodelled(a->print(), "identity of a value that only a run knows");  // CPython shares short ones
  if (a->kind == ValueKind::Polyfilled || b->kind == ValueKind::Polyfilled)
    if (const ValueRef p = plain_referent(t, a), q = p ? plain_referent(t, b) : p; q) return same_object(t, p, q);
  t.expect_identity(a, b);
  return is_one(a, b);
}

static bool sequences_equal(Tracer& t, const std::vector<ValueRef>& a, const std::vector<ValueRef>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const ValueRef x = a[i], y = b[i];  // an __eq__ may change the lists
    if (values_equal(t, x, y)) continue;
    if (i < a.size() && i < b.size()) return false;
  }
  return a.size() == b.size();
}

// Sequences with symbols inside are compared element by element: as constants they would lose them.
static bool sizes_equal(Tracer& t, const ValueRef& a, const ValueRef& b) {
  if (auto *x = as<ListValue>(a), *y = as<ListValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  if (auto *x = as<TupleValue>(a), *y = as<TupleValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  if (auto *x = as<DequeValue>(a), *y = as<DequeValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  PyRef x = a->as_constant(), y = b->as_constant();
  if (!x || !y) return t.compare(a, b, Py_EQ)->truth(t);
  const int r = PyObject_RichCompareBool(x.get(), y.get(), Py_EQ);
  if (r < 0) t.raise_current();
  return r != 0;
}

bool values_equal(Tracer& t, const ValueRef& ra, const ValueRef& rb) {
  ValueRef a = shown_mapping(t.realize(ra)), b = shown_mapping(t.realize(rb));
  if (ValueRef r = size_compare(t, a, b, Py_EQ)) return r->truth(t);
  if (holds_size(a) || holds_size(b)) return sizes_equal(t, a, b);
  // A NaN equals itself only as an element of a container, which compares identities first.
  if (is_nan(a) && is_nan(b)) return same_object(t, a, b);
  if (is_one(a, b)) return true;
  PyRef ca = a->as_constant(), cb = b->as_constant();
  if (ca && cb) {
    const int r = PyObject_RichCompareBool(ca.get(), cb.get(), Py_EQ);
    if (r < 0) t.raise_current();
    return r != 0;
  }
  // Containers that contain each other: Python runs out of stack in its own way.
  const ElementWalk walk(a.get());
  if (walk.ends()) unmodelled(a->print(), "equality of containers that contain themselves");
  if (auto *x = as<ListValue>(a), *y = as<ListValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  if (auto *x = as<TupleValue>(a), *y = as<TupleValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  if (auto *x = as<DequeValue>(a), *y = as<DequeValue>(b); x && y) return sequences_equal(t, x->items, y->items);
  if (auto *x = as<DictValue>(a), *y = as<DictValue>(b); x && y) {
    if (*x->length(t) != *y->length(t)) return false;
    const auto others = y->live();
    const bool ordered = PyType_IsSubtype(x->type, &PyODict_Type) && PyType_IsSubtype(y->type, &PyODict_Type);
    std::size_t at = 0;
    for (auto& e : x->live()) {
      if (ordered && !values_equal(t, e.key, others[at++].key)) return false;
      ValueRef v = y->find(t, e.key);
      if (!v || !values_equal(t, e.value, v)) return false;
    }
    return true;
  }
  return t.compare(a, b, Py_EQ)->truth(t);
}

}  // namespace md
