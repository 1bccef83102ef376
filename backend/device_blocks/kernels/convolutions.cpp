// Convolutions, each result one chain over channels and, within them, over the places of a window; places outside count
// as zeros. Most are products: windows times filters, in tiles. Where a tile would be mostly empty, a thread computes
// one result at a time.
#include "backend/device_blocks/kernels/product_tiles.h"
#include "backend/device_blocks/kernels/window_places.h"

namespace md::device_blocks {
namespace {

// And not negative.
[[gnu::always_inline]] inline bool is_below(Word y, Word end) {
  return static_cast<std::uint64_t>(y) < static_cast<std::uint64_t>(end);
}

// An element of a window: the last axis runs fastest.
struct DepthPlace {
  int channel, at[kWindowDims];

  [[gnu::always_inline]] static DepthPlace of(const ConvolutionParams& p, int number) {
    const auto k0 = static_cast<int>(p.axes[0].kernel), k1 = static_cast<int>(p.axes[1].kernel),
               k2 = static_cast<int>(p.axes[2].kernel);
    return {number / k2 / k1 / k0, {number / k2 / k1 % k0, number / k2 % k1, number % k2}};
  }
  [[gnu::always_inline]] void add(const ConvolutionParams& p, const DepthPlace& step) {
    int carry = 0;
#pragma clang loop unroll(full)
    for (int k = kWindowDims - 1; k >= 0; --k) {
      const auto size = static_cast<int>(p.axes[k].kernel);
      at[k] += step.at[k] + carry;
      carry = at[k] >= size;
      at[k] -= carry ? size : 0;
    }
    channel += step.channel + carry;
  }
};

// The window of one thread's row: where it begins, and an element of it.
template <class T>
struct Window {
  const T* x;
  Word begin[kWindowDims];

