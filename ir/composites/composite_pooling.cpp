// Composite pooling, windows as dimensions, channels as positions.
#include "ir/infer/expansion.h"
#include "ir/infer/windows.h"

namespace md {

namespace {

using std::size_t;

// A parameter for each of n dimensions: one number stands for all.
SizeVec spread(const Expansion& e, const Arg& given, size_t n, const char* name) {
  SizeVec v;
  for (const Arg& a : given.get<ListArg>().items) v.push_back(a.get<Size>());
  if (v.size() == 1) v = SizeVec(n, v[0]);
  if (v.size() != n) {
    e.fail(ErrorKind::Runtime, "{} must either be a single int, or a tuple of {} ints, not {}", name, n, sizes_text(v));
  }
  return v;
}

bool not_given(const Arg& a) {
  const auto* l = a.get_if<ListArg>();
  return !l || l->items.empty();
}

struct Pooling {
  SizeVec kernel, stride, padding, dilation;
  bool ceil_mode;
};

// Arguments 1..3 are kernel, stride (the kernel's by default) and padding.
Pooling pooling(const Expansion& e, size_t n, int dilation, int ceil_mode) {
  Pooling p{.kernel = spread(e, e.arg(1), n, "kernel_size"),
            .stride = {},
            .padding = spread(e, e.arg(3), n, "padding"),
            .dilation = dilation < 0 ? SizeVec(n, Size(1)) : spread(e, e.arg(dilation), n, "dilation"),
            .ceil_mode = e.flag(ceil_mode)};
  p.stride = not_given(e.arg(2)) ? p.kernel : spread(e, e.arg(2), n, "stride");
  const TensorType x = e.tensor(0);
  const int rank = static_cast<int>(n);
  if (x.dim() != rank + 1 && x.dim() != rank + 2) {
    e.fail(ErrorKind::Runtime, "expected {}D or {}D (batch mode) input, but got sizes {}", rank + 1, rank + 2,
           sizes_text(x.sizes));
  }
  for (size_t i = 0; i < n; ++i) {
    if (guard_lt(p.kernel[i], 1) || guard_lt(p.stride[i], 1) || guard_lt(p.dilation[i], 1)) {
      e.fail(ErrorKind::Runtime, "kernel size {}, stride {} and dilation {} must be greater than zero",
             sizes_text(p.kernel), sizes_text(p.stride), sizes_text(p.dilation));
    }
    if (guard_lt(p.padding[i], 0) || guard_lt(floordiv(p.dilation[i] * (p.kernel[i] - 1) + 1, 2), p.padding[i])) {
      e.fail(ErrorKind::Runtime,
             "padding must be between 0 and half of the kernel's reach, but kernel is {} and padding {}",
             sizes_text(p.kernel), sizes_text(p.padding));
    }
    const Size size = x.sizes[x.sizes.size() - n + i];
    if (guard_lt(size, 1)) e.fail(ErrorKind::Runtime, "sizes {} hold an empty dimension", sizes_text(x.sizes));
    window_count(e, size, p.kernel[i], p.stride[i], p.padding[i], p.dilation[i], p.ceil_mode);
  }
  return p;
}

Arg max_pool(const Expansion& e, size_t n, OpId kernel) {
  if (e.tensor(0).dtype == DType::Bool) e.fail(ErrorKind::NotImplemented, "not defined for bool");
  const Pooling p = pooling(e, n, 4, 5);
  return e.call(kernel, {e.arg(0), sizes_arg(p.kernel), sizes_arg(p.stride), sizes_arg(p.padding),
                         sizes_arg(p.dilation), p.ceil_mode});
}

Arg largest(const Expansion& e, size_t n) {
  if (const DType t = e.tensor(0).dtype; n == 1 && !is_floating(t)) {
    e.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  }
  // The positions cost little more than the values alone, less than finding them again for the backward pass.
  if (e.tensor(0).requires_grad && grad_enabled()) return max_pool(e, n, id::MaxPool).get<ListArg>().items.at(0);
  return max_pool(e, n, id::MaxPoolValues);
}
Arg as_tuple(Arg results) {
  ListArg l = results.get<ListArg>();
  l.tuple = true;
  return l;
}

Arg avg_pool(const Expansion& e, size_t n, const Arg& divisor) {
  const DType t = e.tensor(0).dtype;
  if (!is_floating(t) && t != DType::Int64) e.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  const Pooling p = pooling(e, n, -1, 4);
  if (!divisor.is_none() && guard_eq(divisor.get<Size>(), 0)) e.fail(ErrorKind::Runtime, "divisor must be not zero");
  return e.call(id::AvgPool, {e.arg(0), sizes_arg(p.kernel), sizes_arg(p.stride), sizes_arg(p.padding), p.ceil_mode,
                              e.flag(5), divisor});
}

}  // namespace

Arg expand_rule(ops::MaxPool1d, const Expansion& e) { return largest(e, 1); }
Arg expand_rule(ops::MaxPool2d, const Expansion& e) { return largest(e, 2); }
Arg expand_rule(ops::MaxPool3d, const Expansion& e) { return largest(e, 3); }
Arg expand_rule(ops::MaxPool1dWithIndices, const Expansion& e) { return as_tuple(max_pool(e, 1, id::MaxPool)); }
Arg expand_rule(ops::MaxPool2dWithIndices, const Expansion& e) { return as_tuple(max_pool(e, 2, id::MaxPool)); }
Arg expand_rule(ops::MaxPool3dWithIndices, const Expansion& e) { return as_tuple(max_pool(e, 3, id::MaxPool)); }
Arg expand_rule(ops::AvgPool1d, const Expansion& e) { return avg_pool(e, 1, NoneArg{}); }
Arg expand_rule(ops::AvgPool2d, const Expansion& e) { return avg_pool(e, 2, e.arg(6)); }
Arg expand_rule(ops::AvgPool3d, const Expansion& e) { return avg_pool(e, 3, e.arg(6)); }

// --- Adaptive --------------------------------------------------------------------------------------------------------

namespace {

// Sizes from an int or a list in which None keeps the operand's.
SizeVec output_sizes(const Expansion& e, size_t n) {
  const TensorType x = e.tensor(0);
  const int rank = static_cast<int>(n);
  if (x.dim() != rank + 1 && x.dim() != rank + 2) {
    e.fail(ErrorKind::Runtime, "expected {}D or {}D input, but got sizes {}", rank + 1, rank + 2, sizes_text(x.sizes));
  }
  if (!is_floating(x.dtype)) e.fail(ErrorKind::NotImplemented, "not defined for {}", info(x.dtype).name);
  std::vector<Arg> items(n, e.arg(1));
  if (const auto* l = e.arg(1).get_if<ListArg>())
    items = l->items.size() == 1 ? std::vector<Arg>(n, l->items[0]) : l->items;
  if (items.size() != n) e.fail(ErrorKind::Runtime, "output_size must have {} elements, not {}", n, items.size());
  SizeVec sizes;
  for (size_t i = 0; i < n; ++i) {
    const Size own = x.sizes[x.sizes.size() - n + i];
    const auto* s = items[i].get_if<Size>();
    if (!s && !items[i].is_none()) {
      throw OpError(ErrorKind::Type, e.op.public_name + "(): output_size must hold ints or None");
    }
    sizes.push_back(s ? *s : own);
    if (guard_lt(sizes.back(), 0)) {
      e.fail(ErrorKind::Runtime, "elements of output_size must not be negative, but are {}", sizes_text(sizes));
    }
    if (guard_eq(own, 0)) e.fail(ErrorKind::Runtime, "sizes {} hold an empty dimension", sizes_text(x.sizes));
  }
  return sizes;
}

Arg adaptive_avg_pool(const Expansion& e, size_t n) {
  const SizeVec sizes = output_sizes(e, n);
  bool whole = true;
  ListArg dims;
  for (size_t i = 0; i < n; ++i) {
    whole = whole && sizes[i].is_const(1);
    dims.items.emplace_back(-static_cast<int>(n - i));
  }
  if (whole) return e.call(id::Mean, {e.arg(0), dims, true});
  return e.call(id::AdaptiveAvgPool, {e.arg(0), sizes_arg(sizes)});
}

Arg adaptive_max_pool(const Expansion& e, size_t n) {
  return as_tuple(e.call(id::AdaptiveMaxPool, {e.arg(0), sizes_arg(output_sizes(e, n))}));
}

}  // namespace

Arg expand_rule(ops::AdaptiveAvgPool1d, const Expansion& e) { return adaptive_avg_pool(e, 1); }
Arg expand_rule(ops::AdaptiveAvgPool2d, const Expansion& e) { return adaptive_avg_pool(e, 2); }
Arg expand_rule(ops::AdaptiveMaxPool1d, const Expansion& e) { return adaptive_max_pool(e, 1); }
Arg expand_rule(ops::AdaptiveMaxPool2dWithIndices, const Expansion& e) { return adaptive_max_pool(e, 2); }

// --- Windows as dimensions -------------------------------------------------------------------------------------------

namespace {

struct Columns {
  SizeVec kernel, stride, padding, dilation, counts;
};

void refuse_integers(const Expansion& e) {
  if (const DType t = e.tensor(0).dtype; is_integral(t)) {
    e.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  }
}

// Arguments from `first` on: kernel, dilation, padding, stride; `sizes` are those the windows lie in.
Columns columns(const Expansion& e, int first, const SizeVec& sizes) {
  refuse_integers(e);
  Columns c{.kernel = spread(e, e.arg(first), 2, "kernel_size"),
            .stride = spread(e, e.arg(first + 3), 2, "stride"),
            .padding = spread(e, e.arg(first + 2), 2, "padding"),
            .dilation = spread(e, e.arg(first + 1), 2, "dilation"),
            .counts = {}};
  for (size_t i = 0; i < 2; ++i) {
    if (guard_lt(c.kernel[i], 1) || guard_lt(c.stride[i], 1) || guard_lt(c.dilation[i], 1) ||
        guard_lt(c.padding[i], 0)) {
      e.fail(ErrorKind::Runtime,
             "kernel size {}, stride {} and dilation {} must be greater than zero, padding {} not "
             "negative",
             sizes_text(c.kernel), sizes_text(c.stride), sizes_text(c.dilation), sizes_text(c.padding));
    }
    c.counts.push_back(window_count(e, sizes[i], c.kernel[i], c.stride[i], c.padding[i], c.dilation[i], false));
  }
  return c;
}

}  // namespace

Arg expand_rule(ops::Im2Col, const Expansion& e) {
  const TensorType given = e.tensor(0);
  if (given.dim() != 3 && given.dim() != 4) {
    e.fail(ErrorKind::Runtime, "expected 3D or 4D (batch mode) input, but got sizes {}", sizes_text(given.sizes));
  }
  const bool batched = given.dim() == 4;
  const Arg input = batched ? e.arg(0) : e.call(id::Unsqueeze, {e.arg(0), 0});
  const TensorType x = type_of(input);
  const Columns c = columns(e, 1, SizeVec{x.sizes[2], x.sizes[3]});
  const Arg wide = e.call(id::Compact, {padded(e, input, c.padding, c.padding, 0)});
  const TensorType t = type_of(wide);
  // Every window is a view with strides of its own.
  const SizeVec sizes{x.sizes[0], x.sizes[1], c.kernel[0], c.kernel[1], c.counts[0], c.counts[1]};
  const SizeVec strides{t.strides[0],
                        t.strides[1],
                        t.strides[2] * c.dilation[0],
                        t.strides[3] * c.dilation[1],
                        t.strides[2] * c.stride[0],
                        t.strides[3] * c.stride[1]};
  const Arg windows = e.call(id::AsStrided, {wide, sizes_arg(sizes), sizes_arg(strides)});
  SizeVec joined{x.sizes[0], x.sizes[1] * c.kernel[0] * c.kernel[1], c.counts[0] * c.counts[1]};
  const Arg result = reshaped(e, e.call(id::Compact, {windows}), joined);
  return batched ? result : e.call(id::Select, {result, 0, 0});
}

Arg expand_rule(ops::Col2Im, const Expansion& e) {
  const TensorType given = e.tensor(0);
  if (given.dim() != 2 && given.dim() != 3) {
    e.fail(ErrorKind::Runtime, "expected 2D or 3D (batch mode) input, but got sizes {}", sizes_text(given.sizes));
  }
  const bool batched = given.dim() == 3;
  const Arg input = batched ? e.arg(0) : e.call(id::Unsqueeze, {e.arg(0), 0});
  const TensorType x = type_of(input);
  const SizeVec out = spread(e, e.arg(1), 2, "output_size");
  const Columns c = columns(e, 2, out);
  const std::int64_t rows = fixed_size(c.kernel[0]), cells = fixed_size(c.kernel[1]);
  if (!guard_eq(mod(x.sizes[1], rows * cells), 0) || !guard_eq(x.sizes[2], c.counts[0] * c.counts[1])) {
    e.fail(ErrorKind::Runtime, "input of size {} does not hold windows {} of an output of size {}: expected {} columns",
           sizes_text(x.sizes), sizes_text(c.kernel), sizes_text(out), to_string(c.counts[0] * c.counts[1]));
  }
  const Size channels = floordiv(x.sizes[1], rows * cells);
  const Arg windows = reshaped(e, input, SizeVec{x.sizes[0], channels, rows, cells, c.counts[0], c.counts[1]});
  const SizeVec wide{x.sizes[0], channels, out[0] + c.padding[0] * 2, out[1] + c.padding[1] * 2};
  const SizeVec steps = row_major_strides(wide);
  const SizeVec strides{steps[0], steps[1], steps[2] * c.stride[0], steps[3] * c.stride[1]};
  const Arg zeros = e.call(id::Zeros, {sizes_arg(wide), x.dtype});
  Arg total = zeros;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cells; ++j) {
      const Arg part = e.call(id::Select, {e.call(id::Select, {windows, 2, i}), 2, j});
      const Size start = c.dilation[0] * i * steps[2] + c.dilation[1] * j * steps[3];
      const Arg placed = e.call(id::WriteView, {zeros, part, sizes_arg(strides), start});
      total = e.call(id::Add, {total, placed});
    }
  }
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<size_t>(d);
    if (!guard_eq(c.padding[at], 0)) total = e.call(id::Narrow, {total, d + 2, c.padding[at], out[at]});
  }
  const Arg result = e.call(id::Contiguous, {total});
  return batched ? result : e.call(id::Select, {result, 0, 0});
}

