// What is kept of a tensor for backward(), as a Python object, and the hooks of the program that say how.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"

namespace md {

// Number `index` of what the node of a call keeps; `node` is its object.
PyRef saved_tensor_object(PyObject* node, std::size_t index);

std::span<const NativeRow> saved_tensor_hook_functions();
int init_saved_tensor_objects(PyObject* module);

}  // namespace md
