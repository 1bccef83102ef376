// What compile() returns: a callable with the metadata of what it was given.
#pragma once

#include "frontend/entries/compiled_object.h"

namespace md {

// `original` is what compile() was given: the function, or what it calls.
PyRef make_compiled_function(PyObject* function, PyObject* original, CompileOptions* options);

int init_compiled_function(PyObject* module);  // -1 with an exception set

}  // namespace md
