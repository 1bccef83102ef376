// ListValue and what all sequences share. Methods: frontend/builtins/list_methods.cpp.
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/cycles.h"
#include "frontend/values/element_walk.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"

namespace md {

namespace {
PyRef constants_of(const Value* container, const std::vector<ValueRef>& items) {
  const ElementWalk walk(container);
  if (walk.ends()) return {};
  PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    ValueRef v = items[i];
    if (auto* lazy = as<LazyValue>(v); lazy && lazy->realized) v = lazy->realized;
    PyRef c = v->as_constant();
    if (!c) return {};
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), c.release());
  }
  return out;
}
}  // namespace

PyRef ListValue::as_constant() const {
  PyRef t = constants_of(this, items);
  return t ? checked(PySequence_List(t.get())) : PyRef();
}

void ListValue::append(Tracer& t, ValueRef v) {
  items.push_back(v);
  if (v->kind != ValueKind::Constant) note_part_stored(this);
  if (!source) return;
  SideEffect e{EffectKind::ListAppend, ValueRef(this)};
  e.value = std::move(v);
  t.effects.record(std::move(e));
}

void ListValue::changed(Tracer& t) {
  note_part_stored(this);
  if (!source) return;
  SideEffect e{EffectKind::ListAssign, ValueRef(this)};
  e.items = items;
  t.effects.record(std::move(e));
}

void ListValue::changed(Tracer& t, std::size_t first, std::size_t removed, std::size_t inserted) {
  note_part_stored(this);
  if (!source) return;
  SideEffect e{EffectKind::ListAssign, ValueRef(this)};
  const auto from = items.begin() + static_cast<std::ptrdiff_t>(first);
  e.items.assign(from, from + static_cast<std::ptrdiff_t>(inserted));
  e.first = static_cast<std::int64_t>(first), e.removed = static_cast<std::int64_t>(removed);
  t.effects.record(std::move(e));
}

ValueRef ListValue::get_attr(Tracer& t, PyObject* name) { return method_attr(t, this, name); }

ValueRef ListValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}

// Python's index of a sequence, or IndexError with the type's own text.
static std::size_t checked_index(Tracer& t, const ValueRef& key, std::size_t size, const char* what) {
  std::int64_t i;
  if (key->kind == ValueKind::Tensor) graph_break<GB0070>(what, "__getitem__", "[" + key->print() + "]", "{}");
  if (!constant_int(key, i)) {
    PyRef c = key->as_constant(), empty = checked(what[0] == 't' ? PyTuple_New(0) : PyList_New(0));
    if (!c || !PyRef::steal(PyObject_GetItem(empty.get(), c.get()))) {
      if (c && PyErr_ExceptionMatches(PyExc_TypeError)) t.raise_current();
      clear_answer();
    }
    unmodelled(key->print(), std::string(what) + " index");
  }
  const auto n = static_cast<std::int64_t>(size);
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, std::string(what) + " index out of range");
  return static_cast<std::size_t>(i);
}

std::vector<ValueRef> sliced(Tracer& t, const std::vector<ValueRef>& items, SliceValue& s) {
  for (const ValueRef& bound : {s.start, s.stop, s.step})
    if (t.realize(bound)->kind == ValueKind::Tensor)
      graph_break<GB0038>(s.start->print(), s.stop->print(), s.step->print());
  PyRef c = s.as_constant();
  if (!c) unmodelled(s.print(), "slice of a sequence");
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(c.get(), &start, &stop, &step) < 0) t.raise_current();
  const Py_ssize_t n = PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &start, &stop, step);
  std::vector<ValueRef> out;
  for (Py_ssize_t k = 0; k < n; ++k) out.push_back(items[static_cast<std::size_t>(start + k * step)]);
  return out;
}

ValueRef ListValue::get_item(Tracer& t, const ValueRef& raw) {
  ValueRef key = index_value(t, raw);
  if (auto* s = as<SliceValue>(key)) return make_ref<ListValue>(sliced(t, items, *s));
  if (key->kind != ValueKind::Constant && key->kind != ValueKind::Tensor && key->kind != ValueKind::Size)
    return Value::get_item(t, key);
  return items[checked_index(t, key, items.size(), "list")];
}

