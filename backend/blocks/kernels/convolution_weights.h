// Weights of a convolution laid out for its kernel: panels of filters, element by element of the window.
#pragma once

#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct PackedWeights : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::kLanes;
  using Tile<T>::load_transposed;
  using Tile<T>::transpose;

  template <int kRows>
  static void load_columns(const T* from, std::int64_t row, V (&v)[kRows]) {
    if constexpr (kRows == kLanes) {
      load_transposed(from, row, v);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) v[i] = S::load(from + i * row);
      transpose(v);
    }
  }
  // Rows `from` and the following, `row` apart, element by element: out[k * step + i] = from[i * row + k], k < n.
  // `check` becomes NaN where there is an element that is not finite.
  template <int kRows>
  static void pack_rows(const T* from, std::int64_t row, std::int64_t n, std::int64_t step, T* out, T& check) {
    std::int64_t k = 0;
    if constexpr (kLanes > 1 && kRows > 1) {
      typename S::I differences{};  // what is not finite differs from itself: the bits of NaN, else of zero
      for (; k + kLanes <= n; k += kLanes) {
        V v[kRows];
        load_columns(from + k, row, v);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) differences = S::ior(differences, S::as_bits(v[i] - v[i]));
        if constexpr (kRows >= kLanes) {
          constexpr int kOfStep = kRows / kLanes;
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) S::store(out + (k + i / kOfStep) * step + i % kOfStep * kLanes, v[i]);
        } else {  // a whole panel: steps lie one after the other
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) S::store(out + k * kRows + i * kLanes, v[i]);
        }
      }
      const V found = S::from_bits(differences);
      for (int i = 0; i < kLanes; ++i) check += found[i];
    }
    pack_some(from + k, kRows, kRows, row, n - k, step, out + k * step, check);
  }
  // Some rows, and zeros for missing ones.
  static void pack_some(const T* from, std::int64_t rows, std::int64_t padded, std::int64_t row, std::int64_t n,
                        std::int64_t step, T* out, T& check) {
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t i = 0; i < padded; ++i) {
        const T value = i < rows ? from[i * row + k] : T(0);
        out[k * step + i] = value;
        check += value - value;
      }
    }
  }
  // A panel of whole filters, or less.
  static void pack_filters(std::int64_t filters, std::int64_t panel, const T* from, std::int64_t row, std::int64_t n,
                           T* out, T& check) {
    if (filters < panel) return pack_some(from, filters, panel, row, n, panel, out, check);
    switch (panel) {
      case 1:
        return pack_rows<1>(from, row, n, 1, out, check);
      case 2:
        return pack_rows<2>(from, row, n, 2, out, check);
      case 4:
        return pack_rows<4>(from, row, n, 4, out, check);
      default:
        return pack_rows<8>(from, row, n, 8, out, check);
    }
  }

  static bool pack(const Convolution& c, const void* weights, std::int64_t first, std::int64_t last, void* packed) {
    // Elements that lie one after the other: those of a filter, or of one of its planes.
    const std::int64_t plane = c.depth / c.channels, run = c.w_channel == plane ? c.depth : plane;
    T check = 0;
    for (std::int64_t p = first; p < last; ++p) {
      const auto* const panel = static_cast<const T*>(weights) + p * c.panel * c.w_filter;
      T* const to = static_cast<T*>(packed) + p * c.panel * c.depth;
      const std::int64_t filters = std::min(c.panel, c.filters - p * c.panel);
      const std::int64_t step = c.filter_lanes ? (filters + kLanes - 1) / kLanes * kLanes : c.panel;
      for (std::int64_t k = 0; k < c.depth; k += run) {
        const T* from = panel + k / plane * c.w_channel;
        if (!c.filter_lanes) {
          pack_filters(filters, c.panel, from, c.w_filter, run, to + k * step, check);
          continue;
        }
        for (std::int64_t i = 0; i < filters; i += kLanes, from += kLanes * c.w_filter) {
          if (i + kLanes <= filters) {
            pack_rows<kLanes>(from, c.w_filter, run, step, to + k * step + i, check);
          } else {
            pack_some(from, filters - i, kLanes, c.w_filter, run, step, to + k * step + i, check);
          }
        }
      }
    }
    return check == 0;
  }
};

}  // namespace
}  // namespace md::blocks
