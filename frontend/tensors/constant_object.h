// Which real objects are constants of a trace.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// True for exact instances of the immutable types constants are made of (int, str, None, dtype, device, ...).
bool is_constant_object(PyObject* o);
// Of dates, times, compiled patterns and their matches: what is asked of such an object depends on nothing else.
bool is_library_value_type(const PyTypeObject* type);

}  // namespace md
