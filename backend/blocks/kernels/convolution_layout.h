// Inputs of a convolution's patch laid out for its kernel: zeros where the window leaves the tensor, columns apart by
// their remainder, so that what a vector needs lies side by side.
#pragma once

#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct LaidOutPatch : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::between;
  using Tile<T>::kLanes;
  using Tile<T>::load;
  using Tile<T>::every_second;
  using Tile<T>::load_between;
  using Tile<T>::store_first;

  // Columns of one remainder: zeros where they lie outside, elements of the row between.
  struct Cut {
    std::int64_t first, last, count;  // [first, last) of `count` lie inside
    std::int64_t from;                // in the row
    std::int64_t to = 0;              // in the row laid out
  };
  static Cut cut_columns(const WindowDim& d, std::int64_t column, std::int64_t columns, std::int64_t width_beyond,
                         std::int64_t remainder) {
    const std::int64_t count = columns + width_beyond, start = column * d.stride - d.padding + remainder;
    const auto steps = [&](std::int64_t distance) {
      return distance <= 0 ? 0 : std::min(count, (distance + d.stride - 1) / d.stride);
    };
    const std::int64_t first = steps(-start), last = std::max(first, steps(d.in - start));
    return {first, last, count, start + first * d.stride};
  }

  static void copy_every_second(const T* from, std::int64_t n, T* to) {
    if constexpr (kLanes > 1) {
      for (; n > 0; n -= kLanes, from += 2 * kLanes, to += kLanes) {
        // The last element read is the last wanted: what follows need not be there.
        const V low = load_between(from, 0, 2 * n - 1), high = load_between(from + kLanes, 0, 2 * n - 1 - kLanes);
        store_first(to, every_second(low, high), n);
      }
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
    }
  }
  // `spills`: what follows in memory is laid out later.
  static void lay_row(const Cut& cut, std::int64_t stride, const T* row, T* to, bool spills) {
    if (stride == 1 || cut.first == cut.last) {
      const T* const from = row + cut.from - cut.first;
      for (std::int64_t i = 0; i < cut.count; i += kLanes) {
        store_first(to + i, load_between(from + i, cut.first - i, cut.last - i), spills ? kLanes : cut.count - i);
      }
      return;
    }
    for (std::int64_t i = 0; i < cut.first; ++i) to[i] = T(0);
    const std::int64_t n = cut.last - cut.first;
    if (stride == 2) {
      copy_every_second(row + cut.from, n, to + cut.first);
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[cut.first + i] = row[cut.from + i * stride];
    }
    for (std::int64_t i = cut.last; i < cut.count; ++i) to[i] = T(0);
  }

  static bool uses(std::uint64_t remainders, std::int64_t r) { return r > 63 || (remainders >> r & 1) != 0; }

  static constexpr std::int64_t kMostCuts = 8;  // remainders laid out together

  // f(channel, row, inside, to) for the rows of each channel of the patch: where a row lies, if it is `inside`, and
  // where it goes.
  template <class F>
  static void for_each_row(const Convolution& c, const ConvolutionPatch& p, const T* x, T* to, F&& f) {
    const auto& [d0, d1, d2] = c.dims;
    const std::int64_t rows = (p.rows - 1) * d1.stride + (d1.kernel - 1) * d1.dilation + 1;
    const std::int64_t first_plane = p.row / d1.out * d0.stride - d0.padding;
    const std::int64_t first_row = p.row % d1.out * d1.stride - d1.padding;
    const std::int64_t skip = c.channels * c.pitch;
    for (std::int64_t channel = 0; channel < c.channels; ++channel, x += c.x_channel, to += c.pitch) {
      for (std::int64_t k = 0; k < d0.kernel; ++k) {
        const std::int64_t plane = first_plane + k * d0.dilation;
        const bool plane_inside = plane >= 0 && plane < d0.in;
        T* at = to + k * c.rows * skip;
        for (std::int64_t i = 0, remainder = 0; i < rows; ++i, ++remainder, at += skip) {
          if (remainder == d1.stride) remainder = 0;
          if (!uses(c.used_rows, remainder)) continue;
          const std::int64_t row = first_row + i;
          const bool inside = plane_inside && row >= 0 && row < d1.in;
          f(channel, inside ? x + (plane * d1.in + row) * d2.in : x, inside, at);
        }
      }
    }
  }

  // Some remainders of the columns of every row of the patch. What a vector writes behind a row's end may only
  // fall on the next channels, and only where they are laid out as a whole afterwards.
  static void lay_out(const Convolution& c, const ConvolutionPatch& p, const T* x, const Cut* cuts, std::int64_t count,
                      T* to) {
    const bool all = c.remainders <= kMostCuts;
    for_each_row(c, p, x, to, [&](std::int64_t channel, const T* row, bool inside, T* at) {
      for (std::int64_t r = 0; r < count; ++r) {
        const Cut& cut = cuts[r];
        const std::int64_t written = cut.to + (cut.count + kLanes - 1) / kLanes * kLanes;
        lay_row(inside && cut.first < cut.last ? cut : Cut{0, 0, cut.count, 0, cut.to}, c.dims[2].stride, row,
                at + cut.to, all && written <= (c.channels - channel) * c.pitch);
      }
    });
  }
  // Neighbouring columns, kVectors of each row. What is loaded of them is the same in all rows.
  template <int kVectors>
  static void lay_out_vectors(const Convolution& c, const ConvolutionPatch& p, const T* x, const Cut& cut, T* to) {
    typename Tile<T>::Mask lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = between(cut.first - v * kLanes, cut.last - v * kLanes);
    for_each_row(c, p, x + cut.from - cut.first, to, [&](std::int64_t channel, const T* row, bool inside, T* at) {
      const bool spills = kVectors * kLanes <= (c.channels - channel) * c.pitch;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const V values = inside ? load(row + v * kLanes, lanes[v]) : V{};
        store_first(at + v * kLanes, values, v + 1 < kVectors || spills ? kLanes : cut.count - v * kLanes);
      }
    });
  }
  template <int kMost>
  static void lay_out_vectors(const Convolution& c, const ConvolutionPatch& p, const T* x, const Cut& cut,
                              std::int64_t vectors, T* to) {
    if constexpr (kMost > 1) {
      if (vectors < kMost) return lay_out_vectors<kMost - 1>(c, p, x, cut, vectors, to);
    }
    lay_out_vectors<kMost>(c, p, x, cut, to);
  }

  static void lay_out(const Convolution& c, const ConvolutionPatch& p, const T* x, T* to) {
    constexpr int kMostVectors = 4;
    const WindowDim& d = c.dims[2];
    const std::int64_t beyond = (d.kernel - 1) * d.dilation / d.stride;
    Cut cuts[kMostCuts];
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < c.remainders; ++r) {
      if (uses(c.used_columns, r)) {
        cuts[count] = cut_columns(d, p.column, p.columns, beyond, r);
        cuts[count++].to = r * c.width;
      }
      if (d.stride == 1 && cuts[0].count <= kMostVectors * kLanes) {
        return lay_out_vectors<kMostVectors>(c, p, x, cuts[0], (cuts[0].count + kLanes - 1) / kLanes, to);
      }
      if (count == kMostCuts || r + 1 == c.remainders) {
        lay_out(c, p, x, cuts, count, to);
        count = 0;
      }
    }
  }
};

}  // namespace
}  // namespace md::blocks
