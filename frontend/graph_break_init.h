// The registry as Python data: _C._registry.rows().
#pragma once

#include <Python.h>

namespace md {

// Adds the submodule `_registry` to `module`; -1 with a Python exception set on failure.
int init_registry(PyObject* module);

}  // namespace md
