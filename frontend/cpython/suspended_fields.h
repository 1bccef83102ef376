// What generators, coroutines, asynchronous generators and frames tell of themselves.
#pragma once

#include <Python.h>

#include <string_view>

namespace md {

// Borrowed; the object keeps it. Null: `o` is none of these, or tells no such thing without making it anew. Runs no
// code of the program.
PyObject* suspended_field(PyObject* o, std::string_view name);

}  // namespace md
