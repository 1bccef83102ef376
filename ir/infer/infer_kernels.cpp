// Inference rules of creation, random, matrix and joining ops.
#include <cmath>

#include "ir/core/scalar_builder.h"
#include "ir/infer/infer.h"
#include "ir/infer/memory_formats.h"
#include "ir/infer/promotion.h"
#include "ir/infer/unbacked.h"
#include "registry/ops/kernels.h"

namespace md {
namespace {

SizeVec created_sizes(const InferCall& c, int param) {
  SizeVec sizes = c.sizes(param);
  for (const Size s : sizes) {
    if (assumed_size(s)) continue;
    if (guard_lt(s, 0)) {
      c.fail(ErrorKind::Runtime, "sizes {} hold a negative dimension", sizes_text(sizes));
    }
  }
  return sizes;
}

TensorType created(const InferCall& c, DType otherwise) {
  const DType t = chosen_dtype(c, otherwise);
  return fresh_type(c, t, created_sizes(c, 0));
}

TensorType created_like(const InferCall& c) {
  const TensorType x = c.tensor(0);
  TensorType t = fresh_type(c, chosen_dtype(c, x.dtype), x.sizes);
  t.strides = strides_like(x, c.args.back());
  return t;
}

TensorType filled(const InferCall& c, TensorType t) {
  check_number_fits(c.op, c.arg(1), t.dtype);
  return t;
}

TensorType random(const InferCall& c) {
  TensorType t = created(c, default_dtype());
  if (!is_floating(t.dtype)) c.fail(ErrorKind::NotImplemented, "not defined for {}", info(t.dtype).name);
  return t;
}

double as_double(const Arg& a) {
  if (const auto* b = a.get_if<bool>()) return *b;
  if (const auto* d = a.get_if<double>()) return *d;
  return static_cast<double>(hint(a.get<Size>()));
}

Size whole(const Arg& a) {
  if (const auto* d = a.get_if<double>()) return convert_value<std::int64_t>(*d);
  return a.is<bool>() ? Size(a.get<bool>()) : a.get<Size>();
}

// ceil((end - start) / step), exactly for ints.
Size arange_length(const InferCall& c, DType t) {
  // Into int64, torch truncates the bounds and the step first.
  if (t == DType::Int64 || (!c.arg(0).is<double>() && !c.arg(1).is<double>() && !c.arg(2).is<double>())) {
    const Size start = whole(c.arg(0)), end = whole(c.arg(1)), step = whole(c.arg(2));
    if (guard_eq(step, 0)) c.fail(ErrorKind::Runtime, "step must be nonzero");
    const bool up = guard_lt(0, step);
    if (up ? guard_lt(end, start) : guard_lt(start, end)) {
      c.fail(ErrorKind::Runtime, "from {} to {} leads away from step {}", to_string(start), to_string(end),
             to_string(step));
    }
    return up ? floordiv(end - start + step - 1, step) : floordiv(start - end - step - 1, 0 - step);
  }
  const double start = as_double(c.arg(0)), end = as_double(c.arg(1)), step = as_double(c.arg(2));
  if (step == 0) c.fail(ErrorKind::Runtime, "step must be nonzero");
  if (!std::isfinite(start) || !std::isfinite(end))
    c.fail(ErrorKind::Runtime, "unsupported range: {} -> {}", start, end);
  if ((step > 0 && end < start) || (step < 0 && end > start)) {
    c.fail(ErrorKind::Runtime, "from {} to {} leads away from step {}", start, end, step);
  }
  const double length = std::ceil((end - start) / step);
  if (!(length < 9e18)) c.fail(ErrorKind::Runtime, "the range has too many elements");
  return static_cast<std::int64_t>(length);
}

void need_matrix_dtypes(const InferCall& c, const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) {
    c.fail(ErrorKind::Runtime, "expected both operands to have one dtype, but got {} and {}", info(a.dtype).name,
           info(b.dtype).name);
  }
  if (a.dtype == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
}

TensorType product_type(const InferCall& c, const TensorType& a, const TensorType& b, SizeVec sizes) {
  TensorType t = fresh_type(c, a.dtype, std::move(sizes));
  t.requires_grad = (a.requires_grad || b.requires_grad) && grad_enabled();
  return t;
}

}  // namespace

TensorType infer_rule(ops::Empty, const InferCall& c) {
  TensorType t = created(c, default_dtype());
  if (const auto* f = c.args.back().get_if<MemoryFormat>()) {
    if (*f == MemoryFormat::Preserve) c.fail(ErrorKind::Runtime, "unsupported memory format {}", info(*f).name);
    t.strides = format_strides(*f, t.sizes);
  }
  return t;
}
TensorType infer_rule(ops::Zeros, const InferCall& c) { return created(c, default_dtype()); }
TensorType infer_rule(ops::Ones, const InferCall& c) { return created(c, default_dtype()); }
TensorType infer_rule(ops::Full, const InferCall& c) { return filled(c, created(c, number_dtype(c.arg(1)))); }
TensorType infer_rule(ops::FullLike, const InferCall& c) { return filled(c, created_like(c)); }
TensorType infer_rule(ops::EmptyLike, const InferCall& c) { return created_like(c); }
TensorType infer_rule(ops::Rand, const InferCall& c) { return random(c); }
TensorType infer_rule(ops::Randn, const InferCall& c) { return random(c); }

TensorType infer_rule(ops::Arange, const InferCall& c) {
  bool floats = false;
  for (int i = 0; i < 3; ++i) floats |= c.arg(i).is<double>();
  const DType t = chosen_dtype(c, floats ? default_dtype() : DType::Int64);
  if (t == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool");
  return fresh_type(c, t, SizeVec{arange_length(c, t)});
}

TensorType infer_rule(ops::Linspace, const InferCall& c) {
  const Size steps = c.size(2);
  if (guard_lt(steps, 0)) c.fail(ErrorKind::Runtime, "number of steps must be non-negative");
  const DType t = chosen_dtype(c, default_dtype());
  if (t == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool");
  return fresh_type(c, t, SizeVec{steps});
}

TensorType infer_rule(ops::Eye, const InferCall& c) {
  const Size n = c.size(0), m = c.arg(1).is_none() ? n : c.size(1);
  if (guard_lt(n, 0)) c.fail(ErrorKind::Runtime, "n must be greater or equal to 0, got {}", to_string(n));
  if (guard_lt(m, 0)) c.fail(ErrorKind::Runtime, "m must be greater or equal to 0, got {}", to_string(m));
  const DType t = chosen_dtype(c, default_dtype());
  return fresh_type(c, t, SizeVec{n, m});
}

TensorType infer_rule(ops::Randint, const InferCall& c) {
  const Size low = c.size(0), high = c.size(1);
  if (!guard_lt(low, high)) {
    c.fail(ErrorKind::Runtime, "from {} up to {} holds no integer", to_string(low), to_string(high));
  }
  const DType t = chosen_dtype(c, DType::Int64);
  if (is_integral(t) && (guard_lt(low, integer_min(t)) || guard_lt(integer_max(t), high - 1))) {
    c.fail(ErrorKind::Runtime, "from {} up to {} is more than {} holds", to_string(low), to_string(high), info(t).name);
  }
  return fresh_type(c, t, created_sizes(c, 2));
}

TensorType infer_rule(ops::Mm, const InferCall& c) {
  const TensorType a = c.tensor(0), b = c.tensor(1);
  if (a.dim() != 2 || b.dim() != 2) {
    c.fail(ErrorKind::Runtime, "two matrices are needed, not sizes {} and {}", sizes_text(a.sizes),
           sizes_text(b.sizes));
  }
  if (!guard_eq(a.sizes[1], b.sizes[0])) {
    c.fail(ErrorKind::Runtime, "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", to_string(a.sizes[0]),
           to_string(a.sizes[1]), to_string(b.sizes[0]), to_string(b.sizes[1]));
  }
  need_matrix_dtypes(c, a, b);
  return product_type(c, a, b, SizeVec{a.sizes[0], b.sizes[1]});
}

TensorType infer_rule(ops::Bmm, const InferCall& c) {
  const TensorType a = c.tensor(0), b = c.tensor(1);
  if (a.dim() != 3 || b.dim() != 3) {
    c.fail(ErrorKind::Runtime, "two batches of matrices are needed, not sizes {} and {}", sizes_text(a.sizes),
           sizes_text(b.sizes));
  }
  if (!guard_eq(a.sizes[0], b.sizes[0]) || !guard_eq(a.sizes[2], b.sizes[1])) {
    c.fail(ErrorKind::Runtime, "sizes {} and {} cannot be multiplied", sizes_text(a.sizes), sizes_text(b.sizes));
  }
  need_matrix_dtypes(c, a, b);
  return product_type(c, a, b, SizeVec{a.sizes[0], a.sizes[1], b.sizes[2]});
}

TensorType infer_rule(ops::BatchedMm, const InferCall& c) {
  const TensorType a = c.tensor(0), b = c.tensor(1);
  SizeVec sizes = a.sizes;
  sizes.back() = b.sizes.back();
  return product_type(c, a, b, std::move(sizes));
}

namespace {
// torch lets empty 1-d tensors stand in any cat.
bool skipped_in_cat(const TensorType& t) { return t.dim() == 1 && t.sizes[0].is_const(0); }
}  // namespace

// The format that all of them are in, else contiguous_format.
static MemoryFormat format_of_all(std::span<const Arg> tensors) {
  const TensorType first = type_of(tensors[0]);
  if (first.dim() < 4) return MemoryFormat::Contiguous;
  const MemoryFormat f = suggested_format(first);
  for (std::size_t i = 1; i < tensors.size() && f != MemoryFormat::Contiguous; ++i)
    if (suggested_format(type_of(tensors[i])) != f) return MemoryFormat::Contiguous;
  return f;
}

TensorType infer_rule(ops::Cat, const InferCall& c) {
  const auto& items = c.arg(0).get<ListArg>().items;
  if (items.empty()) c.fail(ErrorKind::Value, "a non-empty list of tensors is needed");
  TensorType out = type_of(items[0]);
  DType dtype = out.dtype;
  bool grad = false, chosen = false;
  int d = 0;
  for (const Arg& a : items) {
    const TensorType t = type_of(a);
    if (t.dim() == 0) c.fail(ErrorKind::Runtime, "0-d tensors cannot be joined");
    dtype = promoted(dtype, t.dtype);
    grad |= t.requires_grad;
    if (skipped_in_cat(t)) continue;
    if (!chosen) {
      out = t;
      d = checked_dim(c, c.size(1), t.dim());
      chosen = true;
      continue;
    }
    if (t.dim() != out.dim()) {
      c.fail(ErrorKind::Runtime, "tensors of {} and {} dimensions cannot be joined", out.dim(), t.dim());
    }
    for (int i = 0; i < t.dim(); ++i) {
      if (i != d && !guard_eq(t.sizes[i], out.sizes[i])) {
        c.fail(ErrorKind::Runtime, "sizes {} and {} differ at dimension {}, along which they are not joined",
               sizes_text(out.sizes), sizes_text(t.sizes), i);
      }
    }
    out.sizes[d] = out.sizes[d] + t.sizes[d];
  }
  if (!chosen) checked_dim(c, c.size(1), out.dim());
  TensorType result = fresh_type(c, dtype, out.sizes);
  if (const MemoryFormat f = format_of_all(items); f != MemoryFormat::Contiguous && info(f).rank == result.dim())
    result.strides = format_strides(f, result.sizes);
  result.requires_grad = grad && grad_enabled() && is_differentiable(dtype);
  return result;
}

TensorType infer_rule(ops::WriteView, const InferCall& c) {
  const TensorType base = c.tensor(0), src = c.tensor(1);
  const SizeVec strides = c.sizes(2);
  if (src.dtype != base.dtype) c.fail(ErrorKind::Runtime, "base and source differ in dtype");
  if (strides.size() != src.sizes.size()) c.fail(ErrorKind::Runtime, "as many strides as dimensions are needed");
  Size last = c.size(3), count = 1;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (guard_lt(strides[d], 0)) c.fail(ErrorKind::Runtime, "strides must not be negative");
    last = last + (src.sizes[d] - 1) * strides[d];
    count = count * src.sizes[d];
  }
  if (!guard_eq(count, 0) && (guard_lt(c.size(3), 0) || !guard_lt(last, product(base.sizes)))) {
    c.fail(ErrorKind::Runtime, "the source reaches outside the base");
  }
  return product_type(c, base, src, base.sizes);
}

}  // namespace md
