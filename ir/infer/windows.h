// Windows over the last dimensions of a tensor: what the rules, the reference kernels and the block kernels of
// convolution, pooling and resampling share.
#pragma once

#include <cstdint>

#include "ir/infer/expansion.h"
#include "ir/infer/window_dim.h"
#include "ir/reference/reference.h"
#include "registry/ops/convolution.h"

namespace md {

// Positions of a window along one dimension: (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded up
// with `ceil_mode`, but so that no window starts beyond the padding. Fails if there is none.
Size window_count(const InferCall& c, Size size, Size kernel, Size stride, Size padding, Size dilation, bool ceil_mode);

// x with `before` and `behind` positions of `value` around its last dimensions; x itself if there are none.
Arg padded(const Expansion& e, const Arg& x, const SizeVec& before, const SizeVec& behind, const Arg& value);

// The planes [first, last) of a pooling or resampling kernel; planes are numbered row-major over the other dimensions.
// Results are the same however they are cut into ranges.
std::int64_t plane_count(const KernelCall& c);
void run_planes(ops::MaxPool, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_planes(ops::MaxPoolValues, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_planes(ops::AvgPool, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_planes(ops::AdaptiveMaxPool, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_planes(ops::AdaptiveAvgPool, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_planes(ops::Resample, const KernelCall& c, std::int64_t first, std::int64_t last);

}  // namespace md