struct Places {
  Py_ssize_t start, step, n;
};

static Places places(Tracer& t, PyObject* slice, std::size_t size) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) t.raise_current();
  const Py_ssize_t n = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, step);
  return {start, step, n};
}

// l[start:stop:step] = values, or del: as many as there are places.
static void set_extended(Tracer& t, ListValue& list, PyObject* slice, const ValueRef& v) {
  const std::vector<ValueRef> fresh = v ? collect(t, v) : std::vector<ValueRef>();
  // Drawing the values may have changed the list.
  const auto [start, step, n] = places(t, slice, list.items.size());
  if (v) {
    if (static_cast<Py_ssize_t>(fresh.size()) != n)
      t.raise(PyExc_ValueError, "attempt to assign sequence of size " + std::to_string(fresh.size()) +
                                    " to extended slice of size " + std::to_string(n));
    for (Py_ssize_t k = 0; k < n; ++k) {
      ValueRef& place = list.items[static_cast<std::size_t>(start + k * step)];
      let_go(std::exchange(place, fresh[static_cast<std::size_t>(k)]));
    }
  } else {
    std::vector<bool> gone(list.items.size());
    for (Py_ssize_t k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(start + k * step);
      let_go(list.items[at]);
      gone[at] = true;
    }
    std::size_t at = 0;
    std::erase_if(list.items, [&](const ValueRef&) { return gone[at++]; });
  }
  list.changed(t);
}

// In CPython's words, which differ between versions: the same statement on an empty list.
[[noreturn]] static void refuse_items(Tracer& t, PyObject* slice) {
  PyRef empty = checked(PyList_New(0));
  if (PyObject_SetItem(empty.get(), slice, Py_None) == 0) throw InternalError("a slice of a list took None");
  t.raise_current();
}

void ListValue::set_item(Tracer& t, const ValueRef& raw, ValueRef v) {
  ValueRef key = index_value(t, raw);
  if (auto* s = as<SliceValue>(key)) {
    PyRef c = s->as_constant();
    if (!c) unmodelled(s->print(), "slice assignment");
    const auto [start, step, n] = places(t, c.get(), items.size());
    PyTypeObject* given = v ? t.realize(v)->python_type() : nullptr;
    const bool iterable = !given || given->tp_iter || (given->tp_as_sequence && given->tp_as_sequence->sq_item);
    if (!iterable && !t.config.trace_more)
      listed_break<GB0143>(print(), "__setitem__", "[" + key->print() + ", " + v->print() + "]");
    if (!iterable && !t.uncaught() && t.realize(v)->kind != ValueKind::Object) refuse_items(t, c.get());
    if (step != 1) return set_extended(t, *this, c.get(), v);
    std::vector<ValueRef> fresh = v ? collect(t, v) : std::vector<ValueRef>();
    // The places counted in the list as it was; drawing the values may have made it shorter.
    const auto size = static_cast<Py_ssize_t>(items.size());
    const Py_ssize_t first = std::min(start, size), last = std::min(start + n, size);
    let_go(std::span(items).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
    items.erase(items.begin() + first, items.begin() + last);
    items.insert(items.begin() + first, fresh.begin(), fresh.end());
    return changed(t, static_cast<std::size_t>(first), static_cast<std::size_t>(last - first), fresh.size());
  }
  const std::size_t at = checked_index(t, key, items.size(), "list assignment");
  let_go(items[at]);
  const bool stays = static_cast<bool>(v);
  if (stays)
    items[at] = std::move(v);
  else
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  changed(t, at, 1, stays);
}

ValueRef ListValue::iter(Tracer&) { return make_ref<SequenceIterator>(std::vector<ValueRef>{}, ValueRef(this)); }

static bool any_equal(Tracer& t, const std::vector<ValueRef>& items, const ValueRef& item) {
  for (std::size_t k = 0; k < items.size(); ++k)
    if (const ValueRef x = items[k]; values_equal(t, x, item)) return true;  // an __eq__ may change the list
  return false;
}

bool ListValue::contains(Tracer& t, const ValueRef& item) { return any_equal(t, items, item); }

Reg ListValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  const Reg r = b.step({StepOp::NewList});
  b.remember(this, r);
  if (items.empty()) return r;
  b.fill([&b, r, held = items] {
    PlanStep fill{StepOp::ListAssign};
    fill.a = r;
    for (auto& x : held) fill.regs.push_back(b.rebuild(x));
    return fill;
  });
  return r;
}

