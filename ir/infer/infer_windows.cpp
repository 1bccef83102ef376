// Inference rules of the kernels over windows.
#include "ir/infer/windows.h"

namespace md {

Size window_count(const InferCall& c, Size size, Size kernel, Size stride, Size padding, Size dilation,
                  bool ceil_mode) {
  const Size reach = dilation * (kernel - 1) + 1, room = size + padding * 2 - reach;
  const Size n = floordiv(ceil_mode ? room + stride - 1 : room, stride) + 1;
  const bool beyond = ceil_mode && !guard_lt((n - 1) * stride, size + padding);
  const Size count = beyond ? n - 1 : n;
  if (guard_lt(count, 1)) {
    c.fail(ErrorKind::Runtime, "size {} with padding {} has no room for a window that reaches over {}", to_string(size),
           to_string(padding), to_string(reach));
  }
  return count;
}

namespace {

TensorType windowed(const InferCall& c, SizeVec sizes) {
  const TensorType x = c.tensor(0);
  TensorType t = fresh_type(c, x.dtype, std::move(sizes));
  t.requires_grad = x.requires_grad && grad_enabled() && is_floating(t.dtype);
  return t;
}

std::vector<TensorType> with_positions(TensorType values) {
  TensorType positions = values;
  positions.dtype = DType::Int64;
  positions.requires_grad = false;
  return {std::move(values), std::move(positions)};
}

// The last dimensions replaced.
SizeVec with_last(const TensorType& x, const SizeVec& last) {
  SizeVec sizes(x.sizes.begin(), x.sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
  for (const Size s : last) sizes.push_back(s);
  return sizes;
}

void need_rank(const InferCall& c, std::size_t least) {
  if (c.rank(0) < static_cast<int>(least)) {
    c.fail(ErrorKind::Runtime, "sizes {} have fewer than {} dimensions", sizes_text(c.tensor(0).sizes), least);
  }
}

SizeVec pooled(const InferCall& c, const SizeVec& kernel, const SizeVec& stride, const SizeVec& padding,
               const SizeVec& dilation, bool ceil_mode) {
  const TensorType x = c.tensor(0);
  const std::size_t n = kernel.size();
  if (stride.size() != n || padding.size() != n || dilation.size() != n) {
    c.fail(ErrorKind::Runtime, "kernel, stride, padding and dilation must have one length");
  }
  need_rank(c, n);
  SizeVec last;
  for (std::size_t i = 0; i < n; ++i) {
    const Size size = x.sizes[x.sizes.size() - n + i];
    last.push_back(window_count(c, size, kernel[i], stride[i], padding[i], dilation[i], ceil_mode));
  }
  return with_last(x, last);
}

}  // namespace

TensorType infer_rule(ops::Convolution, const InferCall& c) {
  const TensorType x = c.tensor(0), w = c.tensor(1);
  const SizeVec stride = c.sizes(2), padding = c.sizes(3), dilation = c.sizes(4);
  const std::size_t n = stride.size();
  if (x.sizes.size() != n + 2 || w.sizes.size() != n + 2 || x.dtype != w.dtype) {
    c.fail(ErrorKind::Runtime, "sizes {} and {} or dtypes {} and {} do not fit", sizes_text(x.sizes),
           sizes_text(w.sizes), info(x.dtype).name, info(w.dtype).name);
  }
  if (!guard_eq(x.sizes[1], w.sizes[1] * c.size(5))) c.fail(ErrorKind::Runtime, "the channels do not fit");
  SizeVec sizes{x.sizes[0], w.sizes[0]};
  for (std::size_t i = 0; i < n; ++i) {
    sizes.push_back(window_count(c, x.sizes[i + 2], w.sizes[i + 2], stride[i], padding[i], dilation[i], false));
  }
  TensorType t = fresh_type(c, x.dtype, std::move(sizes));
  t.requires_grad = (x.requires_grad || w.requires_grad) && grad_enabled();
  return t;
}

std::vector<TensorType> infer_results(ops::MaxPool, const InferCall& c) {
  return with_positions(windowed(c, pooled(c, c.sizes(1), c.sizes(2), c.sizes(3), c.sizes(4), c.flag(5))));
}

TensorType infer_rule(ops::MaxPoolValues, const InferCall& c) {
  return windowed(c, pooled(c, c.sizes(1), c.sizes(2), c.sizes(3), c.sizes(4), c.flag(5)));
}

TensorType infer_rule(ops::AvgPool, const InferCall& c) {
  const SizeVec ones(c.sizes(1).size(), Size(1));
  return windowed(c, pooled(c, c.sizes(1), c.sizes(2), c.sizes(3), ones, c.flag(4)));
}

TensorType infer_rule(ops::AdaptiveAvgPool, const InferCall& c) {
  need_rank(c, c.sizes(1).size());
  return windowed(c, with_last(c.tensor(0), c.sizes(1)));
}

std::vector<TensorType> infer_results(ops::AdaptiveMaxPool, const InferCall& c) {
  need_rank(c, c.sizes(1).size());
  return with_positions(windowed(c, with_last(c.tensor(0), c.sizes(1))));
}

TensorType infer_rule(ops::Resample, const InferCall& c) {
  need_rank(c, c.sizes(1).size());
  return windowed(c, with_last(c.tensor(0), c.sizes(1)));
}

}  // namespace md
