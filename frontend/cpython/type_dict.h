// A class's own dictionary, which builtin classes keep elsewhere from 3.12 on.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Written in C: no program can change it. From 3.12 on many of these are heap types, which before only classes were.
inline bool is_c_type(const PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}
// What the class itself, not its bases, has under the name; borrowed, null if nothing. Throws PythonError.
PyObject* own_attribute(PyTypeObject* type, PyObject* name);
PyObject* own_attribute(PyTypeObject* type, const char* name);
// Frees what a class and its own parts hold of each other, as the garbage collector would: dropped after this it goes
// at once. It must not be used any more.
void take_apart(PyTypeObject* type);

}  // namespace md
