// Equality of devices, sizes and ranges, whose types compare in C, and of iterators by where they stand.
#include "frontend/guards/identity.h"

#include "frontend/cpython/iterator_state.h"
#include "frontend/tensors/tensor_object.h"

namespace md::guards {

// Our own immutable types compare in C.
bool EqualsMatch::library_equal(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (has_comparable_state(a)) return stand_alike(a, b);
  if (!is_device(a) && !is_size_type(Py_TYPE(a)) && !PyRange_Check(a)) return false;
  const int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

}  // namespace md::guards
