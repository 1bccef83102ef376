// Steps through iterators of the program's and notes each step as an effect on the real one.
#include "frontend/values/passed_iterators.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/iterator_state.h"
#include "frontend/cpython/made_once.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"

namespace md {
namespace {

void step_real_one(Tracer& t, FunctionIterator& self) {
  SideEffect e{EffectKind::Call, {}};
  PyObject* const next = made_once(
      [] { return checked(PyObject_GetAttrString(checked(import_module("builtins")).get(), "next")).release(); });
  e.value = make_ref<BuiltinValue>(PyRef::borrow(next));
  e.items = {ValueRef(&self), t.none()};
  t.effects.record(std::move(e));
}

ValueRef next_of_tuple(Tracer& t, FunctionIterator& self) {
  const auto size = static_cast<std::int64_t>(self.inner.size());
  if (self.count > size) return {};
  step_real_one(t, self);
  if (self.count == size) {  // that step lets go of the tuple
    ++self.count;
    return {};
  }
  return self.inner[static_cast<std::size_t>(self.count++)];
}

// function: the range that is left.
ValueRef next_of_range(Tracer& t, FunctionIterator& self) {
  PyObject* const left = self.function->real.get();
  if (self.count >= PyObject_Length(left)) return {};
  step_real_one(t, self);
  return t.constant(checked(PyObject_GetItem(left, checked(PyLong_FromLongLong(self.count++)).get())));
}

// inner: the number that comes next, and the step.
ValueRef next_of_count(Tracer& t, FunctionIterator& self) {
  ValueRef now = self.inner[0];
  step_real_one(t, self);
  self.inner[0] = t.constant(checked(PyNumber_Add(now->as_constant().get(), self.inner[1]->as_constant().get())));
  return now;
}

}  // namespace

bool is_followed_iterator(PyObject* o) { return is_tuple_iterator(o) || is_range_iterator(o) || is_plain_count(o); }

ValueRef wrap_followed_iterator(Tracer& t, PyObject* o, SourceRef s) {
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  if (is_tuple_iterator(o)) {
    const Py_ssize_t left = tuple_iterator_left(o);
    t.guard(GuardKind::LengthCheck, s, {}, left);
    std::vector<ValueRef> items;
    for (Py_ssize_t k = 0; k < left; ++k)
      items.push_back(t.lazy(tuple_iterator_item(o, k),
                             t.recorder.sources.child(s, SourceKind::ListItem, nullptr, static_cast<int>(k))));
    return make_ref<FunctionIterator>("TupleIteratorVariable()", Py_TYPE(o), std::move(items), next_of_tuple);
  }
  t.guard(GuardKind::EqualsMatch, s, iterator_copy(o));
  if (is_range_iterator(o)) {
    auto it = make_ref<FunctionIterator>("RangeIteratorVariable()", Py_TYPE(o), std::vector<ValueRef>{}, next_of_range);
    it->function = make_ref<RangeValue>(range_iterator_left(o));
    return it;
  }
  return make_ref<FunctionIterator>("CountIteratorVariable()", Py_TYPE(o),
                                    std::vector<ValueRef>{t.constant(count_next(o)), t.constant(count_step(o))},
                                    next_of_count);
}

}  // namespace md
