// Python code of this package that is traced in place of a library's: frames of it are nobody's business.
#pragma once

#include "frontend/py_ref.h"

namespace md {

// Globals of a module below minidynamo.polyfills, whose names never change.
bool in_polyfills(PyObject* globals);
// Of one whose functions run at trace time, on constants: minidynamo.polyfills.numpy.facts, minidynamo.polyfills.facts.
bool is_fact(PyObject* function);
// A table of minidynamo.polyfills.numpy; borrowed row, null if there is none.
PyObject* numpy_row(const char* table, PyObject* key);
// What minidynamo.polyfills.library has for a callable of the standard library: a traced function, or a class whose
// objects stand in for the callable's. Borrowed; null if there is none.
PyObject* library_row(PyObject* callable);

}  // namespace md
