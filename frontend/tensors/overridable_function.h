// Functions written in Python that modes and subclasses may answer: _C._overridable makes one of a function.
#pragma once

#include "frontend/tensors/tensor_object.h"

namespace md {

bool is_overridable_function(PyObject* o);
PyObject* function_of_overridable(PyObject* o);  // borrowed

int init_overridable_functions(PyObject* module);

}  // namespace md
