// Where handlers are asked about calls, the way back is shown to them in torch's operators: who answers for a node.
#pragma once

#include <optional>
#include <span>

#include "ir/gradients/derivation.h"
#include "ir/gradients/rule_reads.h"

namespace md {

// All null until handlers are there; asked only while a transform or a handler is.
struct ShownGradients {
  // The gradients of the wanted parameters; nothing: no handler has a say, or there is no rule.
  std::optional<Gradients> (*of_call)(const Op& op, std::span<const Arg> args, std::span<const Arg> results,
                                      std::span<const Arg> grads, std::uint64_t wanted) = nullptr;
  // What that will read.
  RuleReads (*reads)(const Op& op, std::span<const Arg> args, std::span<const TensorRef> made,
                     std::uint64_t wanted) = nullptr;
  // The first gradient of a leaf as its `grad`: the same memory if it is `ours`. Null: no handler has a say.
  TensorRef (*first)(const TensorRef& gradient, const TensorRef& leaf, bool ours) = nullptr;
};
ShownGradients& shown_gradients();

}  // namespace md
