// Convolution and pooling: a thread computes a result by going through its window in row-major order.
#include <limits>

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

struct Span {
  Word begin, end, step;
};
// Positions of the operand that the window of result `at` covers, without those in the padding.
[[gnu::always_inline]] inline Span window_span(const WindowAxis& d, Word at, bool adaptive) {
  if (adaptive) return {at * d.in / d.out, ((at + 1) * d.in + d.out - 1) / d.out, 1};
  const Word start = at * d.stride - d.padding, end = start + (d.kernel - 1) * d.dilation + 1;
  const Word skipped = start < 0 ? (-start + d.dilation - 1) / d.dilation : 0;
  return {start + skipped * d.dilation, end < d.in ? end : d.in, d.dilation};
}

// f(spans, positions along the axes, offsets of plane and result)
template <class F>
[[gnu::always_inline]] inline void for_each_window(const WindowParams& p, F&& f) {
  const Word outs = p.axes[0].out * p.axes[1].out * p.axes[2].out;
  for_each_point(p.planes.total * outs, [&](Word i) {
    const Word plane = i / outs, within = i % outs;
    const Word at[kWindowDims] = {within / (p.axes[1].out * p.axes[2].out), within / p.axes[2].out % p.axes[1].out,
                                  within % p.axes[2].out};
    Word from = 0, to = 0, place = 0;
    for_each_coordinate(p.planes, plane, [&](Word d, Word c) {
      from += c * p.from.strides.of[d];
      to += c * p.to.strides.of[d];
      place += c * p.positions.strides.of[d];
    });
    Span spans[kWindowDims];
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) {
      to += at[k] * p.axes[k].out_step;
      place += at[k] * p.positions_step[k];
      spans[k] = window_span(p.axes[k], at[k], p.adaptive);
    }
    f(spans, at, from, to, place);
  });
}

// f(offset, position in the flattened plane)
template <class F>
[[gnu::always_inline]] inline void for_each_element(const WindowParams& p, const Span (&w)[kWindowDims], F&& f) {
  for (Word a = w[0].begin; a < w[0].end; a += w[0].step) {
    for (Word b = w[1].begin; b < w[1].end; b += w[1].step) {
      const Word offset = a * p.axes[0].step + b * p.axes[1].step, position = (a * p.axes[1].in + b) * p.axes[2].in;
      for (Word i = w[2].begin; i < w[2].end; i += w[2].step) f(offset + i * p.axes[2].step, position + i);
    }
  }
}

template <class T>
[[gnu::always_inline]] inline void largest_of_windows(const WindowParams& p) {
  using W = WorkingOf<T>;
  using Limits = std::numeric_limits<W>;
  for_each_window(p, [&](const auto& spans, const auto&, Word from, Word to, Word place) {
    const T* in = at_address<const T>(p.from.data) + from;
    W best = std::is_floating_point_v<W> ? -Limits::infinity() : Limits::lowest();
    Word winner = -1;
    for_each_element(p, spans, [&](Word offset, Word position) {
      const W v = widen(in[offset]);
      if (winner < 0 || v > best || v != v) best = v, winner = position;
    });
    at_address<T>(p.to.data)[to] = narrow<T>(best);
    if (p.positions.data) at_address<std::int64_t>(p.positions.data)[place] = winner;
  });
}

template <class T>
[[gnu::always_inline]] inline void means_of_windows(const WindowParams& p) {
  using W = WorkingOf<T>;
  for_each_window(p, [&](const auto& spans, const auto& at, Word from, Word to, Word) {
    const T* in = at_address<const T>(p.from.data) + from;
    ScalarBuilder<W> b;
    W sum = 0;
    for_each_element(p, spans, [&](Word offset, Word) { sum = b.add(sum, widen(in[offset])); });
    Word count = 1;
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) {
      const WindowAxis& d = p.axes[k];
      const Word start = at[k] * d.stride - d.padding;
      const Word inside = spans[k].end > spans[k].begin ? spans[k].end - spans[k].begin : 0;
      const Word end = start + d.kernel < d.in + d.padding ? start + d.kernel : d.in + d.padding;
      count *= p.with_padding ? end - start : inside;
    }
    if (p.divisor) count = p.divisor;
    at_address<T>(p.to.data)[to] = narrow<T>(count == 0 ? W(0) : static_cast<W>(sum / static_cast<W>(count)));
  });
}

