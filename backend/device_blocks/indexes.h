// Indexes of ops that read and write by position, as kernels take them.
#pragma once

#include <vector>

#include "backend/device_blocks/device_call.h"

namespace md::device_blocks {

bool is_positions(const TensorImpl& t);
IndexTensor index_along(const TensorImpl& index, const TensorImpl& x, int dim, OutsideWords words);
// Into the flattened tensor.
IndexTensor flat_index(const TensorImpl& index, const TensorImpl& x);

// The index tensors of x[...] with the dimensions they stand for, and where their positions stand in the result.
struct Indexed {
  struct Axis {
    TensorRef index;
    int dim;
  };
  SmallVector<int, 8> kept;
  std::vector<Axis> axes;
  DimVec positions;  // the sizes the indexes are broadcast to
  std::size_t first = 0;
};

// False if no kernel takes them; there are masks no more.
bool read_indexes(const TensorImpl& x, const ListArg& list, Indexed& e);

// Strides of a tensor with the dimensions of the result x[...]: along those of positions, and along kept ones.
DimVec of_positions(const Indexed& e, const DimVec& strides);
DimVec of_kept(const Indexed& e, const DimVec& strides);
// With those of kept dimensions where the result has them and `positions` between.
DimVec joined(const Indexed& e, const DimVec& kept, const DimVec& positions);

}  // namespace md::device_blocks
