// Kernels over windows: pooling and resampling, plane by plane, and the reference form of convolution.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ir/infer/windows.h"
#include "ir/reference/window_kernels.h"

namespace md {
namespace {

using Dims = std::array<WindowDim, kMostWindowDims>;  // those a kernel does not have in front, of size 1

std::int64_t as_int(const Arg& a) { return a.get<Size>().value(); }
std::int64_t item_of(const KernelCall& c, std::size_t arg, std::size_t i) {
  return as_int(c.args[arg].get<ListArg>().items[i]);
}
std::size_t window_rank(const KernelCall& c) { return c.args[1].get<ListArg>().items.size(); }

// Sizes and strides of the last dimensions of operand and result.
Dims last_dims(const KernelCall& c) {
  Dims dims{};
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::size_t n = window_rank(c), outer = x.sizes.size() - n;
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = dims[kMostWindowDims - n + i];
    d.in = x.sizes[outer + i], d.step = x.strides[outer + i];
    d.out = out.sizes[outer + i], d.out_step = out.strides[outer + i];
  }
  return dims;
}

// Where plane `number` begins in a tensor.
std::int64_t plane_offset(const TensorImpl& t, std::size_t window_rank, std::int64_t number) {
  std::int64_t at = 0;
  for (std::size_t d = t.sizes.size() - window_rank; d-- > 0;) {
    at += number % t.sizes[d] * t.strides[d];
    number /= t.sizes[d];
  }
  return at;
}

// Positions [begin, end) in steps of `dilation` that a window covers, without those in the padding.
struct Span {
  std::int64_t begin, end, step;
};
Span window_span(const WindowDim& d, std::int64_t at) {
  const std::int64_t start = at * d.stride - d.padding, end = start + (d.kernel - 1) * d.dilation + 1;
  const std::int64_t skipped = start < 0 ? (-start + d.dilation - 1) / d.dilation : 0;
  return {start + skipped * d.dilation, std::min(end, d.in), d.dilation};
}
// The at-th of `out` nearly equal windows that cover everything.
Span adaptive_span(const WindowDim& d, std::int64_t at) {
  return {at * d.in / d.out, ((at + 1) * d.in + d.out - 1) / d.out, 1};
}

// The spans of all windows, along each dimension.
struct Spans {
  std::vector<Span> along[kMostWindowDims];

  template <class SpanOf>
  Spans(const Dims& dims, SpanOf&& span_of) {
    for (std::size_t k = 0; k < kMostWindowDims; ++k) {
      for (std::int64_t i = 0; i < dims[k].out; ++i) along[k].push_back(span_of(dims[k], i));
    }
  }
};

// f(spans, position, offset of the result) for every window of a plane.
template <class F>
void for_each_window(const Dims& dims, const Spans& spans, F&& f) {
  for (std::int64_t a = 0; a < dims[0].out; ++a) {
    for (std::int64_t b = 0; b < dims[1].out; ++b) {
      const std::int64_t base = a * dims[0].out_step + b * dims[1].out_step;
      for (std::int64_t i = 0; i < dims[2].out; ++i) {
        f(std::array{spans.along[0][a], spans.along[1][b], spans.along[2][i]}, std::array{a, b, i},
          base + i * dims[2].out_step);
      }
    }
  }
}

// f(offset, position in the flattened plane) for every element of a window, in row-major order.
template <class F>
void for_each_element(const Dims& dims, const std::array<Span, kMostWindowDims>& w, F&& f) {
  for (std::int64_t a = w[0].begin; a < w[0].end; a += w[0].step) {
    for (std::int64_t b = w[1].begin; b < w[1].end; b += w[1].step) {
      const std::int64_t offset = a * dims[0].step + b * dims[1].step, position = (a * dims[1].in + b) * dims[2].in;
      for (std::int64_t i = w[2].begin; i < w[2].end; i += w[2].step) f(offset + i * dims[2].step, position + i);
    }
  }
}

template <class T>
bool beats(T x, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    return (x > best) | (x != x);  // without a branch, so that rows vectorise
  } else {
    return x > best;
  }
}

template <class W>
constexpr W smallest() {
  using Limits = std::numeric_limits<W>;
  return std::is_floating_point_v<W> ? -Limits::infinity() : Limits::lowest();
}

