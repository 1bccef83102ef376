// One pointer of ours on every code object.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// Null if nothing was stored.
void* code_extra(PyCodeObject* code);
// `release` runs when the code object dies; it must be the same function on every call. Throws PythonError.
void set_code_extra(PyCodeObject* code, void* value, freefunc release);

}  // namespace md
