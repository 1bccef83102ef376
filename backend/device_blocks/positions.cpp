// Ops that read by position.
#include "backend/device_blocks/indexes.h"
#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

DimVec without(DimVec strides, int dim) {
  if (!strides.empty()) strides[static_cast<std::size_t>(dim)] = 0;
  return strides;
}
// Strides of an index with one dimension, along dimension `dim` of several.
DimVec only_along(const TensorImpl& index, int dim, std::size_t rank) {
  DimVec strides(rank);
  if (rank) strides[static_cast<std::size_t>(dim)] = index.dim() ? index.strides[0] : 0;
  return strides;
}

bool read_at(const DimVec& sizes, const TensorImpl& x, const DimVec& x_strides, const TensorImpl& out, ReadAtParams& p,
             const DimVec& index_strides) {
  p.indexes = 1;
  if (!lay_out(sizes, p.space,
               {{out.strides, p.to.strides}, {x_strides, p.from.strides}, {index_strides, p.index[0].strides}}))
    return false;
  p.to.data = address_of(out), p.from.data = address_of(x);
  launch(by_size("read_at", x.dtype), out.device(), p.space.total, p);
  return true;
}

// gather: x where the index says along one dimension, and where the index itself lies along the others.
bool gather_along(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index)) return false;
  const int d = c.dim(x.dim());
  ReadAtParams p{};
  p.index[0] = index_along(index, x, d, OutsideWords::Bounds);
  const DimVec strides = x.dim() == 0 ? DimVec(index.sizes.size()) : without(x.strides, d);
  return read_at(index.sizes, x, strides, out, p, index.strides);
}

bool select_slices(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index)) return false;
  const int d = c.dim(x.dim());
  ReadAtParams p{};
  p.index[0] = index_along(index, x, d, OutsideWords::InSelf);
  const DimVec strides = x.dim() == 0 ? DimVec(out.sizes.size()) : without(x.strides, d);
  return read_at(out.sizes, x, strides, out, p, only_along(index, d, out.sizes.size()));
}

bool take_flat(const DeviceCall& c) {
  const TensorImpl &index = c.tensor(1), &out = *c.out[0];
  const TensorRef x = contiguous(c.args[0].get<TensorRef>());
  if (!x || !is_positions(index)) return false;
  ReadAtParams p{};
  p.from_end = 1, p.index[0] = flat_index(index, *x);
  return read_at(out.sizes, *x, DimVec(out.sizes.size()), out, p, index.strides);
}

// --- x[...] --------------------------------------------------------------------------------------------------------

bool read_indexed(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  Indexed e;
  if (!read_indexes(x, c.args[1].get<ListArg>(), e)) return false;
  ReadAtParams p{};
  p.from_end = 1, p.indexes = static_cast<Word>(e.axes.size());
  DimVec kept, strides[kMostIndexes];
  for (const int d : e.kept) kept.push_back(x.strides[static_cast<std::size_t>(d)]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kMostIndexes); ++i) {
    strides[i] = DimVec(out.sizes.size());
    if (i >= e.axes.size()) continue;
    p.index[i] = index_along(*e.axes[i].index, x, e.axes[i].dim, OutsideWords::Indexing);
    strides[i] = joined(e, DimVec(kept.size()), spread(*e.axes[i].index, e.positions));
  }
  const DimVec from = joined(e, kept, DimVec(e.positions.size()));
  static_assert(kMostIndexes == 5);
  if (!lay_out(out.sizes, p.space,
               {{out.strides, p.to.strides},
                {from, p.from.strides},
                {strides[0], p.index[0].strides},
                {strides[1], p.index[1].strides},
                {strides[2], p.index[2].strides},
                {strides[3], p.index[3].strides},
                {strides[4], p.index[4].strides}}))
    return false;
  p.to.data = address_of(out), p.from.data = address_of(x);
  launch(by_size("read_at", x.dtype), out.device(), p.space.total, p);
  return true;
}

}  // namespace

bool run_reading(const DeviceCall& c) {
  switch (c.op.id) {
    case id::Gather:
      return gather_along(c);
    case id::IndexSelect:
      return select_slices(c);
    case id::Take:
      return take_flat(c);
    case id::Index:
      return read_indexed(c);
    default:
      return false;
  }
}

}  // namespace md::device_blocks
