// Tensors for C++ extensions.
#pragma once

#include <Python.h>

namespace md {

int init_extension_api(PyObject* module);  // adds _C._extension_api; -1 with an exception set

}  // namespace md