// --- tuples ----------------------------------------------------------------------------------------------------------

// What slices, sums and repetitions of a tuple are: a Size stays one, a named tuple does not.
PyTypeObject* plain_or_size(PyTypeObject* type) { return is_size_type(type) ? type : &PyTuple_Type; }

std::string TupleValue::print() const {
  const char* name = is_namedtuple() ? "NamedTuple" : (type == &PyTuple_Type ? "Tuple" : "Size");
  return std::string(name) + "Variable(length=" + std::to_string(items.size()) + ")";
}

PyRef TupleValue::as_constant() const {
  PyRef t = constants_of(this, items);
  if (!t || type == &PyTuple_Type) return t;
  // A named tuple, or of a class below one: no __new__ or __init__ of the program runs.
  return type_find(type, checked(PyUnicode_InternFromString("_fields")).get())
             ? checked(PyTuple_Type.tp_new(type, checked(PyTuple_Pack(1, t.get())).get(), nullptr))
             : checked(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(type), t.get(), nullptr));
}

ValueRef TupleValue::named_item(PyObject* field) const {
  if (Py_TYPE(field) != tuplegetter_type()) return {};
  PyRef parts = checked(PyObject_CallMethod(field, "__reduce__", nullptr));
  const Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0));
  return at >= 0 && at < static_cast<Py_ssize_t>(items.size()) ? items[static_cast<std::size_t>(at)] : ValueRef();
}

ValueRef TupleValue::get_attr(Tracer& t, PyObject* name) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (text_of(name) == fields[i]) return items[i];
  PyObject* const found = type_find(type, name);
  if (ValueRef item = found ? named_item(found) : ValueRef()) {
    t.expect_on_class(type, name, found);
    return item;
  }
  return method_attr(t, this, name);
}

ValueRef TupleValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}

static bool is_backward(const SliceValue& s) {
  std::int64_t step = 1;
  return constant_int(s.step, step) && step < 0;
}

ValueRef TupleValue::get_item(Tracer& t, const ValueRef& raw) {
  ValueRef key = index_value(t, raw);
  if (auto* s = as<SliceValue>(key)) {
    std::vector<ValueRef> chosen = sliced(t, items, *s);
    if (is_exact() && chosen.size() == items.size() && !chosen.empty() && chosen[0] == items[0] &&
        (!s->step->as_constant() || !is_backward(*s)))
      return ValueRef(this);
    return make_ref<TupleValue>(std::move(chosen), plain_or_size(type));
  }
  const bool may_be_index =
      key->kind == ValueKind::Constant || key->kind == ValueKind::Size || key->kind == ValueKind::Tensor;
  if (!may_be_index) return Value::get_item(t, key);
  return items[checked_index(t, key, items.size(), "tuple")];
}

ValueRef TupleValue::iter(Tracer&) { return make_ref<SequenceIterator>(items, ValueRef(this)); }
bool TupleValue::contains(Tracer& t, const ValueRef& item) { return any_equal(t, items, item); }

Reg TupleValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (real) return b.load_constant(real);
  if (items.empty() && type == &PyTuple_Type) return b.load_constant(checked(PyTuple_New(0)));
  PlanStep s{type == &PyTuple_Type ? StepOp::BuildTuple : StepOp::BuildTupleType};
  for (auto& x : items) s.regs.push_back(b.rebuild(x));
  if (type != &PyTuple_Type) s.object = PyRef::borrow(reinterpret_cast<PyObject*>(type));
  return b.step(std::move(s));
}

}  // namespace md
