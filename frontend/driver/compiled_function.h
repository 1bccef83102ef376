// What compile() returns: a callable with the metadata of what it was given.
#pragma once

#include "frontend/entries/region.h"

namespace md {

// `original` is what compile() was given: the function, or what it calls.
PyRef make_compiled_function(PyObject* function, PyObject* original, Region* region);
bool is_compiled_function(PyObject* o);
PyObject* compiled_function_traced(PyObject* o);    // the function; borrowed
PyObject* compiled_function_original(PyObject* o);  // borrowed
// A Python function, compiled or not: what a class's instances bind.
inline bool binds_as_function(PyObject* o) {
  return PyFunction_Check(o) ||
         (is_compiled_function(o) && compiled_function_original(o) == compiled_function_traced(o));
}

int init_compiled_function(PyObject* module);  // -1 with an exception set

}  // namespace md
