// Imports of our own.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// A module by its full name, waited for while another thread imports it; null with Python's error. A program's own
// `builtins.__import__` has no part in it: it would see imports that the program never makes.
inline PyObject* import_module(const char* name) {
  const PyRef text = PyRef::steal(PyUnicode_FromString(name));
  if (!text) return nullptr;
  const PyRef top = PyRef::steal(PyImport_ImportModuleLevelObject(text.get(), nullptr, nullptr, nullptr, 0));
  if (!top) return nullptr;
  PyObject* const found = PyImport_GetModule(text.get());
  if (!found && !PyErr_Occurred()) PyErr_Format(PyExc_ImportError, "%s is not in sys.modules", name);
  return found;
}

}  // namespace md
