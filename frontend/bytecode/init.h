// minidynamo._C._bytecode: the decoder, assembler and splitter for tests.
#pragma once

#include <Python.h>

namespace md {

int init_bytecode(PyObject* module);  // -1 with an exception set

}  // namespace md
