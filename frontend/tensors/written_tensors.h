// In-place calls as programs make them: what autograd has to say about the tensor that is written.
#pragma once

#include <span>

#include "ir/run/eager.h"

namespace md {

// bound[0].op_(...). Throws OpError(Runtime) for a leaf that requires grad; a tensor that is given values which require
// grad requires it afterwards.
void write_inplace(const Op& op, std::span<const Arg> bound);
// x[index] = value, likewise.
void write_item(const TensorRef& x, const Arg& index, const Arg& value);
// For writes that are no calls of an op.
void check_grad_write(const TensorImpl& self);

}  // namespace md
