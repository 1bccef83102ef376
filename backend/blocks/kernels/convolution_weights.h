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
  using Tile<T>::transpose;

  // Rows `from` and the following, element by element: out[k * step + i] = from[i * depth + k]. `check` becomes NaN
  // where there is an element that is not finite.
  template <int kRows>
  static void pack_rows(const T* from, std::int64_t depth, std::int64_t step, T* out, T& check) {
    std::int64_t k = 0;
    if constexpr (kLanes > 1 && kRows > 1) {
      V differences{};
      for (; k + kLanes <= depth; k += kLanes) {
        V v[kRows];
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) v[i] = S::load(from + i * depth + k);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) differences += v[i] - v[i];
        transpose(v);
        if constexpr (kRows >= kLanes) {
          constexpr int kOfStep = kRows / kLanes;
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) S::store(out + (k + i / kOfStep) * step + i % kOfStep * kLanes, v[i]);
        } else {  // a whole panel: steps lie one after the other
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) S::store(out + k * kRows + i * kLanes, v[i]);
        }
      }
      for (int i = 0; i < kLanes; ++i) check += differences[i];
    }
    pack_some(from + k, kRows, kRows, depth, depth - k, step, out + k * step, check);
  }
  // `steps` elements of some rows, and zeros for missing ones.
  static void pack_some(const T* from, std::int64_t rows, std::int64_t padded, std::int64_t depth, std::int64_t steps,
                        std::int64_t step, T* out, T& check) {
    for (std::int64_t k = 0; k < steps; ++k) {
      for (std::int64_t i = 0; i < padded; ++i) {
        const T value = i < rows ? from[i * depth + k] : T(0);
        out[k * step + i] = value;
        check += value - value;
      }
    }
  }

  static bool pack(const Convolution& c, const void* weights, std::int64_t first, std::int64_t last, void* packed) {
    T check = 0;
    for (std::int64_t p = first; p < last; ++p) {
      const auto* from = static_cast<const T*>(weights) + p * c.panel * c.depth;
      T* const to = static_cast<T*>(packed) + p * c.panel * c.depth;
      const std::int64_t filters = std::min(c.panel, c.filters - p * c.panel);
      if (!c.filter_lanes) {
        if (filters < c.panel) {
          pack_some(from, filters, c.panel, c.depth, c.depth, c.panel, to, check);
        } else {
          pack_whole_panel(c.panel, from, c.depth, to, check);
        }
        continue;
      }
      const std::int64_t step = (filters + kLanes - 1) / kLanes * kLanes;
      for (std::int64_t i = 0; i < filters; i += kLanes, from += kLanes * c.depth) {
        if (i + kLanes <= filters) {
          pack_rows<kLanes>(from, c.depth, step, to + i, check);
        } else {
          pack_some(from, filters - i, kLanes, c.depth, c.depth, step, to + i, check);
        }
      }
    }
    return check == 0;
  }
  static void pack_whole_panel(std::int64_t panel, const T* from, std::int64_t depth, T* to, T& check) {
    switch (panel) {
      case 1:
        return pack_rows<1>(from, depth, 1, to, check);
      case 2:
        return pack_rows<2>(from, depth, 2, to, check);
      case 4:
        return pack_rows<4>(from, depth, 4, to, check);
      default:
        return pack_rows<8>(from, depth, 8, to, check);
    }
  }
};

}  // namespace
}  // namespace md::blocks
