// minidynamo._C._cpython: the raw look-ups and the frame hook's rules, for tests.
#pragma once

#include <Python.h>

namespace md {

int init_cpython(PyObject* module);  // -1 with an exception set

}  // namespace md
