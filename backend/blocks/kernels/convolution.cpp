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
  using Tile<T>::every_second;
  using Tile<T>::load_between;
  using Tile<T>::multiply_add;
  using Tile<T>::store_first;
  using Tile<T>::transpose;

  static constexpr bool kManyRegisters = kLanes * sizeof(T) == 64;  // 32 of them, else 16
  // Filters in lanes: 14 positions x 2 vectors, or 6 x 2.
  static constexpr int kMostPositions = S::kInteger || kLanes == 1 ? 4 : kManyRegisters ? 14 : 6;
  // Positions in lanes: vectors beside so many filters.
  static constexpr int position_vectors(int filters) { return kManyRegisters ? (filters == 8 ? 3 : 4) : 8 / filters; }

  // --- Weights ---

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

  // --- Layout ---

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

  // Some remainders of the columns of every row of the patch. What a vector writes behind a row's end may only
  // fall on the next channels, and only where they are laid out as a whole afterwards.
  static void lay_out(const Convolution& c, const ConvolutionPatch& p, const T* x, const Cut* cuts, std::int64_t count,
                      T* to) {
    const auto& [d0, d1, d2] = c.dims;
    const std::int64_t rows = (p.rows - 1) * d1.stride + (d1.kernel - 1) * d1.dilation + 1;
    const std::int64_t first_plane = p.row / d1.out * d0.stride - d0.padding;
    const std::int64_t first_row = p.row % d1.out * d1.stride - d1.padding;
    const std::int64_t skip = c.channels * c.pitch;
    const bool all = c.remainders <= kMostCuts;
    for (std::int64_t channel = 0; channel < c.channels; ++channel, x += d0.in * d1.in * d2.in, to += c.pitch) {
      for (std::int64_t k = 0; k < d0.kernel; ++k) {
        const std::int64_t plane = first_plane + k * d0.dilation;
        const bool plane_inside = plane >= 0 && plane < d0.in;
        T* at = to + k * c.rows * skip;
        for (std::int64_t i = 0, remainder = 0; i < rows; ++i, ++remainder, at += skip) {
          if (remainder == d1.stride) remainder = 0;
          if (!uses(c.used_rows, remainder)) continue;
          const std::int64_t row = first_row + i;
          const bool inside = plane_inside && row >= 0 && row < d1.in;
          const T* const from = inside ? x + (plane * d1.in + row) * d2.in : x;
          for (std::int64_t r = 0; r < count; ++r) {
            const Cut& cut = cuts[r];
            const std::int64_t written = cut.to + (cut.count + kLanes - 1) / kLanes * kLanes;
            lay_row(inside && cut.first < cut.last ? cut : Cut{0, 0, cut.count, 0, cut.to}, d2.stride, from,
                    at + cut.to, all && written <= (c.channels - channel) * c.pitch);
          }
        }
      }
    }
  }
  static void lay_out(const Convolution& c, const ConvolutionPatch& p, const T* x, T* to) {
    const WindowDim& d = c.dims[2];
    const std::int64_t beyond = (d.kernel - 1) * d.dilation / d.stride;
    Cut cuts[kMostCuts];
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < c.remainders; ++r) {
      if (uses(c.used_columns, r)) {
        cuts[count] = cut_columns(d, p.column, p.columns, beyond, r);
        cuts[count++].to = r * c.width;
      }
      if (count == kMostCuts || r + 1 == c.remainders) {
        lay_out(c, p, x, cuts, count, to);
        count = 0;
      }
    }
  }

  // --- Filters in lanes ---

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

  // --- Positions in lanes ---

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

  using Rows = void (*)(const Convolution& c, const T* x, std::int64_t row, const T* w, T* out, std::int64_t plane,
                        int filters, std::int64_t first, std::int64_t rows, std::int64_t columns);
  static Rows rows_of(const Convolution& c, int filters) {
    if (c.filter_lanes) return filters > kLanes ? &filter_rows<2> : &filter_rows<1>;
    switch (c.panel) {
      case 1:
        return &position_rows<1>;
      case 2:
        return &position_rows<2>;
      case 4:
        return &position_rows<4>;
      default:
        return &position_rows<8>;
    }
  }

  static void run(const Convolution& c, const ConvolutionPatch& p, void* laid_out) {
    const auto& [d0, d1, d2] = c.dims;
    auto* const x = static_cast<T*>(laid_out);
    for (std::int64_t i = 0; i < p.images; ++i) {
      lay_out(c, p, static_cast<const T*>(p.x) + i * p.x_image, x + i * c.laid_out);
    }
    for (std::int64_t f = 0; f < p.filters; f += c.panel) {
      const auto* const w = static_cast<const T*>(p.weights) + f * c.depth;
      T* const out = static_cast<T*>(p.out) + f * p.plane + p.row * d2.out + p.column;
      const int filters = static_cast<int>(std::min(c.panel, p.filters - f));
      const Rows run_rows = rows_of(c, filters);
      for (std::int64_t i = 0; i < p.images; ++i) {
        run_rows(c, x + i * c.laid_out, d1.stride * c.channels * c.pitch, w, out + i * p.out_image, p.plane, filters,
                 p.row % d1.out, p.rows, p.columns);
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
