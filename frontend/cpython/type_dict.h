// A class's own dictionary, which builtin classes keep elsewhere from 3.12 on.
#pragma once

#include "frontend/py_ref.h"

namespace md {

// What the class itself, not its bases, has under the name; borrowed, null if nothing. Throws PythonError.
PyObject* own_attribute(PyTypeObject* type, PyObject* name);
PyObject* own_attribute(PyTypeObject* type, const char* name);

}  // namespace md