  [[gnu::always_inline]] Window(const ConvolutionParams& p, const T* first_channel, const WindowPlace& place)
      : x(first_channel + place.image * p.x_batch) {
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) begin[k] = place.at[k] * p.axes[k].stride - p.axes[k].padding;
  }
  [[gnu::always_inline]] WorkingOf<T> read(const ConvolutionParams& p, const DepthPlace& place) const {
    bool inside = true;
    Word offset = place.channel * p.x_channel;
#pragma clang loop unroll(full)
    for (int k = 0; k < kWindowDims; ++k) {
      const Word y = begin[k] + place.at[k] * p.axes[k].dilation;
      inside = inside && is_below(y, p.axes[k].in);
      offset += y * p.axes[k].step;
    }
    return inside ? widen(x[offset]) : WorkingOf<T>(0);
  }
};

template <class T>
[[gnu::always_inline]] inline void convolve_directly(const ConvolutionParams& p) {
  using W = WorkingOf<T>;
  const Word outs = p.axes[0].out * p.axes[1].out * p.axes[2].out;
  for_each_point(p.batch * p.filters * outs, [&](Word i) {
    const Word filter = i / outs % p.filters;
    WindowPlace place = WindowPlace::of(p, i % outs);
    place.image = i / outs / p.filters;
    const Window<T> window(p, at_address<const T>(p.x) + filter / p.per_group * p.channels * p.x_channel, place);
    const T* x = window.x;
    const T* w = at_address<const T>(p.w) + filter * p.w_filter;
    W sum = 0;
    const Word apart = p.axes[2].dilation * p.axes[2].step;
    for (Word channel = 0; channel < p.channels; ++channel, x += p.x_channel, w += p.w_channel) {
      for (Word a = 0, y0 = window.begin[0]; a < p.axes[0].kernel; ++a, y0 += p.axes[0].dilation) {
        for (Word b = 0, y1 = window.begin[1]; b < p.axes[1].kernel; ++b, y1 += p.axes[1].dilation) {
          const bool row_inside = is_below(y0, p.axes[0].in) && is_below(y1, p.axes[1].in);
          const T* value = x + y0 * p.axes[0].step + y1 * p.axes[1].step + window.begin[2] * p.axes[2].step;
          const T* weight = w + a * p.weight_step[0] + b * p.weight_step[1];
          Word y2 = window.begin[2];
#pragma clang loop unroll(disable)
          for (Word c = 0; c < p.axes[2].kernel; ++c) {
            const bool inside = row_inside && is_below(y2, p.axes[2].in);
            sum = multiply_add<W>(inside ? widen(*value) : W(0), widen(*weight), sum);
            value += apart, weight += p.weight_step[2], y2 += p.axes[2].dilation;
          }
        }
      }
    }
    at_address<T>(p.to)[filter * p.to_filter + place.offset(p)] = narrow<T>(sum);
  });
}

template <class T>
[[gnu::always_inline]] inline void store_results(const ConvolutionParams& p, T* to, Word window, Word windows,
                                                 Word filter, const WorkingOf<T> (&sums)[kEach][kEach]) {
#pragma clang loop unroll(full)
  for (int r = 0; r < kEach; ++r) {
    if (window + r >= windows) return;
    const WindowPlace place = WindowPlace::of(p, window + r);
    const Word offset = place.offset(p);
#pragma clang loop unroll(full)
    for (int s = 0; s < kEach; ++s)
      if (filter + s < p.per_group) to[offset + (filter + s) * p.to_filter] = narrow<T>(sums[r][s]);
  }
}

// Weights lie one behind the other within a filter; a filter has fewer than 2^30 elements.
template <class T>
[[gnu::always_inline]] inline void convolve_tiles(const ConvolutionParams& p, MD_SHARED WorkingOf<T>* x_tile,
                                                  MD_SHARED WorkingOf<T>* w_tile) {
  using W = WorkingOf<T>;
  constexpr int kApart = kThreads / kTile;  // elements of its window that a thread reads are so far apart
  const Word windows = p.batch * p.axes[0].out * p.axes[1].out * p.axes[2].out;
  const auto depth = static_cast<int>(p.channels * p.axes[0].kernel * p.axes[1].kernel * p.axes[2].kernel);
  const Word across = (p.per_group + kTile - 1) / kTile, down = (windows + kTile - 1) / kTile;
  const int thread = static_cast<int>(thread_in_block());
  // Neighbouring threads have neighbouring results.
  const int row = thread % (kTile / kEach) * kEach, column = thread / (kTile / kEach) * kEach;
  const int own = thread % kTile;
  const DepthPlace step = DepthPlace::of(p, kApart);
  for (Word tile = block_number(); tile < across * down * (p.filters / p.per_group); tile += blocks_of_grid()) {
    const Word group = tile / (across * down), within = tile % (across * down);
    const Word i0 = within / across * kTile, j0 = within % across * kTile;
    const T* w = at_address<const T>(p.w) + (group * p.per_group + j0) * p.w_filter;
    const Window<T> window(p, at_address<const T>(p.x) + group * p.channels * p.x_channel,
                           WindowPlace::of(p, i0 + own));
    DepthPlace place = DepthPlace::of(p, thread / kTile);
    W sums[kEach][kEach] = {};
    for (int q0 = 0; q0 < depth; q0 += kDepth) {
#pragma clang loop unroll(full)
      for (int q = thread / kTile, n = 0; n < kDepth / kApart; ++n, q += kApart) {
        x_tile[q * kPitch + own] = i0 + own < windows && q0 + q < depth ? window.read(p, place) : W(0);
        place.add(p, step);
      }
#pragma clang loop unroll(full)
      for (int n = 0; n < kTile * kDepth / kThreads; ++n) {
        const int e = thread + n * kThreads, j = e / kDepth, q = e % kDepth;
        w_tile[q * kPitch + j] = j0 + j < p.per_group && q0 + q < depth ? widen(w[j * p.w_filter + q0 + q]) : W(0);
      }
      wait_for_block();
      add_steps<W>(x_tile + row, w_tile + column, depth - q0, sums);
      wait_for_block();
    }
    store_results<T>(p, at_address<T>(p.to) + group * p.per_group * p.to_filter, i0 + row, windows, j0 + column, sums);
  }
}

}  // namespace

#define MD_CONVOLUTION(N, T)                                                       \
  MD_KERNEL void convolution_##N(ConvolutionParams p) { convolve_directly<T>(p); } \
  MD_KERNEL void convolution_tiles_##N(ConvolutionParams p) {                      \
    MD_SHARED_ARRAY(WorkingOf<T>, x_tile, kPitch* kDepth);                         \
    MD_SHARED_ARRAY(WorkingOf<T>, w_tile, kPitch* kDepth);                         \
    convolve_tiles<T>(p, x_tile, w_tile);                                          \
  }
MD_FOR_NUMBERS(MD_CONVOLUTION)

}  // namespace md::device_blocks
