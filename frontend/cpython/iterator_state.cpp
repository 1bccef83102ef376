// The layouts of CPython's iterator structs, which no header declares for everybody.
#include "frontend/cpython/iterator_state.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_text.h"

namespace md {
namespace {

struct TupleIterator {
  PyObject_HEAD
  Py_ssize_t index;
  PyTupleObject* tuple;  // null at the end
};

#if PY_VERSION_HEX < 0x030C0000
struct RangeIterator {
  PyObject_HEAD
  long index, first, step, length;
  long next() const { return first + index * step; }
  long left() const { return length - index; }
};
#else
struct RangeIterator {
  PyObject_HEAD
  long first, step, length;
  long next() const { return first; }
  long left() const { return length; }
};
#endif

struct Count {
  PyObject_HEAD
  Py_ssize_t next;  // PY_SSIZE_T_MAX: it is the object
  PyObject* next_object;
  PyObject* step;
};

const TupleIterator& tuple_iterator(PyObject* o) { return *reinterpret_cast<TupleIterator*>(o); }
const RangeIterator& range_iterator(PyObject* o) { return *reinterpret_cast<RangeIterator*>(o); }
const Count& count_of(PyObject* o) { return *reinterpret_cast<Count*>(o); }

PyTypeObject* count_type() {
  PyObject* const type = made_once(
      [] { return checked(PyObject_GetAttrString(checked(import_module("itertools")).get(), "count")).release(); });
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_plain_number(PyObject* o) { return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o)); }

bool same_number(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!is_plain_number(a) || !is_plain_number(b) || Py_TYPE(a) != Py_TYPE(b)) return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

}  // namespace

bool is_tuple_iterator(PyObject* o) { return Py_IS_TYPE(o, &PyTupleIter_Type); }

Py_ssize_t tuple_iterator_left(PyObject* it) {
  if (!is_tuple_iterator(it)) return -1;
  const TupleIterator& i = tuple_iterator(it);
  if (!i.tuple) return 0;
  const Py_ssize_t left = PyTuple_GET_SIZE(i.tuple) - i.index;
  return left > 0 ? left : 0;
}

PyObject* tuple_iterator_item(PyObject* it, Py_ssize_t index) {
  if (index < 0 || index >= tuple_iterator_left(it)) return nullptr;
  const TupleIterator& i = tuple_iterator(it);
  return PyTuple_GET_ITEM(i.tuple, i.index + index);
}

bool is_range_iterator(PyObject* o) { return Py_IS_TYPE(o, &PyRangeIter_Type); }

PyRef range_iterator_left(PyObject* it) {
  const RangeIterator& i = range_iterator(it);
  PyRef first = checked(PyLong_FromLong(i.next())), step = checked(PyLong_FromLong(i.step));
  PyRef length = checked(PyLong_FromLong(i.left()));
  PyRef stop = checked(PyNumber_Add(first.get(), checked(PyNumber_Multiply(step.get(), length.get())).get()));
  return checked(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type), first.get(), stop.get(),
                                              step.get(), nullptr));
}

bool is_plain_count(PyObject* o) {
  if (Py_TYPE(o) != count_type()) return false;
  const Count& c = count_of(o);
  return (!c.next_object || is_plain_number(c.next_object)) && (!c.step || is_plain_number(c.step));
}

PyRef count_next(PyObject* count) {
  const Count& c = count_of(count);
  return c.next_object ? PyRef::borrow(c.next_object) : checked(PyLong_FromSsize_t(c.next));
}

PyRef count_step(PyObject* count) {
  const Count& c = count_of(count);
  return c.step ? PyRef::borrow(c.step) : checked(PyLong_FromLong(1));
}

bool has_comparable_state(PyObject* o) { return is_range_iterator(o) || Py_TYPE(o) == count_type(); }

PyRef iterator_copy(PyObject* it) {
  if (is_range_iterator(it)) return checked(PyObject_GetIter(range_iterator_left(it).get()));
  return checked(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(count_type()), count_next(it).get(),
                                              count_step(it).get(), nullptr));
}

bool stand_alike(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (is_range_iterator(a)) {
    const RangeIterator &x = range_iterator(a), &y = range_iterator(b);
    return x.left() == y.left() && (x.left() == 0 || (x.next() == y.next() && x.step == y.step));
  }
  const Count &x = count_of(a), &y = count_of(b);
  if (x.next != y.next || !x.next_object != !y.next_object || !x.step != !y.step) return false;
  return (!x.next_object || same_number(x.next_object, y.next_object)) && (!x.step || same_number(x.step, y.step));
}

std::string iterator_text(PyObject* it) {
  if (!is_range_iterator(it)) return repr_of(it);
  return "iter(" + repr_of(range_iterator_left(it).get()) + ")";
}

}  // namespace md
