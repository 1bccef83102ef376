// Layer and RMS norms of rows in eager mode: two or three passes over a row in the cache instead of one for each of up
// to eleven parts. Bits are those of the parts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ir/graph/graph.h"

namespace md::blocks {

inline constexpr std::int64_t kLongestNormalized = 1 << 14;

// A row of up to kLongestNormalized elements; weight and bias may be null. `centred`: the mean is subtracted first.
struct NormalizedRow {
  const void *x, *weight, *bias;
  void* out;
  std::int64_t length;
  double eps;
  bool centred;
};
using NormalizeKernel = void (*)(const NormalizedRow& row);

// Runs recorded parts if they are a norm over the last dimension and nothing else; false if not.
bool run_normalize(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out);

}  // namespace md::blocks
