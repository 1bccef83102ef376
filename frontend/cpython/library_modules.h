// Modules of the standard library that the program may have imported. Nothing here imports one: what is not there, the
// program cannot be using.
#pragma once

#include "frontend/cpython/py_ref.h"

namespace md {

// The module, if it is there as a whole: not while it is being imported, and not a file of the program's own that has
// its name. Null otherwise.
PyRef loaded_library(const char* name);
// An attribute of loaded_library(module), borrowed and the same for ever once it was found; null while there is none.
PyObject* library_object(const char* module, const char* name);
// sys.modules has a module of this name that is not imported to its end.
bool is_loading(const char* name);

}  // namespace md
