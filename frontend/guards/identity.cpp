// Equality of devices, sizes and ranges, whose types compare in C.
#include "frontend/guards/identity.h"

#include "frontend/tensors/tensor_object.h"

namespace md::guards {

// Our own immutable types compare in C.
bool EqualsMatch::library_equal(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (!is_device(a) && !is_size_type(Py_TYPE(a)) && !PyRange_Check(a)) return false;
  const int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

}  // namespace md::guards
