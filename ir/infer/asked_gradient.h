// Calls that make a tensor which requires a gradient because they say so: requires_grad=True.
#pragma once

#include "ir/graph/op_table.h"

namespace md {

// Whether the call says that what it makes shall require a gradient.
inline bool asks_for_gradient(const Op& op, std::span<const Arg> args) {
  return op.requires_grad >= 0 && args[static_cast<std::size_t>(op.requires_grad)] == Arg(true);
}

}  // namespace md
