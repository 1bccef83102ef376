// Tensors as kernels see them: points of a space, and where they lie in each tensor.
#pragma once

#include <initializer_list>

#include "backend/device_blocks/kernel_params.h"
#include "ir/tensor/tensor.h"

namespace md::device_blocks {

// Strides of a tensor broadcast to these sizes.
DimVec spread(const TensorImpl& t, const DimVec& sizes);

struct LaidOut {
  const DimVec& strides;
  Strides& to;
};
// The points of `sizes`, neighbours that run on in all tensors merged. False if more dimensions are left than kernels
// take.
bool lay_out(const DimVec& sizes, Space& space, std::initializer_list<LaidOut> tensors);

inline std::uint64_t address_of(const TensorImpl& t) { return reinterpret_cast<std::uint64_t>(t.data()); }

// A tensor without one of its dimensions; that dimension.
struct Line {
  DimVec sizes, strides;
  std::int64_t size = 1, step = 0;
};
Line line_of(const TensorImpl& t, int dim);

}  // namespace md::device_blocks
