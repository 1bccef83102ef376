// Eager calls while a function transform is under way, and calls of batched tensors (ir/tensor/batched.h).
#pragma once

#include <span>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

// How the call goes on where no transform has a say.
struct PlainCalls {
  Arg (*call)(const Op& op, std::span<const Arg> bound);
  Arg (*opened)(const Op& op, std::span<const Arg> bound);  // of a composite: by its parts
  TensorRef (*write)(const Op& op, std::span<const Arg> bound, const TensorRef& target);
};

// As call_op() and call_inplace(); `target` is bound[0] or what it is a part of.
Arg call_in_transform(const PlainCalls& plain, const Op& op, std::span<const Arg> bound);
TensorRef write_in_transform(const PlainCalls& plain, const Op& op, std::span<const Arg> bound,
                             const TensorRef& target);

bool holds_batched(std::span<const Arg> args);

// --- Between levels --------------------------------------------------------------------------------------------------

// `x` with the examples of these calls of vmap as its first dimensions, repeated where it is the same for all.
TensorRef without_levels(const TensorRef& x, std::span<const std::uint32_t> levels);
// The reverse.
TensorRef with_levels(const TensorRef& given, std::span<const std::uint32_t> levels);

}  // namespace md
