// Calls that make a tensor which requires a gradient because they say so: requires_grad=True.
#pragma once

#include "ir/core/error.h"
#include "ir/graph/op_table.h"

namespace md {

// Whether the call says that what it makes, of dtype `made`, shall require a gradient. Throws OpError(Runtime) where
// that dtype cannot.
inline bool asks_for_gradient(const Op& op, std::span<const Arg> args, DType made) {
  if (op.requires_grad < 0 || !(args[static_cast<std::size_t>(op.requires_grad)] == Arg(true))) return false;
  if (is_differentiable(made)) return true;
  throw OpError(ErrorKind::Runtime, "only Tensors of floating point and complex dtype can require gradients");
}

}  // namespace md
