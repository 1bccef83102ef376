// Methods of deques, the check that a walk's deque is unchanged, and effects on those of the program.
#include "frontend/values/deque.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/cycles.h"
#include "frontend/values/iterators.h"
#include "frontend/values/let_go.h"
#include "frontend/values/methods.h"
#include "frontend/values/rules.h"

namespace md {

PyTypeObject* deque_type() {
  PyObject* const type = made_once(
      [] { return checked(PyObject_GetAttrString(checked(import_module("collections")).get(), "deque")).release(); });
  return reinterpret_cast<PyTypeObject*>(type);
}

DequeValue::DequeValue(std::vector<ValueRef> given, std::optional<std::int64_t> maxlen) : Value(kKind), maxlen(maxlen) {
  for (ValueRef& v : given) push(std::move(v), false);
}

void DequeValue::changing() {
  if (source && maxlen) graph_break<GB0097>();
}

void DequeValue::changed(Tracer& t, const char* method, std::vector<ValueRef> args) {
  ++changes;
  if (!source) return;
  SideEffect e{EffectKind::DequeCall, ValueRef(this)};
  e.name = checked(PyUnicode_InternFromString(method));
  e.items = std::move(args);
  t.effects.record(std::move(e));
}

void DequeValue::push(ValueRef v, bool left) {
  if (v->kind != ValueKind::Constant) note_part_stored(this);
  items.insert(left ? items.begin() : items.end(), std::move(v));
  if (maxlen && static_cast<std::int64_t>(items.size()) > *maxlen) items.erase(left ? items.end() - 1 : items.begin());
}

std::size_t DequeValue::position(Tracer& t, const ValueRef& key) const {
  std::int64_t i;
  if (!constant_int(key, i)) {
    PyRef c = key->as_constant(), empty = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(deque_type())));
    if (c && !PyRef::steal(PyObject_GetItem(empty.get(), c.get()))) t.raise_current();
    unmodelled(key->print(), "index of a deque");
  }
  const auto n = static_cast<std::int64_t>(items.size());
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise(PyExc_IndexError, "deque index out of range");
  return static_cast<std::size_t>(i);
}

ValueRef DequeValue::get_attr(Tracer& t, PyObject* name) {
  if (text_of(name) == "maxlen") return maxlen ? t.integer(*maxlen) : t.none();
  return method_attr(t, this, name);
}

ValueRef DequeValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  return call_builtin_method(t, ValueRef(this), name, std::move(args));
}

ValueRef DequeValue::get_item(Tracer& t, const ValueRef& raw) {
  const ValueRef key = t.realize(raw);
  if (key->kind == ValueKind::Slice) t.raise(PyExc_TypeError, "sequence index must be integer, not 'slice'");
  return items[position(t, key)];
}

void DequeValue::set_item(Tracer& t, const ValueRef& raw, ValueRef v) {
  const std::size_t at = position(t, t.realize(raw));
  const ValueRef place = t.integer(static_cast<std::int64_t>(at));
  changing();
  let_go(items[at]);
  if (v) {
    items[at] = v;
    changed(t, "__setitem__", {place, std::move(v)});
  } else {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    changed(t, "__delitem__", {place});
  }
}

namespace {

// inner: the deque, and how often it had been changed when the walk began.
ValueRef next_of_deque(Tracer& t, FunctionIterator& self) {
  auto* d = as<DequeValue>(self.inner[0]);
  std::int64_t changes = 0;
  constant_int(self.inner[1], changes);
  if (self.count < 0) return {};
  if (d->changes != changes) t.raise(PyExc_RuntimeError, "deque mutated during iteration");
  if (self.count < static_cast<std::int64_t>(d->items.size())) return d->items[static_cast<std::size_t>(self.count++)];
  self.count = -1;
  return {};
}

}  // namespace

ValueRef DequeValue::iter(Tracer& t) {
  PyTypeObject* const type = made_once([] {
    PyRef empty = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(deque_type())));
    return Py_TYPE(checked(PyObject_GetIter(empty.get())).get());
  });
  return make_ref<FunctionIterator>("UserDefinedObjectVariable(_deque_iterator)", type,
                                    std::vector<ValueRef>{ValueRef(this), t.integer(changes)}, next_of_deque);
}

// An __eq__ of the program may change the deque, which Python notices after each.
std::int64_t DequeValue::count_equal(Tracer& t, const ValueRef& item, bool first_only) {
  const auto before = changes;
  std::int64_t n = 0;
  for (std::size_t k = 0; k < items.size() && !(first_only && n); ++k) {
    const ValueRef x = items[k];
    n += values_equal(t, x, item);
    if (changes != before) t.raise(PyExc_RuntimeError, "deque mutated during iteration");
  }
  return n;
}

bool DequeValue::contains(Tracer& t, const ValueRef& item) { return count_equal(t, item, true) > 0; }

// Filled after everything exists: it may hold itself.
Reg DequeValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  PlanStep make{StepOp::Call};
  make.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(deque_type())));
  make.regs = {b.load_constant(checked(PyTuple_New(0))),
               b.load_constant(maxlen ? checked(PyLong_FromLongLong(*maxlen)) : PyRef::borrow(Py_None))};
  const Reg r = b.step(std::move(make));
  b.remember(this, r);
  if (items.empty()) return r;
  b.fill([&b, r, held = items] {
    PlanStep fill{StepOp::DequeExtend};
    fill.a = r;
    for (auto& v : held) fill.regs.push_back(b.rebuild(v));
    return fill;
  });
  return r;
}

ValueRef make_deque(Tracer& t, CallArgs& args) {
  ValueRef from = args.take_keyword("iterable"), limit = args.take_keyword("maxlen");
  expect_args(t, "deque", args, 0, 2);
  if (!args.positional.empty()) from = args[0];
  if (args.size() == 2) limit = args[1];
  std::optional<std::int64_t> maxlen;
  if (limit && !is_true_constant(t.realize(limit), Py_None)) {
    std::int64_t n;
    if (!constant_int(t.realize(limit), n)) t.raise(PyExc_TypeError, "an integer is required");
    if (n < 0) t.raise(PyExc_ValueError, "maxlen must be non-negative");
    maxlen = n;
  }
  return make_ref<DequeValue>(from ? collect(t, from) : std::vector<ValueRef>(), maxlen);
}

ValueRef wrap_deque(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  t.guard(GuardKind::LengthCheck, s, {}, PyObject_Length(o));
  PyRef limit = checked(PyObject_GetAttrString(o, "maxlen"));
  std::optional<std::int64_t> maxlen;
  if (limit.get() != Py_None) maxlen = PyLong_AsLongLong(limit.get());
  t.guard(GuardKind::DequeMaxlen, s, {}, maxlen.value_or(-1));
  PyRef items = checked(PySequence_List(o));
  std::vector<ValueRef> lazy;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i)
    lazy.push_back(t.lazy(PyList_GET_ITEM(items.get(), i),
                          t.recorder.sources.child(s, SourceKind::ListItem, nullptr, static_cast<int>(i))));
  return make_ref<DequeValue>(std::move(lazy), maxlen);
}

}  // namespace md
