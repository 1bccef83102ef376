// Hooks of tensors and of nodes.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"
#include "ir/gradients/tape.h"

namespace md {

// The gradient that a hook gave in place of `before`. Throws TypeError for what is no tensor, RuntimeError for a tensor
// of other sizes, of another dtype or device.
TensorRef replaced_gradient(PyObject* answer, const TensorRef& before, PyObject* hook);

std::span<const NativeRow> hook_methods();
// node.register_hook(hook), node.register_prehook(hook)
PyRef register_node_hook(GradNode& node, PyObject* hook, bool before);

}  // namespace md
