// Which values of a graph nodes read from another device than their own.
#pragma once

#include "ir/graph/dataflow.h"

namespace md {

// Kernels of every device are handed the value of such a tensor as they are launched.
inline bool is_number_on_cpu(const TensorType& t) { return t.device.is_cpu() && t.dim() == 0; }

// Whether elements of another device have to be brought to where the result is.
inline bool crosses_devices(const Node& n) {
  bool found = false;
  for_each_input(
      n, [&](const Node* in) { found |= !(in->type().device == n.type().device) && !is_number_on_cpu(in->type()); });
  return found;
}

}  // namespace md
