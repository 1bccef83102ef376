// Convolution of a patch: its inputs are laid out (kernel_table.h), then every element of the results is one chain of
// multiply-adds over the window, which no tile or vector touches. Nothing is gathered window by window.
#include <algorithm>

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

template <class T>
struct Convolve : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::kLanes;
  using Tile<T>::broadcast;
  using Tile<T>::multiply_add;
  using Tile<T>::store_first;
  using Tile<T>::transpose;

  static constexpr bool kManyRegisters = kLanes * sizeof(T) == 64;  // 32 of them, else 16
  // Filters in lanes: 14 positions x 2 vectors, or 6 x 2.
  static constexpr int kMostPositions = S::kInteger || kLanes == 1 ? 4 : kManyRegisters ? 14 : 6;
  // Positions in lanes: vectors beside so many filters.
  static constexpr int position_vectors(int filters) { return kManyRegisters ? (filters == 8 ? 3 : 4) : 8 / filters; }

  // --- Weights ---

  // Rows `from` and the following, element by element: out[k * step + i] = from[i * depth + k].
  template <int kRows>
  static void pack_rows(const T* from, std::int64_t depth, std::int64_t step, T* out) {
    std::int64_t k = 0;
    if constexpr (kLanes > 1 && kRows > 1) {
      for (; k + kLanes <= depth; k += kLanes) {
        V v[kRows];
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) v[i] = S::load(from + i * depth + k);
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
    }
    for (; k < depth; ++k) {
      for (int i = 0; i < kRows; ++i) out[k * step + i] = from[i * depth + k];
    }
  }
  static void pack_some(const T* from, std::int64_t rows, std::int64_t depth, std::int64_t step, std::int64_t padded,
                        T* out) {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t i = 0; i < padded; ++i) out[k * step + i] = i < rows ? from[i * depth + k] : T(0);
    }
  }

  static void pack(const Convolution& c, const void* weights, std::int64_t first, std::int64_t last, void* packed) {
    for (std::int64_t p = first; p < last; ++p) {
      const auto* from = static_cast<const T*>(weights) + p * c.panel * c.depth;
      T* const to = static_cast<T*>(packed) + p * c.panel * c.depth;
      const std::int64_t filters = std::min(c.panel, c.filters - p * c.panel);
      if (!c.filter_lanes) {
        if (filters < c.panel) {
          pack_some(from, filters, c.depth, c.panel, c.panel, to);
        } else {
          pack_whole_panel(c.panel, from, c.depth, to);
        }
        continue;
      }
      const std::int64_t step = (filters + kLanes - 1) / kLanes * kLanes;
      for (std::int64_t i = 0; i < filters; i += kLanes, from += kLanes * c.depth) {
        if (i + kLanes <= filters) {
          pack_rows<kLanes>(from, c.depth, step, to + i);
        } else {
          pack_some(from, filters - i, c.depth, step, kLanes, to + i);
        }
      }
    }
  }
  static void pack_whole_panel(std::int64_t panel, const T* from, std::int64_t depth, T* to) {
    switch (panel) {
      case 1:
        return pack_rows<1>(from, depth, 1, to);
      case 2:
        return pack_rows<2>(from, depth, 2, to);
      case 4:
        return pack_rows<4>(from, depth, 4, to);
      default:
        return pack_rows<8>(from, depth, 8, to);
    }
  }

  // --- Layout ---

  // Columns of one remainder: zeros where they lie outside, elements of the row between.
  struct Cut {
    std::int64_t first, last, count;  // [first, last) of `count` lie inside
    std::int64_t from;                // in the row
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

  static void fill_zero(T* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(0);
  }
  static void copy(const T* from, std::int64_t n, T* to) {
    if (n < kLanes) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
      return;
    }
    for (std::int64_t i = 0; i + kLanes < n; i += kLanes) S::store(to + i, S::load(from + i));
    S::store(to + n - kLanes, S::load(from + n - kLanes));
  }
  static void lay_row(const Cut& cut, std::int64_t stride, const T* row, T* to) {
    fill_zero(to, cut.first);
    const std::int64_t n = cut.last - cut.first;
    row += cut.from, to += cut.first;
    if (stride == 1) {
      copy(row, n, to);
    } else if (stride == 2) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = row[2 * i];
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i] = row[i * stride];
    }
    fill_zero(to + n, cut.count - cut.last);
  }

  static bool uses(std::uint64_t remainders, std::int64_t r) { return r > 63 || (remainders >> r & 1) != 0; }

  // One remainder of the columns of every row of the patch.
  static void lay_out(const Convolution& c, const ConvolutionPatch& p, std::int64_t frame, const Cut& cut, T* to) {
    const auto& [d0, d1, d2] = c.dims;
    const auto* x = static_cast<const T*>(p.x);
    const std::int64_t rows = (p.rows - 1) * d1.stride + (d1.kernel - 1) * d1.dilation + 1;
    const Cut nothing{0, 0, cut.count, 0};
    for (std::int64_t channel = 0; channel < c.channels; ++channel, x += d0.in * d1.in * d2.in, to += c.pitch) {
      for (std::int64_t k = 0; k < d0.kernel; ++k) {
        const std::int64_t plane = frame * d0.stride - d0.padding + k * d0.dilation;
        const bool plane_inside = plane >= 0 && plane < d0.in;
        for (std::int64_t i = 0; i < rows; ++i) {
          if (!uses(c.used_rows, i % d1.stride)) continue;
          const std::int64_t row = p.row % d1.out * d1.stride - d1.padding + i;
          const bool inside = plane_inside && row >= 0 && row < d1.in && cut.first < cut.last;
          lay_row(inside ? cut : nothing, d2.stride, inside ? x + (plane * d1.in + row) * d2.in : x,
                  to + (k * c.rows + i) * c.channels * c.pitch);
        }
      }
    }
  }

  // --- Filters in lanes ---

  // kPositions neighbouring results of a panel of filters. w: depth steps of kVectors vectors.
  template <int kPositions, int kVectors>
  static void filter_tile(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters) {
    V sum[kPositions][kVectors] = {};
    const std::int64_t* const offsets = c.offsets;
    for (std::int64_t k = 0; k < c.depth; ++k, w += kVectors * kLanes) {
      const T* const at = x + offsets[k];
      V row[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) row[j] = S::load(w + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kPositions; ++i) {
        const V value = broadcast(at[i]);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[i][j] = multiply_add(value, row[j], sum[i][j]);
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

  using FilterTile = void (*)(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters);
  template <int kVectors, class Less>
  struct FilterTiles;
  template <int kVectors, int... kLess>
  struct FilterTiles<kVectors, std::integer_sequence<int, kLess...>> {
    static constexpr FilterTile list[] = {&filter_tile<kLess + 1, kVectors>...};
  };

  // --- Positions in lanes ---

  // w: depth steps of kFilters values.
  template <int kFilters, int kVectors>
  static void position_tile(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                            std::int64_t positions) {
    V sum[kFilters][kVectors] = {};
    const std::int64_t* const offsets = c.offsets;
    for (std::int64_t k = 0; k < c.depth; ++k, w += kFilters) {
      const T* const at = x + offsets[k];
      V row[kVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) row[j] = S::load(at + j * kLanes);
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
      for (int j = 0; j + 1 < kVectors; ++j) S::store(out + j * kLanes, sum[i][j]);
      store_first(out + (kVectors - 1) * kLanes, sum[i][kVectors - 1],
                  static_cast<int>(positions - (kVectors - 1) * kLanes));
    }
  }

  template <int kFilters, int kVectors>
  static void last_positions(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                             std::int64_t positions) {
    if constexpr (kVectors > 1) {
      if (positions <= (kVectors - 1) * kLanes) {
        return last_positions<kFilters, kVectors - 1>(c, x, w, out, plane, filters, positions);
      }
    }
    position_tile<kFilters, kVectors>(c, x, w, out, plane, filters, positions);
  }
  template <int kFilters>
  static void positions(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                        std::int64_t count) {
    constexpr int kVectors = position_vectors(kFilters), kStep = kVectors * kLanes;
    for (; count > kStep; count -= kStep, x += kStep, out += kStep) {
      position_tile<kFilters, kVectors>(c, x, w, out, plane, filters, kStep);
    }
    last_positions<kFilters, kVectors>(c, x, w, out, plane, filters, count);
  }

  // --- Patch ---

  static void run_row(const Convolution& c, const T* x, const T* w, T* out, std::int64_t plane, int filters,
                      std::int64_t columns) {
    if (!c.filter_lanes) {
      switch (c.panel) {
        case 1:
          return positions<1>(c, x, w, out, plane, filters, columns);
        case 2:
          return positions<2>(c, x, w, out, plane, filters, columns);
        case 4:
          return positions<4>(c, x, w, out, plane, filters, columns);
        default:
          return positions<8>(c, x, w, out, plane, filters, columns);
      }
    }
    // Tiles of nearly one size: a narrow one is as slow as a wide one.
    const std::int64_t tiles = (columns + kMostPositions - 1) / kMostPositions;
    const std::int64_t least = columns / tiles, wider = columns % tiles;
    using Less = std::make_integer_sequence<int, kMostPositions>;
    const FilterTile* const kernels = filters > kLanes ? FilterTiles<2, Less>::list : FilterTiles<1, Less>::list;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t n = least + (t < wider);
      kernels[n - 1](c, x, w, out, plane, filters);
      x += n, out += n;
    }
  }

  static void run(const Convolution& c, const ConvolutionPatch& p, void* laid_out) {
    const auto& [d0, d1, d2] = c.dims;
    auto* const x = static_cast<T*>(laid_out);
    const std::int64_t beyond = (d2.kernel - 1) * d2.dilation / d2.stride;
    for (std::int64_t r = 0; r < c.remainders; ++r) {
      if (!uses(c.used_columns, r)) continue;
      lay_out(c, p, p.row / d1.out, cut_columns(d2, p.column, p.columns, beyond, r), x + r * c.width);
    }
    for (std::int64_t f = 0; f < p.filters; f += c.panel) {
      const auto* const w = static_cast<const T*>(p.weights) + f * c.depth;
      T* out = static_cast<T*>(p.out) + f * p.plane + p.row * d2.out + p.column;
      const int filters = static_cast<int>(std::min(c.panel, p.filters - f));
      for (std::int64_t row = 0; row < p.rows; ++row, out += d2.out) {
        run_row(c, x + row * d1.stride * c.channels * c.pitch, w, out, p.plane, filters, p.columns);
      }
    }
  }

  static constexpr ConvolutionKernels kernels() { return {kLanes, 2 * kLanes, kMostPositions, &pack, &run}; }
};

}  // namespace

namespace MD_LEVEL {

constexpr ConvolutionKernels kConvolutions[kComputeTypes] = {Convolve<float>::kernels(), Convolve<double>::kernels(),
                                                             Convolve<std::int32_t>::kernels(),
                                                             Convolve<std::int64_t>::kernels()};

}  // namespace MD_LEVEL
}  // namespace md::blocks
