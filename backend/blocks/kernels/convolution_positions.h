// Convolution with positions in the lanes of vectors, for panels of a few filters: a tile of results is some filters
// beside vectors of neighbouring positions.
#pragma once

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct PositionsInLanes : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::broadcast;
  using Tile<T>::kLanes;
  using Tile<T>::kManyRegisters;
  using Tile<T>::multiply_add;
  using Tile<T>::store_first;

  // Vectors beside so many filters.
  static constexpr int position_vectors(int filters) { return kManyRegisters ? (filters == 8 ? 3 : 4) : 8 / filters; }

  // Results seen as vectors, `step` elements apart where they are read and `out_step` where they go; of the last, n
  // count, and of the others `each`. w: depth steps of kFilters values.
  struct Positions {
    std::int64_t step, out_step, each, last;
  };
  template <int kFilters, int kVectors>
  static void position_tile(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                            const Positions& p) {
    V sum[kFilters][kVectors] = {};
    const std::int64_t* const offsets = c.elements[0].offsets;
    const auto [step, out_step, each, last] = p;
    for (std::int64_t k = 0; k < c.depth; ++k, w += kFilters) {
      const T* const at = x + offsets[k];
      V row[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) row[j] = S::load(at + j * step);
#pragma GCC unroll 8
      for (int i = 0; i < kFilters; ++i) {
        const V value = broadcast(w[i]);
#pragma GCC unroll 8
        for (int j = 0; j < kVectors; ++j) sum[i][j] = multiply_add(value, row[j], sum[i][j]);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kFilters; ++i, out += plane) {
      if (i == filters) return;
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) store_first(out + j * out_step, sum[i][j], j + 1 < kVectors ? each : last);
    }
  }
  // As many vectors as are left.
  template <int kFilters, int kVectors>
  static void last_positions(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                             std::int64_t vectors, const Positions& p) {
    if constexpr (kVectors > 1) {
      if (vectors < kVectors) return last_positions<kFilters, kVectors - 1>(c, x, w, out, plane, filters, vectors, p);
    }
    position_tile<kFilters, kVectors>(c, x, w, out, plane, filters, p);
  }
  // `vectors` of them, however many.
  template <int kFilters>
  static void positions(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                        std::int64_t vectors, const Positions& p) {
    constexpr int kVectors = position_vectors(kFilters);
    const Positions whole{p.step, p.out_step, p.each, p.each};
    for (; vectors > kVectors; vectors -= kVectors, x += kVectors * p.step, out += kVectors * p.out_step) {
      position_tile<kFilters, kVectors>(c, x, w, out, plane, filters, whole);
    }
    last_positions<kFilters, kVectors>(c, x, w, out, plane, filters, vectors, p);
  }

  template <int kFilters>
  static void position_rows(const Convolution& c, const T* x, std::int64_t row, const T* w, T* out, std::int64_t plane,
                            int filters, std::int64_t, std::int64_t rows, std::int64_t columns) {
    const std::int64_t out_row = c.dims[2].out;
    if (columns <= kLanes) {  // a vector of each row
      return positions<kFilters>(c, x, w, out, plane, filters, rows, {row, out_row, columns, columns});
    }
    const std::int64_t vectors = (columns + kLanes - 1) / kLanes;
    const Positions p{kLanes, kLanes, kLanes, columns - (vectors - 1) * kLanes};
    for (; rows > 0; --rows, x += row, out += out_row) positions<kFilters>(c, x, w, out, plane, filters, vectors, p);
  }
};

}  // namespace
}  // namespace md::blocks
