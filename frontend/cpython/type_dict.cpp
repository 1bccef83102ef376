// Reads a class's own dictionary by name, and takes apart classes that only a trace has made.
#include "frontend/cpython/type_dict.h"

namespace md {

PyObject* own_attribute(PyTypeObject* type, PyObject* name) {
#if PY_VERSION_HEX >= 0x030C0000
  PyRef dict = PyRef::steal(PyType_GetDict(type));
#else
  PyRef dict = PyRef::borrow(type->tp_dict);
#endif
  if (!dict) return nullptr;
  PyObject* found = PyDict_GetItemWithError(dict.get(), name);  // the class keeps it alive
  if (!found && PyErr_Occurred()) throw PythonError{};
  return found;
}

PyObject* own_attribute(PyTypeObject* type, const char* name) {
  return own_attribute(type, checked(PyUnicode_InternFromString(name)).get());
}

void take_apart(PyTypeObject* type) { (void)Py_TYPE(type)->tp_clear(reinterpret_cast<PyObject*>(type)); }

}  // namespace md
