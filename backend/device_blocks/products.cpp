// Matrix products, of one pair of matrices or of many: one chain for each result, or, where a program allows another
// order of sums, on tensor cores.
#include <utility>

#include "backend/device_blocks/kernel_calls.h"
#include "backend/device_blocks/tensor_cores.h"
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

std::int64_t tiles_of(const ProductParams& p, std::int64_t tile) {
  return (p.m + tile - 1) / tile * ((p.n + tile - 1) / tile) * p.batches;
}

// The transposed product gives the transposed result.
void transpose(ProductParams& p) {
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_row, p.b_column);
  std::swap(p.a_column, p.b_row);
  std::swap(p.c_row, p.c_column);
}

// Kernels read the left operand along its rows only together with the right one along its columns. A matrix in which
// neither lies side by side is read along the depth.
std::string_view turned_to_layout(ProductParams& p) {
  if (p.k == 1) p.a_column = p.b_row = 1;
  const bool a_along_rows = p.a_column != 1 && p.a_row == 1, b_along_columns = p.b_row != 1 && p.b_column == 1;
  if (a_along_rows && !b_along_columns) transpose(p);
  if (a_along_rows && b_along_columns) return "rc";
  return a_along_rows || b_along_columns ? "dc" : "dd";
}

bool multiply_on_tensor_cores(ProductParams p, DType t, Device device) {
  if (!is_allowed(t == DType::Float32 ? kTf32Products : kAnyFoldOrder)) return false;
  const std::string layout(turned_to_layout(p));
  const bool large = tiles_of(p, kMmaLargeTile) >= multiprocessors_of(device);
  const std::string entry = tensor_core_entry((large ? "mma_product_128_" : "mma_product_64_") + layout, t, device);
  if (entry.empty()) return false;
  if (large)
    launch(entry, device, tiles_of(p, kMmaLargeTile) * kMmaLargeThreads, p, kMmaLargeThreads);
  else
    launch(entry, device, tiles_of(p, kMmaSmallTile) * kMmaSmallThreads, p, kMmaSmallThreads);
  return true;
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
  if (multiply_on_tensor_cores(p, out.dtype, out.device())) return true;
  launch(entry, out.device(), tiles_of(p, kProductTile) * kProductThreads, p, kProductThreads);
  return true;
}

}  // namespace md::device_blocks
