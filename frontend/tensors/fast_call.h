// The short way into the op table: one or two positional operands, exact tensors and plain numbers, no keywords.
#pragma once

#include <array>
#include <span>

#include "frontend/tensors/tensor_object.h"

namespace md {

inline constexpr std::size_t kMaxFastOperands = 2;
inline constexpr std::size_t kMaxFastParams = 8;

// The overload that alone accepts `operands` positional arguments; null if there are several, or it has other needs.
const Op* sole_overload(std::span<const OpId> ids, std::size_t operands, bool inplace);

// Arguments of `op` in schema order, without an allocation.
class FastArgs {
 public:
  // False if an argument needs the general way; then nothing has happened.
  bool fill(const Op& op, PyObject* const* operands, std::size_t count);
  std::span<const Arg> bound() const { return {items_.data(), count_}; }

 private:
  std::array<Arg, kMaxFastParams> items_;
  std::size_t count_ = 0;
};

}  // namespace md