template <class T>
void largest_of_windows(const KernelCall& c, const Dims& dims, const Spans& spans, std::int64_t first,
                        std::int64_t last) {
  const TensorImpl &x = c.tensor(0), &values = *c.out[0], &positions = *c.out[1];
  const std::size_t n = window_rank(c);
  for (std::int64_t p = first; p < last; ++p) {
    const T* const from = x.as<T>() + plane_offset(x, n, p);
    T* const to = values.as<T>() + plane_offset(values, n, p);
    std::int64_t* const at = positions.as<std::int64_t>() + plane_offset(positions, n, p);
    for_each_window(dims, spans, [&](const auto& w, const auto&, std::int64_t out) {
      using W = WorkingOf<T>;
      W best = smallest<W>();
      std::int64_t winner = -1;
      for_each_element(dims, w, [&](std::int64_t offset, std::int64_t position) {
        const W v = widen(from[offset]);
        if (winner < 0 || beats(v, best)) best = v, winner = position;
      });
      to[out] = narrow<T>(best);
      at[out] = winner;
    });
  }
}

// Results of a row whose window has its k-th element inside: 0 <= at * stride - padding + k * dilation < in.
struct Inside {
  std::int64_t begin, end, shift;
};
Inside inside(const WindowDim& d, std::int64_t k) {
  const std::int64_t shift = k * d.dilation - d.padding, s = d.stride;
  const std::int64_t begin = shift < 0 ? std::min((-shift + s - 1) / s, d.out) : 0;
  return {begin, shift >= d.in ? begin : std::clamp((d.in - shift + s - 1) / s, begin, d.out), shift};
}

// row[i] = combine(row[i], v[i * step]); the usual steps are constants, for the compiler.
template <class T, class Combine>
void fold_strided(WorkingOf<T>* __restrict row, const T* __restrict v, std::int64_t n, std::int64_t step,
                  Combine&& combine) {
  const auto fold = [&](auto by) {
    for (std::int64_t i = 0; i < n; ++i) row[i] = combine(row[i], widen(v[i * by]));
  };
  if (step == 1) return fold(std::integral_constant<std::int64_t, 1>{});
  if (step == 2) return fold(std::integral_constant<std::int64_t, 2>{});
  fold(step);
}

// row[i] = combine(row[i], v) for every element v of window i of a row of results, in the window's row-major order.
// Positions in the first two dimensions are `a` and `b`.
template <class T, class Combine>
void fold_row(const Dims& dims, std::int64_t a, std::int64_t b, const T* from, WorkingOf<T>* row, Combine&& combine) {
  const Span outer = window_span(dims[0], a), middle = window_span(dims[1], b);
  const WindowDim& d = dims[2];
  for (std::int64_t i = outer.begin; i < outer.end; i += outer.step) {
    for (std::int64_t j = middle.begin; j < middle.end; j += middle.step) {
      const T* const line = from + i * dims[0].step + j * dims[1].step;
      for (std::int64_t k = 0; k < d.kernel; ++k) {
        const Inside in = inside(d, k);
        fold_strided(row + in.begin, line + (in.begin * d.stride + in.shift) * d.step, in.end - in.begin,
                     d.stride * d.step, combine);
      }
    }
  }
}

// finish(row, a, b, results) for every row of results of the planes, after `combine` has folded the windows' elements
// onto `first_value`.
template <class T, class Combine, class Finish>
void fold_windows(const KernelCall& c, const Dims& dims, WorkingOf<T> first_value, std::int64_t first,
                  std::int64_t last, Combine&& combine, Finish&& finish) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::size_t n = window_rank(c);
  std::vector<WorkingOf<T>> row(static_cast<std::size_t>(dims[2].out));
  for (std::int64_t p = first; p < last; ++p) {
    const T* const from = x.as<T>() + plane_offset(x, n, p);
    T* const to = out.as<T>() + plane_offset(out, n, p);
    for (std::int64_t a = 0; a < dims[0].out; ++a) {
      for (std::int64_t b = 0; b < dims[1].out; ++b) {
        std::ranges::fill(row, first_value);
        fold_row<T>(dims, a, b, from, row.data(), combine);
        finish(row.data(), a, b, to + a * dims[0].out_step + b * dims[1].out_step);
      }
    }
  }
}

template <class T>
void largest_values(const KernelCall& c, const Dims& dims, std::int64_t first, std::int64_t last) {
  using W = WorkingOf<T>;
  const auto larger = [](W best, W v) { return beats(v, best) ? v : best; };
  fold_windows<T>(c, dims, smallest<W>(), first, last, larger, [&](const W* row, std::int64_t, std::int64_t, T* to) {
    for (std::int64_t i = 0; i < dims[2].out; ++i) to[i * dims[2].out_step] = narrow<T>(row[i]);
  });
}

