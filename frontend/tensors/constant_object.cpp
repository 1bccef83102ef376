// Instances of immutable types, frozen sets of them, dtypes, devices and memory formats.
#include "frontend/tensors/constant_object.h"

#include "frontend/tensors/tensor_object.h"

namespace md {

bool is_constant_object(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented) return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyBool_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyUnicode_Type || t == &PyBytes_Type ||
      t == &PyComplex_Type || t == &PyCode_Type)
    return true;
  DType ignored;
  MemoryFormat format;
  if (as_dtype(o, ignored) || is_device(o) || as_memory_format(o, format)) return true;
  if (t == &PyFrozenSet_Type) {
    PyRef it = PyRef::steal(PyObject_GetIter(o));
    while (PyRef x = PyRef::steal(PyIter_Next(it.get())))
      if (!is_constant_object(x.get())) return false;
    return true;
  }
  return false;
}

}  // namespace md
