// Convolution and pooling.
#include "backend/device_blocks/kernel_calls.h"
#include "backend/device_blocks/tensor_cores.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

Word item(const DeviceCall& c, std::size_t arg, std::size_t i) {
  return c.args[arg].get<ListArg>().items[i].get<Size>().value();
}

constexpr WindowAxis kNoAxis{1, 1, 1, 1, 0, 1, 0, 0};

// Sizes and strides of the last `n` dimensions of operand and result; axes a call does not have stand in front.
void set_axes(const TensorImpl& x, const TensorImpl& out, std::size_t n, WindowAxis* axes) {
  for (std::size_t k = 0; k < kWindowDims; ++k) axes[k] = kNoAxis;
  const std::size_t outer = x.sizes.size() - n;
  for (std::size_t i = 0; i < n; ++i) {
    WindowAxis& d = axes[kWindowDims - n + i];
    d.in = x.sizes[outer + i], d.step = x.strides[outer + i];
    d.out = out.sizes[outer + i], d.out_step = out.strides[outer + i];
  }
}

DimVec leading(const DimVec& v, std::size_t n) { return DimVec(v.begin(), v.end() - static_cast<std::ptrdiff_t>(n)); }

bool pool(const DeviceCall& c, std::string_view kernel, WindowParams& p, std::size_t n) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0], &places = *c.out.back();
  const std::string entry = by_dtype(kernel, x.dtype);
  const DimVec from = leading(x.strides, n), to = leading(out.strides, n), positions = leading(places.strides, n);
  if (!has_kernel(entry) || !lay_out(leading(x.sizes, n), p.planes,
                                     {{from, p.from.strides}, {to, p.to.strides}, {positions, p.positions.strides}}))
    return false;
  p.from.data = address_of(x), p.to.data = address_of(out);
  if (c.out.size() > 1) p.positions.data = address_of(places);
  for (std::size_t i = 0; i < n; ++i)
    p.positions_step[kWindowDims - n + i] = places.strides[places.sizes.size() - n + i];
  launch(entry, x.device(), out.numel(), p);
  return true;
}

std::size_t window_rank(const DeviceCall& c) { return c.args[1].get<ListArg>().items.size(); }

bool pool_windows(const DeviceCall& c, bool largest) {
  WindowParams p{};
  const std::size_t n = window_rank(c);
  set_axes(c.tensor(0), *c.out[0], n, p.axes);
  for (std::size_t i = 0; i < n; ++i) {
    WindowAxis& d = p.axes[kWindowDims - n + i];
    d.kernel = item(c, 1, i), d.stride = item(c, 2, i), d.padding = item(c, 3, i);
    if (largest) d.dilation = item(c, 4, i);
  }
  if (!largest) {
    p.divisor = c.args[6].is_none() ? 0 : c.whole(6);
    p.with_padding = c.args[5].get<bool>();
  }
  return pool(c, largest ? "max_pool" : "avg_pool", p, n);
}

bool pool_adaptively(const DeviceCall& c, bool largest) {
  WindowParams p{};
  const std::size_t n = window_rank(c);
  set_axes(c.tensor(0), *c.out[0], n, p.axes);
  p.adaptive = 1;
  return pool(c, largest ? "max_pool" : "avg_pool", p, n);
}

struct ConvolutionTiles {
  Word depth, windows;  // elements of a filter; results of one
  Word of_a_group(Word edge, Word per_group) const {
    return ((per_group + edge - 1) / edge) * ((windows + edge - 1) / edge);
  }
};

ConvolutionTiles tiles_of(const ConvolutionParams& p) {
  ConvolutionTiles t{p.channels, p.batch};
  for (const WindowAxis& d : p.axes) t.depth *= d.kernel, t.windows *= d.out;
  return t;
}

// Filters one behind the other, as kernels with tiles read them, which count what a filter holds in 32 bits; null: they
// do not.
TensorRef filters_in_tiles(const DeviceCall& c, const ConvolutionTiles& t, ConvolutionParams& p) {
  if (t.depth >= Word{1} << 30) return nullptr;
  TensorRef w = contiguous(*c.args[1].get_if<TensorRef>());
  if (w) p.w = address_of(*w), p.w_filter = t.depth;
  return w;
}

// Where a program allows it and a tile is not mostly empty; float32 alone, in which halves are computed too.
bool convolve_on_tensor_cores(const DeviceCall& c, ConvolutionParams p) {
  constexpr Word kFewestFilters = 8, kFewestElements = 8;
  if (!is_allowed(kTf32Convolutions)) return false;
  const std::string entry = tensor_core_entry("mma_convolution_64", c.out[0]->dtype, c.device());
  const ConvolutionTiles t = tiles_of(p);
  if (entry.empty() || p.per_group < kFewestFilters || t.depth < kFewestElements) return false;
  const TensorRef w = filters_in_tiles(c, t, p);
  if (!w) return false;
  launch(entry, c.device(), t.of_a_group(kMmaSmallTile, p.per_group) * (p.filters / p.per_group) * kMmaSmallThreads, p,
         kMmaSmallThreads);
  return true;
}

