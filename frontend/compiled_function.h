// What compile() returns for a Python function: a callable with the function's metadata.
#pragma once

#include "frontend/region.h"

namespace md {

PyRef make_compiled_function(PyObject* function, Region* region);
bool is_compiled_function(PyObject* o);
PyObject* compiled_function_original(PyObject* o);  // borrowed

int init_compiled_function(PyObject* module);  // -1 with an exception set

}  // namespace md
