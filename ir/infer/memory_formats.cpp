// Orders of dimensions and strides by memory format.
#include "ir/infer/memory_formats.h"

#include "ir/infer/unbacked.h"

namespace md {
namespace {

bool is_channels_last(MemoryFormat f) { return info(f).rank != 0; }

void check_rank(MemoryFormat f, int rank) {
  if (!is_channels_last(f) || info(f).rank == rank) return;
  throw OpError(ErrorKind::Runtime,
                fmt::format("required rank {} tensor to use {} format", info(f).rank, info(f).attribute));
}

SmallVector<int, 8> order_of(MemoryFormat f, int rank) {
  SmallVector<int, 8> order;
  if (!is_channels_last(f)) {
    for (int d = 0; d < rank; ++d) order.push_back(d);
    return order;
  }
  order.push_back(0);
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

// Strides that grow from dimension to dimension in the order of the format, gaps and sizes of 1 allowed for.
bool looks_like(const TensorType& x, MemoryFormat f) {
  if (layout_eq(x.strides[1], 0)) return false;
  const SmallVector<int, 8> order = order_of(f, x.dim());
  Size least = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    if (layout_eq(x.sizes[d], 0) || layout_lt(x.strides[d], least)) return false;
    if (d == 0 && layout_eq(least, x.strides[1])) return false;  // all but the batch is of size 1: either order
    least = layout_lt(1, x.sizes[d]) ? x.strides[d] * x.sizes[d] : x.strides[d];
  }
  return true;
}

}  // namespace

SmallVector<int, 8> format_order(MemoryFormat f, int rank) {
  check_rank(f, rank);
  return order_of(f, rank);
}

SizeVec format_strides(MemoryFormat f, const SizeVec& sizes) {
  if (!is_channels_last(f)) return row_major_strides(sizes);
  const SmallVector<int, 8> order = format_order(f, static_cast<int>(sizes.size()));
  SizeVec strides(sizes.size());
  Size next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next = next * sizes[order[i]];  // without elements they are 0, other than in row-major order
  }
  return strides;
}

bool has_format(const TensorType& x, MemoryFormat f) {
  if (!is_channels_last(f)) return is_row_major(x.sizes, x.strides);
  if (info(f).rank != x.dim()) return false;
  const SmallVector<int, 8> order = order_of(f, x.dim());
  Size expected = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int d = order[i];
    if (x.sizes[d].is_const(1)) continue;
    if (!layout_eq(x.strides[d], expected)) return false;
    expected = expected * x.sizes[d];
  }
  return true;
}

MemoryFormat suggested_format(const TensorType& x) {
  for (const MemoryFormat f : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d}) {
    if (info(f).rank == x.dim() && looks_like(x, f)) return f;
  }
  return MemoryFormat::Contiguous;
}

SizeVec strides_like(const TensorType& x, const Arg& format) {
  const auto* f = format.get_if<MemoryFormat>();
  return !f || *f == MemoryFormat::Preserve ? like_strides(x) : format_strides(*f, x.sizes);
}

}  // namespace md
