// Python code of this package that is traced in place of a library's: frames of it are nobody's business.
#pragma once

#include "frontend/py_ref.h"

namespace md {

// Globals of a module below minidynamo.polyfills, whose names never change.
bool in_polyfills(PyObject* globals);
// Of one whose functions run at trace time, on constants.
bool is_fact(PyObject* function);
// A table of minidynamo.polyfills.numpy; borrowed row, null if there is none.
PyObject* numpy_row(const char* table, PyObject* key);

}  // namespace md