// The two elements a result lies between and the weight of the second.
template <class W>
struct Between {
  Word first, second;
  W weight;
};
template <class W>
[[gnu::always_inline]] inline Between<W> source_position(const ResampleParams& p, int axis, Word at) {
  const WindowAxis& d = p.axes[axis];
  const W ratio = static_cast<W>(p.ratio[axis]), k = static_cast<W>(at);
  ScalarBuilder<W> b;
  if (p.mode != static_cast<Word>(Resampling::Linear)) {
    const W source = p.mode == static_cast<Word>(Resampling::Nearest) ? k * ratio : (k + W(0.5)) * ratio;
    const Word found = static_cast<Word>(b.floor(source)), nearest = found < d.in - 1 ? found : d.in - 1;
    return {nearest * d.step, nearest * d.step, W(0)};
  }
  const W centre = (k + W(0.5)) * ratio - W(0.5);
  const W source = p.aligned ? k * ratio : centre < W(0) ? W(0) : centre;
  const Word found = static_cast<Word>(source), low = found < d.in - 1 ? found : d.in - 1;
  const W way = source - static_cast<W>(low);
  return {low * d.step, (low + (low < d.in - 1)) * d.step, way < W(0) ? W(0) : W(1) < way ? W(1) : way};
}

template <class T>
[[gnu::always_inline]] inline void resample(const ResampleParams& p) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Word outs = p.axes[0].out * p.axes[1].out * p.axes[2].out;
  for_each_point(p.planes.total * outs, [&](Word i) {
    const Word within = i % outs;
    const Word i0 = within / (p.axes[1].out * p.axes[2].out), i1 = within / p.axes[2].out % p.axes[1].out;
    const Word i2 = within % p.axes[2].out;
    Word from = 0, to = i0 * p.axes[0].out_step + i1 * p.axes[1].out_step + i2 * p.axes[2].out_step;
    for_each_coordinate(p.planes, i / outs, [&](Word d, Word c) {
      from += c * p.from.strides.of[d];
      to += c * p.to.strides.of[d];
    });
    const T* in = at_address<const T>(p.from.data) + from;
    const Between<W> a = source_position<W>(p, 0, i0), b = source_position<W>(p, 1, i1),
                     c = source_position<W>(p, 2, i2);
    T& result = at_address<T>(p.to.data)[to];
    if (p.mode != static_cast<Word>(Resampling::Linear)) {
      result = in[a.first + b.first + c.first];
      return;
    }
    const auto line = [&](Word base) {
      return (1 - c.weight) * static_cast<W>(widen(in[base + c.first])) +
             c.weight * static_cast<W>(widen(in[base + c.second]));
    };
    const auto plane = [&](Word base) {
      if (b.weight == 0) return line(base + b.first);
      return (1 - b.weight) * line(base + b.first) + b.weight * line(base + b.second);
    };
    const W v = a.weight == 0 ? plane(a.first) : (1 - a.weight) * plane(a.first) + a.weight * plane(a.second);
    result = convert_value<T>(std::is_integral_v<T> ? ScalarBuilder<W>().rint(v) : v);
  });
}

}  // namespace

#define MD_WINDOWS(N, T)                                                    \
  MD_KERNEL void max_pool_##N(WindowParams p) { largest_of_windows<T>(p); } \
  MD_KERNEL void avg_pool_##N(WindowParams p) { means_of_windows<T>(p); }   \
  MD_KERNEL void resample_##N(ResampleParams p) { resample<T>(p); }
MD_FOR_NUMBERS(MD_WINDOWS)

}  // namespace md::device_blocks
