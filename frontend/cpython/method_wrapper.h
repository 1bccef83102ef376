// Special methods of C types bound to an object, (1).__add__, whose type CPython 3.13 does not declare any more.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

PyTypeObject* method_wrapper_type();
bool is_method_wrapper(PyObject* o);

}  // namespace md
