// The op table as Python data: _C.op_table_json().
#pragma once

#include <Python.h>

namespace md {

// Adds the function to `module`; -1 with a Python exception set on failure.
int init_op_table(PyObject* module);

}  // namespace md
