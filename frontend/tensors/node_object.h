// Nodes of the record of gradients as Python objects: Tensor.grad_fn.
#pragma once

#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/tensor_parts.h"

namespace md {

// The node's object, of a type named as the node; None for no node. One for each node while it is in use.
PyRef node_object(const Ref<GradNode>& node);
bool is_node(PyObject* o);
GradNode& node_of(PyObject* o);

// A node that stands for a call of the program's own has an object of the program's that answers for other attributes.
class ContextHolder {
 public:
  virtual ~ContextHolder() = default;
  virtual PyObject* context() const = 0;  // borrowed
};

// The tensor's object: the one the program has, or a new one.
PyRef object_of_tensor(const TensorRef& t);

int init_nodes(PyObject* module);

}  // namespace md
