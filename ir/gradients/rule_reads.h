// Which tensors of a call its derivative reads elements of: the others are not kept for backward().
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph/op_table.h"

namespace md {

// A bit for each parameter, and for each result; from the 64th on results share the last bit.
struct RuleReads {
  std::uint64_t operands = ~std::uint64_t{0}, results = ~std::uint64_t{0};

  bool operand(std::size_t i) const { return operands >> i & 1; }
  bool result(std::size_t i) const { return results >> (i < 63 ? i : 63) & 1; }
};

// Of a call of `args` that gave `results`, whose gradients are asked for the parameters `wanted`. Found by running the
// rule on types, and remembered. Everything, if the rule cannot run without elements.
RuleReads rule_reads(const Op& op, std::span<const Arg> args, std::span<const TensorRef> results, std::uint64_t wanted);

}  // namespace md