// In tiles, a result takes less than a tenth of the instructions that it takes by itself.
bool convolve_in_tiles(const DeviceCall& c, ConvolutionParams p) {
  constexpr Word kWorthwhile = 10;
  const ConvolutionTiles t = tiles_of(p);
  const Word tiles = t.of_a_group(kProductTile, p.per_group);
  if (t.windows == 0 || tiles * kProductTile * kProductTile >= kWorthwhile * p.per_group * t.windows) return false;
  const TensorRef w = filters_in_tiles(c, t, p);
  if (!w) return false;
  launch(by_dtype("convolution_tiles", c.out[0]->dtype), c.device(),
         tiles * (p.filters / p.per_group) * kProductThreads, p, kProductThreads);
  return true;
}

bool convolve(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &w = c.tensor(1), &out = *c.out[0];
  const std::string entry = by_dtype("convolution", x.dtype);
  if (!has_kernel(entry) || w.dtype != x.dtype || out.dtype != x.dtype) return false;
  ConvolutionParams p{};
  const std::size_t n = x.sizes.size() - 2;
  set_axes(x, out, n, p.axes);
  for (std::size_t i = 0; i < n; ++i) {
    WindowAxis& d = p.axes[kWindowDims - n + i];
    d.kernel = w.sizes[i + 2], d.stride = item(c, 2, i), d.padding = item(c, 3, i), d.dilation = item(c, 4, i);
    p.weight_step[kWindowDims - n + i] = w.strides[i + 2];
  }
  p.batch = out.sizes[0], p.filters = out.sizes[1], p.channels = w.sizes[1];
  p.per_group = w.sizes[0] / c.whole(5);
  p.x = address_of(x), p.w = address_of(w), p.to = address_of(out);
  p.x_batch = x.strides[0], p.x_channel = x.strides[1], p.w_filter = w.strides[0], p.w_channel = w.strides[1];
  p.to_batch = out.strides[0], p.to_filter = out.strides[1];
  if (convolve_on_tensor_cores(c, p) || convolve_in_tiles(c, p)) return true;
  launch(entry, x.device(), out.numel(), p);
  return true;
}

// How far the operand's positions go for one of the result's, in the working dtype W.
template <class W>
double ratio_of(const WindowAxis& d, bool aligned, const Arg& scale) {
  if (aligned) return d.out > 1 ? static_cast<W>(d.in - 1) / static_cast<W>(d.out - 1) : W(0);
  if (scale.is<double>() && scale.get<double>() > 0) return static_cast<W>(1.0 / scale.get<double>());
  return static_cast<W>(d.in) / static_cast<W>(d.out);
}

bool resample(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::string entry = by_dtype("resample", x.dtype);
  const std::string& mode = c.args[2].get<std::string>();
  ResampleParams p{};
  const std::size_t n = window_rank(c);
  set_axes(x, out, n, p.axes);
  p.aligned = c.args[3].get<bool>();
  p.mode = static_cast<Word>(mode == "linear"    ? Resampling::Linear
                             : mode == "nearest" ? Resampling::Nearest
                                                 : Resampling::NearestExact);
  const auto& scales = c.args[4].get<ListArg>().items;
  for (std::size_t k = 0; k < kWindowDims; ++k) {
    const Arg scale = k + n < kWindowDims ? Arg() : scales[k + n - kWindowDims];
    p.ratio[k] = x.dtype == DType::Float64 ? ratio_of<double>(p.axes[k], p.aligned, scale)
                                           : ratio_of<float>(p.axes[k], p.aligned, scale);
  }
  const DimVec from = leading(x.strides, n), to = leading(out.strides, n);
  if (!has_kernel(entry) || !lay_out(leading(x.sizes, n), p.planes, {{from, p.from.strides}, {to, p.to.strides}}))
    return false;
  p.from.data = address_of(x), p.to.data = address_of(out);
  launch(entry, x.device(), out.numel(), p);
  return true;
}

}  // namespace

bool run_windows(const DeviceCall& c) {
  switch (c.op.id) {
    case id::MaxPool:
    case id::MaxPoolValues:
      return pool_windows(c, true);
    case id::AvgPool:
      return pool_windows(c, false);
    case id::AdaptiveMaxPool:
      return pool_adaptively(c, true);
    case id::AdaptiveAvgPool:
      return pool_adaptively(c, false);
    case id::Resample:
      return resample(c);
    case id::Convolution:
      return convolve(c);
    default:
      return false;
  }
}

}  // namespace md::device_blocks
