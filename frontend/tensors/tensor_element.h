// Reads the number in a tensor without dimensions, for guards: no call of the program, no error.
#pragma once

#include <Python.h>

#include "registry/dtype.h"

namespace md {

// Copies the element of a tensor of this dtype, which lies in the CPU's memory, to `out`; false: `o` is something else.
bool read_element(PyObject* o, DType dtype, void* out);

}  // namespace md
