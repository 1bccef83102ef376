// Which real objects are constants of a trace.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// True for exact instances of the immutable types constants are made of (int, str, None, dtype, device, ...).
bool is_constant_object(PyObject* o);

}  // namespace md
