// Convolution with filters in the lanes of vectors: a tile of results is some positions beside vectors of filters.
#pragma once

#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct FiltersInLanes : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::broadcast;
  using Tile<T>::kLanes;
  using Tile<T>::kManyRegisters;
  using Tile<T>::multiply_add;
  using Tile<T>::store_first;
  using Tile<T>::transpose;

  // 14 positions x 2 vectors, or 6 x 2.
  static constexpr int kMostPositions = S::kInteger || kLanes == 1 ? 4 : kManyRegisters ? 14 : 6;

  // kRun neighbouring results in each of kRows rows, or of a panel of filters, one after the other in memory. w: depth
  // steps of kVectors vectors.
  template <int kRun, int kRows, int kVectors>
  static void filter_tile(const WindowElements& elements, const T* x, std::int64_t row, const T* w, T* out,
                          std::int64_t plane, int filters) {
    filter_sums<kRun * kRows, kVectors>(elements, w, out, plane, filters, [x, row](std::int64_t offset, int i) {
      return x[offset + i / kRun * row + i % kRun];
    });
  }
  // value(offset, i): of the i-th result's window the element at the offset.
  template <int kPositions, int kVectors, class F>
  [[gnu::always_inline]] static void filter_sums(const WindowElements& elements, const T* w, T* out, std::int64_t plane,
                                                 int filters, F value) {
    V sum[kPositions][kVectors] = {};
    const auto [count, offsets, places] = elements;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t offset = offsets[k];
      const T* const of_element = w + places[k] * (kVectors * kLanes);
      V weights[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) weights[j] = S::load(of_element + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kPositions; ++i) {
        const V x = broadcast(value(offset, i));
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[i][j] = multiply_add(x, weights[j], sum[i][j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j, out += kLanes * plane, filters -= kLanes) {
#pragma GCC unroll 16
      for (int i = 0; i < kPositions; i += kLanes) {
        V rows[kLanes];
#pragma GCC unroll 16
        for (int n = 0; n < kLanes; ++n) rows[n] = i + n < kPositions ? sum[i + n < kPositions ? i + n : 0][j] : V{};
        transpose(rows);
        store_filters(rows, plane, filters, i + kLanes <= kPositions ? kLanes : kPositions % kLanes, out + i);
      }
    }
  }
  // As filter_tile, but the results lie at the end of one row and the beginning of the next, `jump` elements beyond
  // where they would follow.
  template <int kFirst, int kVectors>
  static void straddling_tile(const WindowElements& elements, const T* x, std::int64_t jump, const T* w, T* out,
                              std::int64_t plane, int filters) {
    filter_sums<kMostPositions, kVectors>(elements, w, out, plane, filters, [x, jump](std::int64_t offset, int i) {
      return x[offset + i + (i < kFirst ? 0 : jump)];
    });
  }
  // n results of each of up to kLanes filters.
  [[gnu::always_inline]] static void store_filters(const V (&rows)[kLanes], std::int64_t plane, int filters, int n,
                                                   T* out) {
    if (filters >= kLanes) {
#pragma GCC unroll 16
      for (int f = 0; f < kLanes; ++f) {
        n == kLanes ? S::store(out + f * plane, rows[f]) : store_first(out + f * plane, rows[f], n);
      }
      return;
    }
    alignas(64) T all[kLanes * kLanes];
#pragma GCC unroll 16
    for (int f = 0; f < kLanes; ++f) S::store(all + f * kLanes, rows[f]);
    for (int f = 0; f < filters; ++f) std::copy_n(all + f * kLanes, n, out + f * plane);
  }

  using FilterTile = void (*)(const WindowElements& elements, const T* x, std::int64_t row, const T* w, T* out,
                              std::int64_t plane, int filters);
  template <int kVectors, class Less>
  struct FilterTiles;
  template <int kVectors, int... kLess>
  struct FilterTiles<kVectors, std::integer_sequence<int, kLess...>> {
    static constexpr FilterTile one_row[] = {&filter_tile<kLess + 1, 1, kVectors>...};
    static constexpr FilterTile rows[] = {&filter_tile<kLess + 1, kMostPositions / (kLess + 1), kVectors>...};
    static constexpr FilterTile straddling[] = {&straddling_tile<kLess + 1, kVectors>...};  // the last is never used
  };
  static constexpr bool kStraddles = !S::kInteger && kLanes > 1 && !kManyRegisters;

  // Rows that lie one after the other, in tiles of one size.
  template <int kVectors>
  static void joined_rows(const WindowElements& elements, const T* x, std::int64_t row, const T* w, T* out,
                          std::int64_t plane, int filters, std::int64_t rows, std::int64_t columns) {
    using Tiles = FilterTiles<kVectors, std::make_integer_sequence<int, kMostPositions>>;
    std::int64_t column = 0;
    for (std::int64_t left = rows * columns; left > 0;) {
      const std::int64_t here = columns - column, n = std::min<std::int64_t>({left, here, kMostPositions});
      if (n < kMostPositions && left >= kMostPositions && columns >= kMostPositions) {
        Tiles::straddling[here - 1](elements, x + column, row - columns, w, out, plane, filters);
        column += kMostPositions;
        left -= kMostPositions, out += kMostPositions;
      } else {
        Tiles::one_row[n - 1](elements, x + column, row, w, out, plane, filters);
        column += n;
        left -= n, out += n;
      }
      for (; column >= columns; column -= columns) x += row;
    }
  }

  // Rows that need the same elements.
  template <int kVectors>
  static void like_rows(const Convolution& c, const WindowElements& elements, const T* x, std::int64_t row, const T* w,
                        T* out, std::int64_t plane, int filters, std::int64_t rows, std::int64_t columns) {
    using Tiles = FilterTiles<kVectors, std::make_integer_sequence<int, kMostPositions>>;
    // Narrow rows together, if they are whole.
    if (columns <= kMostPositions && columns == c.dims[2].out) {
      const std::int64_t together = kMostPositions / columns;
      for (; rows >= together; rows -= together, x += together * row, out += together * columns) {
        Tiles::rows[columns - 1](elements, x, row, w, out, plane, filters);
      }
    }
    if constexpr (kStraddles) {
      if (columns > kMostPositions && columns % kMostPositions != 0 && columns == c.dims[2].out && rows > 1)
        return joined_rows<kVectors>(elements, x, row, w, out, plane, filters, rows, columns);
    }
    // Tiles of nearly one size: a narrow one is as slow as a wide one.
    const std::int64_t tiles = (columns + kMostPositions - 1) / kMostPositions;
    const std::int64_t least = columns / tiles, wider = columns % tiles;
    for (; rows > 0; --rows, x += row, out += c.dims[2].out) {
      for (std::int64_t t = 0, done = 0; t < tiles; ++t) {
        const std::int64_t n = least + (t < wider);
        Tiles::one_row[n - 1](elements, x + done, row, w, out + done, plane, filters);
        done += n;
      }
    }
  }

  static bool has_negative_zero(const T* out, std::int64_t plane, int filters, std::int64_t count) {
    int found = 0;
    if constexpr (!S::kInteger) {
      for (int f = 0; f < filters; ++f, out += plane) {
        for (std::int64_t i = 0; i < count; ++i) found |= out[i] == 0 && __builtin_signbit(out[i]);
      }
    }
    return found != 0;
  }

  // Products with zeros of the padding leave a sum as it is, but for one thing: they can make +0 of -0. Rows of the
  // window that lie there are left out, and what comes out as -0 is computed anew with all.
  template <int kVectors>
  static void filter_rows(const Convolution& c, const T* x, std::int64_t row, const T* w, T* out, std::int64_t plane,
                          int filters, std::int64_t first, std::int64_t rows, std::int64_t columns) {
    const std::int64_t out_row = c.dims[2].out;
    for (std::int64_t r = first, last = first + rows, like = 0; r < last; r += like) {
      const std::uint8_t* const needs = c.row_elements + r;
      for (like = 1; r + like < last && needs[like] == needs[0];) ++like;
      like_rows<kVectors>(c, c.elements[needs[0]], x, row, w, out, plane, filters, like, columns);
      for (std::int64_t i = 0; i < like; ++i, x += row, out += out_row) {
        if (needs[0] == 0 || !has_negative_zero(out, plane, filters, columns)) continue;
        like_rows<kVectors>(c, c.elements[0], x, row, w, out, plane, filters, 1, columns);
      }
    }
  }

  // --- Rows that are left where tiles take several: of as many images ---

  // Of how many; 1 if none are left, or if they do not need all elements of the window.
  static std::int64_t images_together(const Convolution& c, const ConvolutionPatch& p) {
    if (!c.filter_lanes || p.columns != c.dims[2].out || 2 * p.columns > kMostPositions) return 1;
    const std::int64_t together = kMostPositions / p.columns;
    if (p.images < together || p.rows % together == 0) return 1;
    const std::uint8_t* const needs = c.row_elements + p.row % c.dims[1].out;
    return std::any_of(needs, needs + p.rows, [](std::uint8_t e) { return e != 0; }) ? 1 : together;
  }
  template <int kVectors>
  static void filter_images(const Convolution& c, const ConvolutionPatch& p, const T* x, std::int64_t row, const T* w,
                            T* out, int filters) {
    const std::int64_t together = kMostPositions / p.columns, whole = p.rows / together * together;
    for (std::int64_t i = 0; whole > 0 && i < together; ++i) {
      filter_rows<kVectors>(c, x + i * c.laid_out, row, w, out + i * p.out_image, p.plane, filters,
                            p.row % c.dims[1].out, whole, p.columns);
    }
    using Tiles = FilterTiles<kVectors, std::make_integer_sequence<int, kMostPositions>>;
    T sums[kVectors * kLanes * kMostPositions];
    for (std::int64_t r = whole; r < p.rows; ++r) {
      const std::int64_t results = together * p.columns;
      Tiles::rows[p.columns - 1](c.elements[0], x + r * row, c.laid_out, w, sums, results, filters);
      for (std::int64_t f = 0; f < filters; ++f) {
        for (std::int64_t i = 0; i < together; ++i) {
          std::copy_n(sums + f * results + i * p.columns, p.columns,
                      out + i * p.out_image + f * p.plane + r * c.dims[2].out);
        }
      }
    }
  }
};

}  // namespace
}  // namespace md::blocks