// What the sum of a window is divided by: its positions, with those in the padding or without, along each dimension.
std::vector<std::int64_t> window_counts(const WindowDim& d, bool with_padding) {
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < d.out; ++i) {
    const std::int64_t start = i * d.stride - d.padding;
    const Span s = window_span(d, i);
    counts.push_back(with_padding ? std::min(start + d.kernel, d.in + d.padding) - start
                                  : std::max<std::int64_t>(s.end - s.begin, 0));
  }
  return counts;
}

template <class W>
W divided(W sum, std::int64_t count) {
  return count == 0 ? W(0) : static_cast<W>(sum / static_cast<W>(count));
}

// `divisor` 0: by the positions of each window.
template <class T>
void means_of_windows(const KernelCall& c, const Dims& dims, std::int64_t divisor, bool with_padding,
                      std::int64_t first, std::int64_t last) {
  using W = WorkingOf<T>;
  const std::vector<std::int64_t> counts[] = {
      window_counts(dims[0], with_padding), window_counts(dims[1], with_padding), window_counts(dims[2], with_padding)};
  const auto add = [](W sum, W v) { return ScalarBuilder<W>().add(sum, v); };
  fold_windows<T>(c, dims, W(0), first, last, add, [&](const W* row, std::int64_t a, std::int64_t b, T* to) {
    for (std::int64_t i = 0; i < dims[2].out; ++i) {
      const std::int64_t count = divisor != 0 ? divisor : counts[0][a] * counts[1][b] * counts[2][i];
      to[i * dims[2].out_step] = narrow<T>(divided(row[i], count));
    }
  });
}

template <class T>
void adaptive_means(const KernelCall& c, const Dims& dims, std::int64_t first, std::int64_t last) {
  using W = WorkingOf<T>;
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::size_t n = window_rank(c);
  const Spans spans(dims, adaptive_span);
  for (std::int64_t p = first; p < last; ++p) {
    const T* const from = x.as<T>() + plane_offset(x, n, p);
    T* const to = out.as<T>() + plane_offset(out, n, p);
    for_each_window(dims, spans, [&](const auto& w, const auto&, std::int64_t result) {
      ScalarBuilder<W> b;
      W sum = 0;
      for_each_element(dims, w, [&](std::int64_t offset, std::int64_t) { sum = b.add(sum, widen(from[offset])); });
      const std::int64_t count = (w[0].end - w[0].begin) * (w[1].end - w[1].begin) * (w[2].end - w[2].begin);
      to[result] = narrow<T>(divided(sum, count));
    });
  }
}

// f(T{}) for the dtypes these kernels take; the rules let no bool through.
template <class F>
void visit_number(DType t, F&& f) {
  visit_dtype(t, [&](auto zero) {
    if constexpr (!std::is_same_v<decltype(zero), bool>) f(zero);
  });
}

}  // namespace

std::int64_t plane_count(const KernelCall& c) {
  const TensorImpl& x = c.tensor(0);
  std::int64_t n = 1;
  for (std::size_t d = 0; d + window_rank(c) < x.sizes.size(); ++d) n *= x.sizes[d];
  return n;
}

namespace {

// Windows with the parameters of arguments 1 to 3, and 4 if there is a dilation.
Dims pooling_dims(const KernelCall& c, bool dilated) {
  Dims dims = last_dims(c);
  const std::size_t n = window_rank(c);
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = dims[kMostWindowDims - n + i];
    d.kernel = item_of(c, 1, i), d.stride = item_of(c, 2, i), d.padding = item_of(c, 3, i);
    if (dilated) d.dilation = item_of(c, 4, i);
  }
  return dims;
}

}  // namespace

void run_planes(ops::MaxPool, const KernelCall& c, std::int64_t first, std::int64_t last) {
  const Dims dims = pooling_dims(c, true);
  const Spans spans(dims, window_span);
  visit_number(c.tensor(0).dtype, [&](auto zero) { largest_of_windows<decltype(zero)>(c, dims, spans, first, last); });
}

void run_planes(ops::MaxPoolValues, const KernelCall& c, std::int64_t first, std::int64_t last) {
  const Dims dims = pooling_dims(c, true);
  visit_number(c.tensor(0).dtype, [&](auto zero) { largest_values<decltype(zero)>(c, dims, first, last); });
}

