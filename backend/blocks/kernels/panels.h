// Panels of a matrix product: rows and columns packed in the order in which tiles read them.
#pragma once

#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct Panels : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::kLanes;
  using Tile<T>::kManyRegisters;
  using Tile<T>::load_transposed;
  using Tile<T>::transpose;
  // A tile of accumulators fills the registers: 8 x 3 of 32, or 6 x 2 of 16. One lane: no registers to fill.
  static constexpr int kTileRows = kManyRegisters ? 8 : kLanes > 1 ? 6 : 4;
  static constexpr int kFewRows = kLanes > 1 ? 4 : kTileRows;  // of a lower tile, where as many are left
  static constexpr int kTileVectors = kManyRegisters ? 3 : kLanes > 1 ? 2 : 4;
  static constexpr int kTileColumns = kTileVectors * kLanes;

  // The rows of the tile that is taken where `rows` are left.
  static constexpr int tile_rows(std::int64_t rows) { return rows == 1 ? 1 : rows <= kFewRows ? kFewRows : kTileRows; }

  static constexpr bool is_power_of_2(int n) { return (n & (n - 1)) == 0; }

  // Rows of a that lie one after the other, k a multiple of the lanes. Tiles of other heights than powers of two are
  // transposed in squares: the rows that the last square lacks come out as values between the steps, which the next
  // step's then replace. So after the last step there has to be room for a vector.
  template <int kRows>
  static void pack_long_rows(const T* a, std::int64_t row, std::int64_t k, T* out) {
    constexpr int kSquares = (kRows + kLanes - 1) / kLanes;
    for (std::int64_t p = 0; p < k; p += kLanes, out += kRows * kLanes) {
      if constexpr (is_power_of_2(kRows)) {
        V v[kRows];
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) v[i] = S::load(a + i * row + p);
        transpose(v);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) S::store(out + i * kLanes, v[i]);
      } else {
        V v[kSquares][kLanes];
#pragma GCC unroll 4
        for (int s = 0; s < kSquares; ++s) {
#pragma GCC unroll 16
          for (int i = 0; i < kLanes; ++i) {
            v[s][i] = s * kLanes + i < kRows ? S::load(a + (s * kLanes + i) * row + p) : V{};
          }
          transpose(v[s]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
#pragma GCC unroll 4
          for (int s = 0; s < kSquares; ++s) S::store(out + i * kRows + s * kLanes, v[s][i]);
        }
      }
    }
  }

  template <int kRows>
  static std::int64_t pack_full_rows(const T* a, std::int64_t row, std::int64_t column, std::int64_t k, T* out) {
    if (row == 1) {
      for (std::int64_t p = 0; p < k; ++p, out += kRows) __builtin_memcpy(out, a + p * column, kRows * sizeof(T));
      return k;
    }
    if (kLanes == 1 || column != 1) return 0;
    const std::int64_t whole = (is_power_of_2(kRows) ? k : k - 1) / kLanes * kLanes;
    pack_long_rows<kRows>(a, row, whole, out);
    return whole;
  }
  // tile_rows(rows) rows of a per step of k; missing rows are zero.
  static void pack_rows(const T* a, std::int64_t row, std::int64_t column, int rows, std::int64_t k, T* out) {
    const int padded = tile_rows(rows);
    std::int64_t p = 0;
    if (rows == kTileRows) {
      p = pack_full_rows<kTileRows>(a, row, column, k, out);
    } else if (rows == kFewRows) {
      p = pack_full_rows<kFewRows>(a, row, column, k, out);
    }
    for (out += p * padded; p < k; ++p) {
      for (int i = 0; i < padded; ++i) *out++ = i < rows ? a[i * row + p * column] : T(0);
    }
  }
  // Columns of b that lie one after the other, k a multiple of the lanes.
  static void pack_long_columns(const T* b, std::int64_t column, std::int64_t k, T* out) {
    for (int j = 0; j < kTileColumns; j += kLanes) {
      for (std::int64_t p = 0; p < k; p += kLanes) {
        V v[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) v[i] = S::load(b + (j + i) * column + p);
        transpose(v);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) S::store(out + (p + i) * kTileColumns + j, v[i]);
      }
    }
  }
  static void pack_columns(const T* b, std::int64_t row, std::int64_t column, int columns, std::int64_t k, T* out) {
    std::int64_t p = 0;
    if constexpr (kLanes > 1) {
      if (row == 1 && columns == kTileColumns) {
        p = k / kLanes * kLanes;
        pack_long_columns(b, column, p, out);
        out += p * kTileColumns;
      }
    }
    for (; p < k; ++p, out += kTileColumns) {
      const T* from = b + p * row;
      if (column == 1 && columns == kTileColumns) {
        for (int j = 0; j < kTileColumns; j += kLanes) S::store(out + j, S::load(from + j));
        continue;
      }
      for (int j = 0; j < kTileColumns; ++j) out[j] = j < columns ? from[j * column] : T(0);
    }
  }
};

}  // namespace
}  // namespace md::blocks