// --- Channels as positions -------------------------------------------------------------------------------------------

namespace {

// The sizes before the last three, those, and a factor, checked.
struct Image {
  SizeVec batch;
  Size channels, height, width;
};
Image image(const Expansion& e) {
  const TensorType x = e.tensor(0);
  if (x.dim() < 3) {
    e.fail(ErrorKind::Runtime, "expects input to have at least 3 dimensions, but got sizes {}", sizes_text(x.sizes));
  }
  if (guard_lt(e.size(1), 1)) e.fail(ErrorKind::Runtime, "expects a positive factor, but got {}", to_string(e.size(1)));
  const size_t n = x.sizes.size();
  return {SizeVec(x.sizes.begin(), x.sizes.end() - 3), x.sizes[n - 3], x.sizes[n - 2], x.sizes[n - 1]};
}

// `batch` dimensions that stay, then the others in this order.
Arg reordered(const Expansion& e, const Arg& x, size_t batch, std::initializer_list<int> order) {
  ListArg dims;
  for (size_t i = 0; i < batch; ++i) dims.items.emplace_back(static_cast<int>(i));
  for (const int d : order) dims.items.emplace_back(static_cast<int>(batch) + d);
  return e.call(id::Permute, {x, dims});
}

SizeVec followed(SizeVec sizes, std::initializer_list<Size> more) {
  for (const Size s : more) sizes.push_back(s);
  return sizes;
}

}  // namespace

