// How many elements and bytes a tensor takes, by arithmetic that never wraps: whoever makes memory or a view from sizes
// that came from outside asks here. All are linear in the number of dimensions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/sizes/size.h"
#include "registry/dtype.h"

namespace md {

// The elements of these sizes. Throws OpError(Runtime) if one is negative or the product exceeds int64; a size of 0
// makes any product 0.
std::int64_t checked_numel(const DimVec& sizes);
// Elements from `offset` elements before the first to one past the last; 0 without elements. Throws OpError(Runtime)
// for negative sizes, strides or offsets, as many strides as sizes missing, and what exceeds int64.
std::int64_t checked_reach(const DimVec& sizes, const DimVec& strides, std::int64_t offset = 0);
// The same in bytes of `dtype`, which fit an int64, too.
std::size_t checked_bytes(const DimVec& sizes, const DimVec& strides, std::int64_t offset, DType dtype);
// Of a row-major tensor.
std::size_t checked_bytes(const DimVec& sizes, DType dtype);
// A distance in elements as bytes.
std::int64_t checked_shift(std::int64_t elements, DType dtype);

}  // namespace md
