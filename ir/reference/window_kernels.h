// Pooling and resampling by planes: what the reference kernels and the block kernels share.
#pragma once

#include <cstdint>

#include "ir/reference/reference.h"
#include "registry/ops/convolution.h"

namespace md {

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
