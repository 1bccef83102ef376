// What memory formats mean for sizes and strides.
#pragma once

#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"

namespace md {

// Dimensions from the slowest to the fastest in memory. Throws OpError(Runtime) where the format is for another rank.
// Of contiguous_format (and preserve_format): as they are.
SmallVector<int, 8> format_order(MemoryFormat f, int rank);
// Strides of a dense tensor in the format, which is not preserve_format; throws as above.
SizeVec format_strides(MemoryFormat f, const SizeVec& sizes);
// Whether a tensor is dense in the format. Of another rank than the format's it is not.
bool has_format(const TensorType& x, MemoryFormat f);
// The format the strides look like, as far as they decide: what a tensor is taken to be in where none is named.
MemoryFormat suggested_format(const TensorType& x);
// Copies, whose strides are those of the operand to the last: of others only the order of dimensions is kept.
inline bool keeps_strides(const Op& op) {
  return op.id == id::Clone || op.id == id::Convert || op.id == id::CopyToDevice;
}
// Strides of a tensor like `x` in the format a call names, None or preserve_format meaning that of `x`.
SizeVec strides_like(const TensorType& x, const Arg& format);

}  // namespace md