void run_planes(ops::AvgPool, const KernelCall& c, std::int64_t first, std::int64_t last) {
  const Dims dims = pooling_dims(c, false);
  const std::int64_t divisor = c.args[6].is_none() ? 0 : as_int(c.args[6]);
  const bool with_padding = c.args[5].get<bool>();
  visit_number(c.tensor(0).dtype,
               [&](auto zero) { means_of_windows<decltype(zero)>(c, dims, divisor, with_padding, first, last); });
}

void run_planes(ops::AdaptiveMaxPool, const KernelCall& c, std::int64_t first, std::int64_t last) {
  const Dims dims = last_dims(c);
  const Spans spans(dims, adaptive_span);
  visit_number(c.tensor(0).dtype, [&](auto zero) { largest_of_windows<decltype(zero)>(c, dims, spans, first, last); });
}

void run_planes(ops::AdaptiveAvgPool, const KernelCall& c, std::int64_t first, std::int64_t last) {
  const Dims dims = last_dims(c);
  visit_number(c.tensor(0).dtype, [&](auto zero) { adaptive_means<decltype(zero)>(c, dims, first, last); });
}

// --- Resampling ------------------------------------------------------------------------------------------------------

namespace {

// The two elements a result lies between and the weight of the second.
template <class W>
struct Between {
  std::int64_t first, second;
  W weight;
};

// Formulas of pixel centres: a result at i lies at scale * (i + 1/2) - 1/2 of the operand; with aligned corners at
// scale * i. Computed in the dtype's working dtype.
template <class W>
std::vector<Between<W>> source_positions(const WindowDim& d, const std::string& mode, bool align, const Arg& scale) {
  const W ratio = align ? (d.out > 1 ? static_cast<W>(d.in - 1) / static_cast<W>(d.out - 1) : W(0))
                  : scale.is<double>() && scale.get<double>() > 0 ? static_cast<W>(1.0 / scale.get<double>())
                                                                  : static_cast<W>(d.in) / static_cast<W>(d.out);
  std::vector<Between<W>> at;
  for (std::int64_t i = 0; i < d.out; ++i) {
    const W k = static_cast<W>(i);
    if (mode != "linear") {
      const W source = mode == "nearest" ? k * ratio : (k + W(0.5)) * ratio;
      const std::int64_t nearest = std::min(static_cast<std::int64_t>(std::floor(source)), d.in - 1);
      at.push_back({nearest * d.step, nearest * d.step, W(0)});
      continue;
    }
    const W source = align ? k * ratio : std::max((k + W(0.5)) * ratio - W(0.5), W(0));
    const std::int64_t low = std::min(static_cast<std::int64_t>(source), d.in - 1);
    const W weight = std::clamp(source - static_cast<W>(low), W(0), W(1));
    at.push_back({low * d.step, (low + (low < d.in - 1)) * d.step, weight});
  }
  return at;
}

template <class T>
void resample(const KernelCall& c, std::int64_t first, std::int64_t last) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::string& mode = c.args[2].get<std::string>();
  const bool linear = mode == "linear";
  const Dims dims = last_dims(c);
  const std::size_t n = window_rank(c);
  std::vector<Between<W>> at[kMostWindowDims];
  for (std::size_t k = 0; k < kMostWindowDims; ++k) {
    const auto& scales = c.args[4].get<ListArg>().items;
    const Arg scale = k + n < kMostWindowDims ? Arg() : scales[k + n - kMostWindowDims];
    at[k] = source_positions<W>(dims[k], mode, c.args[3].get<bool>(), scale);
  }
  for (std::int64_t p = first; p < last; ++p) {
    const T* const from = x.as<T>() + plane_offset(x, n, p);
    T* const to = out.as<T>() + plane_offset(out, n, p);
    const auto line = [&](std::int64_t base, const Between<W>& b) {
      return (1 - b.weight) * static_cast<W>(widen(from[base + b.first])) +
             b.weight * static_cast<W>(widen(from[base + b.second]));
    };
    for (std::int64_t i = 0; i < dims[0].out; ++i) {
      for (std::int64_t j = 0; j < dims[1].out; ++j) {
        const Between<W>&a = at[0][i], &b = at[1][j];
        T* const row = to + i * dims[0].out_step + j * dims[1].out_step;
        for (std::int64_t k = 0; k < dims[2].out; ++k) {
          T& result = row[k * dims[2].out_step];
          if (!linear) {
            result = from[a.first + b.first + at[2][k].first];
            continue;
          }
          const auto plane = [&](std::int64_t base) {
            if (b.weight == 0) return line(base + b.first, at[2][k]);
            return (1 - b.weight) * line(base + b.first, at[2][k]) + b.weight * line(base + b.second, at[2][k]);
          };
          const W v = a.weight == 0 ? plane(a.first) : (1 - a.weight) * plane(a.first) + a.weight * plane(a.second);
          result = convert_value<T>(std::is_integral_v<T> ? std::nearbyint(v) : v);
        }
      }
    }
  }
}

}  // namespace

