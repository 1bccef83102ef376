// Inference rules of the kernels along one dimension.
#include <algorithm>
#include <limits>

#include "ir/infer/infer.h"
#include "registry/ops/scans.h"

namespace md {
namespace {

// A result with the sizes of `x`, in its order of dimensions.
TensorType like(const InferCall& c, const TensorType& x, DType t) {
  TensorType out = fresh_type(c, t, x.sizes);
  out.strides = like_strides(x);
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(t);
  return out;
}

TensorType accumulated(const InferCall& c) {
  const TensorType x = c.tensor(0);
  checked_dim(c, c.size(1), x.dim());
  const DType otherwise = is_floating(x.dtype) ? x.dtype : DType::Int64;
  const DType t = c.arg(2).is_none() ? otherwise : c.arg(2).get<DType>();
  if (t == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool");
  TensorType out = like(c, x, t);
  out.strides = row_major_strides(out.sizes);
  return out;
}

std::vector<TensorType> values_and_positions(const InferCall& c) {
  const TensorType x = c.tensor(0);
  checked_dim(c, c.size(1), x.dim());
  return {like(c, x, x.dtype), like(c, x, DType::Int64)};
}

}  // namespace

TensorType infer_rule(ops::CumSum, const InferCall& c) { return accumulated(c); }
TensorType infer_rule(ops::CumProd, const InferCall& c) { return accumulated(c); }

TensorType infer_rule(ops::LogCumSumExp, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (!is_floating(x.dtype)) c.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(x.dtype).name);
  checked_dim(c, c.size(1), x.dim());
  return like(c, x, x.dtype);
}

std::vector<TensorType> infer_results(ops::CumMax, const InferCall& c) { return values_and_positions(c); }
std::vector<TensorType> infer_results(ops::CumMin, const InferCall& c) { return values_and_positions(c); }
std::vector<TensorType> infer_results(ops::Sort, const InferCall& c) { return values_and_positions(c); }

TensorType infer_rule(ops::Gather, const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(2);
  const int d = checked_dim(c, c.size(1), x.dim());
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32) {
    c.fail(ErrorKind::Runtime, "Expected dtype int32/int64 for index");
  }
  if (std::max(index.dim(), 1) != std::max(x.dim(), 1)) {
    c.fail(ErrorKind::Runtime, "Index tensor must have the same number of dimensions as input tensor");
  }
  for (int i = 0; i < std::min(x.dim(), index.dim()); ++i) {
    if (i != d && guard_lt(x.sizes[i], index.sizes[i])) {
      c.fail(ErrorKind::Runtime,
             "Size does not match at dimension {} expected index {} to be no larger than self {} "
             "apart from dimension {}",
             i, sizes_text(index.sizes), sizes_text(x.sizes), d);
    }
  }
  TensorType out = fresh_type(c, x.dtype, index.sizes);
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

TensorType infer_rule(ops::Flip, const InferCall& c) {
  const TensorType x = c.tensor(0);
  std::vector<bool> seen(std::max(x.dim(), 1));
  for (const Size s : c.sizes(1)) {
    const int d = checked_dim(c, s, x.dim());
    if (seen[d]) c.fail(ErrorKind::Runtime, "dim {} appears multiple times in the list of dims", d);
    seen[d] = true;
  }
  return like(c, x, x.dtype);
}

TensorType infer_rule(ops::Histc, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (!is_floating(x.dtype)) c.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(x.dtype).name);
  const Size bins = c.size(1);
  if (!guard_lt(0, bins)) c.fail(ErrorKind::Runtime, "bins must be > 0, but got {}", to_string(bins));
  return fresh_type(c, x.dtype, SizeVec{bins});
}

TensorType infer_rule(ops::OneHot, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (x.dtype != DType::Int64) {
    c.fail(ErrorKind::Runtime, "one_hot is only applicable to index tensor of type LongTensor.");
  }
  const Size classes = c.size(1);
  if (!guard_lt(0, classes)) c.fail(ErrorKind::Runtime, "Class values must be smaller than num_classes.");
  SizeVec sizes = x.sizes;
  sizes.push_back(classes);
  return fresh_type(c, DType::Int64, sizes);
}

namespace {

using Wide = __int128;

// How many columns of row i lie on or left of the diagonal, summed over the rows.
Wide triangle_count(Wide rows, Wide columns, Wide offset) {
  const Wide begin = std::clamp<Wide>(-offset, 0, rows);              // the first row that has such a column
  const Wide full = std::clamp<Wide>(columns - offset, begin, rows);  // the first row that has them all
  const Wide first = begin + offset + 1, last = full + offset;
  return (full - begin) * (first + last) / 2 + (rows - full) * columns;
}

TensorType indices(const InferCall& c, bool lower) {
  const std::int64_t rows = hint(c.size(0)), columns = hint(c.size(1)), offset = hint(c.size(2));
  for (int i = 0; i < 3; ++i) guard_eq(c.size(i), hint(c.size(i)));
  if (rows < 0) c.fail(ErrorKind::Runtime, "row must be non-negative, got {}", rows);
  if (columns < 0) c.fail(ErrorKind::Runtime, "col must be non-negative, got {}", columns);
  const DType t = chosen_dtype(c, DType::Int64);
  if (t != DType::Int32 && t != DType::Int64) c.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  const Wide n = lower ? triangle_count(rows, columns, offset)
                       : Wide(rows) * columns - triangle_count(rows, columns, Wide(offset) - 1);
  if (n > std::numeric_limits<std::int64_t>::max()) c.fail(ErrorKind::Runtime, "size arithmetic does not fit 64 bits");
  return fresh_type(c, t, SizeVec{2, static_cast<std::int64_t>(n)});
}

}  // namespace

TensorType infer_rule(ops::TrilIndices, const InferCall& c) { return indices(c, true); }
TensorType infer_rule(ops::TriuIndices, const InferCall& c) { return indices(c, false); }

}  // namespace md
