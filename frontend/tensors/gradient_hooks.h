// Hooks of tensors and of nodes.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"
#include "ir/gradients/tape.h"

namespace md {

// The gradient that a hook gave in place of `before`. Throws TypeError for what is no tensor, RuntimeError for a tensor
// of other sizes, of another dtype or device.
TensorRef replaced_gradient(PyObject* answer, const TensorRef& before, PyObject* hook);

// The dict of Python functions that a hook consists of, borrowed. Only of hooks that are steps of a recorded
// backward().
PyObject* hooks_in(const GradHook& hook);
// What they make of a gradient. Throws PythonError, and as replaced_gradient().
TensorRef through_hooks(PyObject* hooks, const TensorRef& gradient);
// Those of a leaf whose gradient was added. Throws PythonError, and OpError(Runtime) for one that returns something.
void call_hooks_after(PyObject* hooks, const TensorRef& leaf);

std::span<const NativeRow> hook_methods();
// node.register_hook(hook), node.register_prehook(hook)
PyRef register_node_hook(GradNode& node, PyObject* hook, bool before);

}  // namespace md
