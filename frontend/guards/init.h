// minidynamo._C._guards: guards compiled by hand, for tests.
#pragma once

#include <Python.h>

namespace md {

int init_guards(PyObject* module);  // -1 with an exception set

}  // namespace md
