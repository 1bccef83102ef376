// The object compile() returns, as memory: whoever meets one in a trace asks what it was made of. What it does when it
// is called is in driver/compiled_function.cpp.
#pragma once

#include "frontend/entries/compile_options.h"

namespace md {

struct CompiledFunctionObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* original;  // see make_compiled_function
  CompileOptions* options;
  PyObject* backend;  // keeps the options
  PyObject* dict;
  PyObject* weakrefs;
};

PyTypeObject* compiled_type();
void set_compiled_type(PyTypeObject* type);  // once, at import

bool is_compiled_function(PyObject* o);
PyObject* compiled_function_traced(PyObject* o);    // the function; borrowed
PyObject* compiled_function_original(PyObject* o);  // borrowed
// A Python function, compiled or not: what a class's instances bind.
inline bool binds_as_function(PyObject* o) {
  return PyFunction_Check(o) ||
         (is_compiled_function(o) && compiled_function_original(o) == compiled_function_traced(o));
}

}  // namespace md
