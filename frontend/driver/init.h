// The tracer's part of minidynamo._C.
#pragma once

#include <Python.h>

namespace md {

int init_frontend(PyObject* module);  // -1 with an exception set

}  // namespace md