void run_planes(ops::Resample, const KernelCall& c, std::int64_t first, std::int64_t last) {
  visit_number(c.tensor(0).dtype, [&](auto zero) { resample<decltype(zero)>(c, first, last); });
}

void reference_kernel(ops::MaxPool op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }
void reference_kernel(ops::MaxPoolValues op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }
void reference_kernel(ops::AvgPool op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }
void reference_kernel(ops::AdaptiveMaxPool op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }
void reference_kernel(ops::AdaptiveAvgPool op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }
void reference_kernel(ops::Resample op, const KernelCall& c) { run_planes(op, c, 0, plane_count(c)); }

// --- Convolution -----------------------------------------------------------------------------------------------------

namespace {

struct ConvolutionShape {
  Dims dims{};
  std::array<std::int64_t, kMostWindowDims> weight_step{};
};

ConvolutionShape convolution_shape(const KernelCall& c) {
  ConvolutionShape s;
  const TensorImpl &x = c.tensor(0), &w = c.tensor(1), &out = *c.out[0];
  const std::size_t n = x.sizes.size() - 2;
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = s.dims[kMostWindowDims - n + i];
    d = {x.sizes[i + 2],   out.sizes[i + 2], w.sizes[i + 2],   item_of(c, 2, i),
         item_of(c, 3, i), item_of(c, 4, i), x.strides[i + 2], out.strides[i + 2]};
    s.weight_step[kMostWindowDims - n + i] = w.strides[i + 2];
  }
  return s;
}

template <class W>
W chained(W x, W y, W sum) {
  if constexpr (std::is_floating_point_v<W>) {
    return std::fma(x, y, sum);
  } else {
    ScalarBuilder<W> b;
    return b.add(sum, b.mul(x, y));
  }
}

// One element of the result: the chain of a matrix product over (channel, window) in row-major order, the padding
// taking part as zeros.
template <class T>
WorkingOf<T> convolved(const ConvolutionShape& s, const T* x, std::int64_t x_channel, const T* w,
                       std::int64_t w_channel, std::int64_t channels,
                       const std::array<std::int64_t, kMostWindowDims>& at) {
  using W = WorkingOf<T>;
  W sum = 0;
  std::array<std::int64_t, kMostWindowDims> k{};
  for (std::int64_t channel = 0; channel < channels; ++channel, x += x_channel, w += w_channel) {
    for (k[0] = 0; k[0] < s.dims[0].kernel; ++k[0]) {
      for (k[1] = 0; k[1] < s.dims[1].kernel; ++k[1]) {
        for (k[2] = 0; k[2] < s.dims[2].kernel; ++k[2]) {
          std::int64_t from = 0, weight = 0;
          bool inside = true;
          for (std::size_t d = 0; d < kMostWindowDims; ++d) {
            const std::int64_t p = at[d] * s.dims[d].stride - s.dims[d].padding + k[d] * s.dims[d].dilation;
            inside = inside && p >= 0 && p < s.dims[d].in;
            from += p * s.dims[d].step, weight += k[d] * s.weight_step[d];
          }
          sum = chained(inside ? widen(x[from]) : W(0), widen(w[weight]), sum);
        }
      }
    }
  }
  return sum;
}

}  // namespace

void reference_kernel(ops::Convolution, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &w = c.tensor(1), &out = *c.out[0];
  const ConvolutionShape s = convolution_shape(c);
  const Spans spans(s.dims, window_span);
  const std::int64_t groups = as_int(c.args[5]), channels = w.sizes[1], per_group = w.sizes[0] / groups;
  visit_dtype(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      for (std::int64_t b = 0; b < out.sizes[0]; ++b) {
        for (std::int64_t o = 0; o < out.sizes[1]; ++o) {
          const T* const from = x.as<T>() + b * x.strides[0] + o / per_group * channels * x.strides[1];
          const T* const weight = w.as<T>() + o * w.strides[0];
          T* const to = out.as<T>() + b * out.strides[0] + o * out.strides[1];
          for_each_window(s.dims, spans, [&](const auto&, const auto& at, std::int64_t offset) {
            to[offset] = narrow<T>(convolved(s, from, x.strides[1], weight, w.strides[1], channels, at));
          });
        }
      }
    }
  });
}

}  // namespace md
