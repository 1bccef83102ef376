// Matrix products, of one pair of matrices or of many.
#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

// The dimensions before the matrices, broadcast to those of the result.
DimVec batch_strides(const TensorImpl& t, const DimVec& batch) {
  TensorImpl outer({}, t.dtype, {}, {}, 0);
  for (std::size_t i = 0; i + 2 < t.sizes.size(); ++i) {
    outer.sizes.push_back(t.sizes[i]);
    outer.strides.push_back(t.strides[i]);
  }
  return spread(outer, batch);
}

}  // namespace

bool run_product(const DeviceCall& c) {
  if (c.op.id != id::Mm && c.op.id != id::Bmm && c.op.id != id::BatchedMm) return false;
  const TensorImpl &a = c.tensor(0), &b = c.tensor(1), &out = *c.out[0];
  const std::string entry = by_dtype("product", out.dtype);
  if (!has_kernel(entry) || a.dtype != out.dtype || b.dtype != out.dtype) return false;
  const auto r = static_cast<std::size_t>(out.dim() - 2);
  const DimVec batch(out.sizes.begin(), out.sizes.begin() + static_cast<std::ptrdiff_t>(r));
  ProductParams p{};
  const DimVec of_a = batch_strides(a, batch), of_b = batch_strides(b, batch), of_out = batch_strides(out, batch);
  if (!lay_out(batch, p.batch, {{of_a, p.a.strides}, {of_b, p.b.strides}, {of_out, p.c.strides}})) return false;
  p.batches = p.batch.total, p.m = out.sizes[r], p.n = out.sizes[r + 1], p.k = a.sizes[a.sizes.size() - 1];
  p.a.data = address_of(a), p.b.data = address_of(b), p.c.data = address_of(out);
  const std::size_t ra = a.sizes.size() - 2, rb = b.sizes.size() - 2;
  p.a_row = a.strides[ra], p.a_column = a.strides[ra + 1], p.b_row = b.strides[rb], p.b_column = b.strides[rb + 1];
  p.c_row = out.strides[r], p.c_column = out.strides[r + 1];
  const std::int64_t tiles = (p.m + kProductTile - 1) / kProductTile * ((p.n + kProductTile - 1) / kProductTile);
  launch(entry, out.device(), tiles * p.batches * kProductThreads, p, kProductThreads);
  return true;
}

}  // namespace md::device_blocks