Arg expand_rule(ops::PixelShuffle, const Expansion& e) {
  const Image x = image(e);
  const Size r = e.size(1), area = r * r;
  if (!guard_eq(mod(x.channels, area), 0)) {
    e.fail(ErrorKind::Runtime,
           "expects its input's channels to be divisible by the square of upscale_factor, but {} is "
           "not divisible by {}",
           to_string(x.channels), to_string(area));
  }
  const Size c = floordiv(x.channels, area);
  const Arg apart = reshaped(e, e.arg(0), followed(x.batch, {c, r, r, x.height, x.width}));
  return reshaped(e, reordered(e, apart, x.batch.size(), {0, 3, 1, 4, 2}),
                  followed(x.batch, {c, x.height * r, x.width * r}));
}

Arg expand_rule(ops::PixelUnshuffle, const Expansion& e) {
  const Image x = image(e);
  const Size r = e.size(1);
  if (!guard_eq(mod(x.height, r), 0) || !guard_eq(mod(x.width, r), 0)) {
    e.fail(ErrorKind::Runtime,
           "expects height and width to be divisible by downscale_factor, but {} and {} are not both "
           "divisible by {}",
           to_string(x.height), to_string(x.width), to_string(r));
  }
  const Size h = floordiv(x.height, r), w = floordiv(x.width, r);
  const Arg apart = reshaped(e, e.arg(0), followed(x.batch, {x.channels, h, r, w, r}));
  return reshaped(e, reordered(e, apart, x.batch.size(), {0, 2, 4, 1, 3}),
                  followed(x.batch, {x.channels * r * r, h, w}));
}

Arg expand_rule(ops::ChannelShuffle, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const Size groups = e.size(1);
  if (x.dim() < 3) {
    e.fail(ErrorKind::Runtime, "expects input with > 2 dims, but got sizes {}", sizes_text(x.sizes));
  }
  if (guard_lt(groups, 1) || !guard_eq(mod(x.sizes[1], groups), 0)) {
    e.fail(ErrorKind::Runtime, "{} channels cannot be divided into {} groups", to_string(x.sizes[1]),
           to_string(groups));
  }
  const Size inner = product(SizeVec(x.sizes.begin() + 2, x.sizes.end()));
  const Arg apart = reshaped(e, e.arg(0), SizeVec{x.sizes[0], groups, floordiv(x.sizes[1], groups), inner});
  return reshaped(e, e.call(id::Transpose, {apart, 1, 2}), x.sizes);
}

}  // namespace md
