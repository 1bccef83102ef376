// Complex numbers seen as pairs of real ones and back, elements seen as those of another dtype, the Fourier kernel.
#include "ir/infer/infer.h"
#include "registry/ops/complex.h"

namespace md {

namespace {

// The dimensions but the last one, in elements `factor` times as small.
void refine(TensorType& x, std::int64_t factor) {
  for (Size& s : x.strides) s = s * factor;
  x.offset = x.offset * factor;
}

void need_divisible(const InferCall& c, const std::string& what, Size have, std::int64_t by, const std::string& views) {
  if (guard_eq(mod(have, by), 0)) return;
  c.fail(ErrorKind::Runtime, "{} must be divisible by {} to view {} (different element sizes), but got {}", what, by,
         views, to_string(have));
}

}  // namespace

TensorType infer_rule(ops::ViewAsReal, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (!is_complex(x.dtype)) c.fail(ErrorKind::Runtime, "only complex tensors have parts, not {}", info(x.dtype).name);
  refine(x, 2);
  x.sizes.push_back(2);
  x.strides.push_back(1);
  x.dtype = to_real(x.dtype);
  x.wrapped_number = false;
  return x;
}

TensorType infer_rule(ops::ViewAsComplex, const InferCall& c) {
  TensorType x = c.tensor(0);
  if (x.dtype != DType::Float32 && x.dtype != DType::Float64) {
    c.fail(ErrorKind::Runtime, "the parts must be float32 or float64, not {}", info(x.dtype).name);
  }
  if (x.dim() == 0) c.fail(ErrorKind::Runtime, "Input tensor must have one or more dimensions");
  if (!guard_eq(x.sizes.back(), 2)) c.fail(ErrorKind::Runtime, "Tensor must have a last dimension of size 2");
  if (!guard_eq(x.strides.back(), 1)) c.fail(ErrorKind::Runtime, "Tensor must have a last dimension with stride 1");
  x.sizes.pop_back();
  x.strides.pop_back();
  for (std::size_t i = 0; i < x.strides.size(); ++i) {
    const bool seen = !guard_eq(x.sizes[i], 1) && !guard_eq(x.sizes[i], 0);
    if (seen && !guard_eq(mod(x.strides[i], 2), 0))
      c.fail(ErrorKind::Runtime, "Tensor must have a stride divisible by 2 for all but last dimension");
    x.strides[i] = floordiv(x.strides[i], 2);
  }
  if (!guard_eq(mod(x.offset, 2), 0)) c.fail(ErrorKind::Runtime, "Tensor must have a storage_offset divisible by 2");
  x.offset = floordiv(x.offset, 2);
  x.dtype = to_complex(x.dtype);
  return x;
}

TensorType infer_rule(ops::ViewDType, const InferCall& c) {
  TensorType x = c.tensor(0);
  const DType to = c.arg(1).get<DType>();
  if (to == x.dtype) return x;
  const auto have = static_cast<std::int64_t>(item_size(x.dtype)), want = static_cast<std::int64_t>(item_size(to));
  const std::string views = fmt::format("{} as {}", info(x.dtype).guard_name, info(to).guard_name);
  x.requires_grad = false;
  x.wrapped_number = false;
  x.dtype = to;
  if (have == want) return x;
  if (x.dim() == 0) {
    c.fail(ErrorKind::Runtime, "self.dim() cannot be 0 to view {} (different element sizes)", views);
  }
  if (!guard_eq(x.strides.back(), 1)) {
    c.fail(ErrorKind::Runtime, "self.stride(-1) must be 1 to view {} (different element sizes), but got {}", views,
           to_string(x.strides.back()));
  }
  if (want < have) {
    refine(x, have / want);
    x.sizes.back() = x.sizes.back() * Size(have / want);
  } else {
    const std::int64_t ratio = want / have;
    need_divisible(c, "self.size(-1)", x.sizes.back(), ratio, views);
    need_divisible(c, "self.storage_offset()", x.offset, ratio, views);
    for (int i = 0; i + 1 < x.dim(); ++i) {
      need_divisible(c, fmt::format("self.stride({})", i), x.strides[static_cast<std::size_t>(i)], ratio, views);
      x.strides[static_cast<std::size_t>(i)] = floordiv(x.strides[static_cast<std::size_t>(i)], ratio);
    }
    x.sizes.back() = floordiv(x.sizes.back(), ratio);
    x.offset = floordiv(x.offset, ratio);
  }
  x.strides.back() = 1;
  return x;
}

TensorType infer_rule(ops::ConjView, const InferCall& c) {
  if (!is_complex(c.tensor(0).dtype)) c.fail(ErrorKind::Runtime, "only complex tensors have conjugate views");
  return c.tensor(0);
}

TensorType infer_rule(ops::NegView, const InferCall& c) {
  if (c.tensor(0).dtype == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool");
  return c.tensor(0);
}

TensorType infer_rule(ops::FourierPairs, const InferCall& c) {
  const TensorType x = c.tensor(0);
  if (x.dtype != DType::Float32 && x.dtype != DType::Float64) {
    c.fail(ErrorKind::NotImplemented, "not defined for {}", info(x.dtype).name);
  }
  if (x.dim() < 2 || !guard_eq(x.sizes.back(), 2)) c.fail(ErrorKind::Runtime, "pairs of parts are needed");
  checked_dim(c, c.size(1), x.dim());
  TensorType out = fresh_type(c, x.dtype, x.sizes);
  out.requires_grad = x.requires_grad && grad_enabled();
  return out;
}

}  // namespace md
