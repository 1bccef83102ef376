// Inference rules of the ops that find, count and search.
#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"
#include "registry/ops/indexing.h"

namespace md {

TensorType infer_rule(ops::MaskedScatter, const InferCall& c) {
  const TensorType x = c.tensor(0), mask = c.tensor(1), source = c.tensor(2);
  if (x.dtype != source.dtype) {
    c.fail(ErrorKind::Runtime, "expected self and source to have same dtypes but got {} and {}",
           info(x.dtype).guard_name, info(source.dtype).guard_name);
  }
  if (mask.dtype != DType::Bool) {
    c.fail(ErrorKind::Runtime, "only supports boolean masks, but got mask with dtype {}", info(mask.dtype).name);
  }
  TensorType out = fresh_type(c, x.dtype, broadcast(c, x.sizes, mask.sizes));
  out.requires_grad = (x.requires_grad || source.requires_grad) && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

TensorType infer_rule(ops::NonZero, const InferCall& c) {
  const TensorType x = c.tensor(0);
  const Size count = dynamic_size(c);
  TensorType out = fresh_type(c, DType::Int64, SizeVec{count, x.dim()});
  out.strides = SizeVec{1, count};
  return out;
}

void no_dimensions(Size dim) {
  throw OpError(ErrorKind::Index,
                fmt::format("Dimension specified as {} but tensor has no dimensions", to_string(dim)));
}

std::vector<TensorType> infer_results(ops::UniqueParts, const InferCall& c) {
  const TensorType x = c.tensor(0);
  SizeVec sizes{0}, inverse = x.sizes;
  int d = 0;
  if (!c.arg(1).is_none()) {
    if (x.dim() == 0) no_dimensions(c.size(1));
    d = checked_dim(c, c.size(1), x.dim());
    if (x.dim() > 0) sizes = x.sizes;
    inverse = SizeVec{x.dim() > 0 ? x.sizes[d] : Size(1)};
    for (int i = 0; i < x.dim(); ++i) {
      if (i != d && guard_eq(x.sizes[i], 0) && !guard_eq(x.sizes[d], 0)) {
        c.fail(ErrorKind::Runtime,
               "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
      }
    }
  }
  const Size count = dynamic_size(c);
  sizes[d] = count;
  return {fresh_type(c, x.dtype, sizes), fresh_type(c, DType::Int64, inverse),
          fresh_type(c, DType::Int64, SizeVec{count})};
}

TensorType infer_rule(ops::BinCount, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (!is_integral(x.dtype)) c.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(x.dtype).name);
  if (x.dim() != 1) c.fail(ErrorKind::Runtime, "bincount only supports 1-d non-negative integral inputs.");
  if (guard_lt(c.size(2), 0)) c.fail(ErrorKind::Runtime, "minlength should be >= 0");
  DType t = DType::Int64;
  if (!c.arg(1).is_none()) {
    const TensorType weights = c.tensor(1);
    if (weights.dim() != 1 || !guard_eq(weights.sizes[0], x.sizes[0])) {
      c.fail(ErrorKind::Runtime, "weights should be 1-d and have the same length as input");
    }
    if (!guard_eq(x.sizes[0], 0)) t = weights.dtype == DType::Float32 ? DType::Float32 : DType::Float64;
  }
  return fresh_type(c, t, SizeVec{dynamic_size(c)});
}

TensorType infer_rule(ops::RepeatPositions, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (x.dtype != DType::Int64 && x.dtype != DType::Int32) {
    c.fail(ErrorKind::NotImplemented, "repeats has to be Long or Int tensor");
  }
  if (x.dim() != 1) c.fail(ErrorKind::Runtime, "repeat_interleave only accept 1D vector as repeat");
  const Size count = c.arg(1).is_none() ? dynamic_size(c) : c.size(1);
  return fresh_type(c, x.dtype, SizeVec{count});
}

TensorType infer_rule(ops::SearchSorted, const InferCall& c) {
  const TensorType rows = c.tensor(0), x = c.tensor(1);
  if (rows.dtype == DType::Bool || x.dtype == DType::Bool) {
    c.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  }
  if (rows.dim() == 0) {
    c.fail(ErrorKind::Runtime, "boundaries tensor should have positive dimension, but got 0 dimension");
  }
  bool fits = rows.dim() == 1 || rows.dim() == x.dim();
  for (int i = 0; fits && rows.dim() > 1 && i < rows.dim() - 1; ++i) fits = guard_eq(rows.sizes[i], x.sizes[i]);
  if (!fits) {
    c.fail(ErrorKind::Runtime,
           "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value "
           "tensor must match, but we got boundaries tensor {} and input value tensor {}",
           sizes_text(rows.sizes), sizes_text(x.sizes));
  }
  if (const auto* side = c.arg(4).get_if<std::string>()) {
    if (*side != "left" && *side != "right") {
      c.fail(ErrorKind::Runtime, "side can only be 'left' or 'right' but got {}", *side);
    }
    if (*side == "left" && c.flag(3)) {
      c.fail(ErrorKind::Runtime, "side and right can't be set to opposites, got side of left while right was True");
    }
  }
  if (!c.arg(5).is_none()) {
    const TensorType sorter = c.tensor(5);
    if (sorter.dtype != DType::Int64) {
      c.fail(ErrorKind::Runtime, "sorter must be a tensor of long dtype but got dtype {}",
             info(sorter.dtype).guard_name);
    }
    bool same = sorter.dim() == rows.dim();
    for (int i = 0; same && i < rows.dim(); ++i) same = guard_eq(sorter.sizes[i], rows.sizes[i]);
    if (!same) {
      c.fail(ErrorKind::Runtime,
             "boundary and sorter must have the same size, but got boundary tensor {} and got sorter "
             "tensor {}",
             sizes_text(rows.sizes), sizes_text(sorter.sizes));
    }
  }
  return fresh_type(c, c.flag(2) ? DType::Int32 : DType::Int64, x.sizes);
}

TensorType infer_rule(ops::AssertSizes, const InferCall& c) { return fresh_type(c, DType::Bool, SizeVec{0}); }

namespace {
void need_one_element(const InferCall& c) {
  const Size n = product(c.tensor(0).sizes);
  if (guard_eq(n, 1)) return;
  c.fail(ErrorKind::Runtime, "a Tensor with {} elements cannot be converted to Scalar", to_string(n));
}
}  // namespace

TensorType infer_rule(ops::ItemNumber, const InferCall& c) {
  need_one_element(c);
  TensorType out = fresh_type(c, DType::Float64, {});
  out.wrapped_number = true;
  return out;
}

TensorType infer_rule(ops::Item, const InferCall& c) {
  const TensorType x = c.tensor(0);
  need_one_element(c);
  const SizeRange range = x.dtype == DType::Bool ? SizeRange{0, 1} : SizeRange{};
  TensorType out = fresh_type(c, DType::Int64, SizeVec{dynamic_size(c, range)});
  out.strides = SizeVec{0};
  return out;
}

}  // namespace md
