// Matrix product on packed panels. Every element of c is one chain of multiply-adds in ascending k: a chain that goes
// on in the next panel picks its value up from c, so neither panel sizes nor vector width change a bit.
#include <algorithm>

#include "backend/blocks/kernels/level.h"

namespace md::blocks {
namespace {

template <class T>
struct Multiply {
  using S = Simd<T>;
  using V = typename S::V;
  static constexpr int kLanes = S::kLanes;
  // A tile of accumulators fills the registers: 8 x 3 of 32, or 6 x 2 of 16. One lane: no registers to fill.
  static constexpr int kTileRows = kLanes * sizeof(T) == 64 ? 8 : kLanes > 1 ? 6 : 4;
  static constexpr int kTileVectors = kLanes * sizeof(T) == 64 ? 3 : kLanes > 1 ? 2 : 4;
  static constexpr int kTileColumns = kTileVectors * kLanes;

  static V multiply_add(V x, V y, V sum) {
    S b;
    if constexpr (S::kInteger) {
      return b.add(sum, b.mul(x, y));
    } else {
      return b.fma(x, y, sum);
    }
  }
  static V broadcast(T x) {
    if constexpr (kLanes == 1) {
      return x;
    } else {
      return S::every(x);
    }
  }

  // a: k steps of kRows values, b: k steps of kTileColumns values. `fresh`: c's old values do not count.
  template <int kRows>
  static void tile(std::int64_t k, const T* a, const T* b, T* c, std::int64_t c_row, bool fresh) {
    V sum[kRows][kTileVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = fresh ? V{} : S::load(c + i * c_row + j * kLanes);
    }
    for (; k > 0; --k, a += kRows, b += kTileColumns) {
      V row[kTileVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) row[j] = S::load(b + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const V x = broadcast(a[i]);
#pragma GCC unroll 4
        for (int j = 0; j < kTileVectors; ++j) sum[i][j] = multiply_add(x, row[j], sum[i][j]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) S::store(c + i * c_row + j * kLanes, sum[i][j]);
    }
  }

  // Tiles at the edges of c go through a full tile of their own.
  template <int kRows>
  static void edge_tile(std::int64_t k, const T* a, const T* b, T* c, std::int64_t c_row, bool fresh, int rows,
                        int columns) {
    alignas(64) T full[kRows * kTileColumns] = {};
    for (int i = 0; !fresh && i < rows; ++i) std::copy_n(c + i * c_row, columns, full + i * kTileColumns);
    tile<kRows>(k, a, b, full, kTileColumns, fresh);
    for (int i = 0; i < rows; ++i) std::copy_n(full + i * kTileColumns, columns, c + i * c_row);
  }

  // kTileRows rows of a, or one, per step of k; missing rows are zero.
  static void pack_rows(const T* a, std::int64_t row, std::int64_t column, int rows, int padded, std::int64_t k,
                        T* out) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (int i = 0; i < padded; ++i) *out++ = i < rows ? a[i * row + p * column] : T(0);
    }
  }
  static void pack_columns(const T* b, std::int64_t row, std::int64_t column, int columns, std::int64_t k, T* out) {
    for (std::int64_t p = 0; p < k; ++p, out += kTileColumns) {
      const T* from = b + p * row;
      if (column == 1 && columns == kTileColumns) {
        for (int j = 0; j < kTileColumns; j += kLanes) S::store(out + j, S::load(from + j));
        continue;
      }
      for (int j = 0; j < kTileColumns; ++j) out[j] = j < columns ? from[j * column] : T(0);
    }
  }

  static void multiply_panel(const T* a, const T* b, T* c, std::int64_t c_row, std::int64_t rows, std::int64_t columns,
                             std::int64_t k, bool fresh) {
    for (std::int64_t j = 0; j < columns; j += kTileColumns, b += k * kTileColumns) {
      const int w = static_cast<int>(std::min<std::int64_t>(kTileColumns, columns - j));
      const T* rows_of_a = a;
      for (std::int64_t i = 0; i < rows; i += kTileRows) {
        const int h = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - i));
        T* const at = c + i * c_row + j;
        if (h == 1) {
          edge_tile<1>(k, rows_of_a, b, at, c_row, fresh, 1, w);
        } else if (h == kTileRows && w == kTileColumns) {
          tile<kTileRows>(k, rows_of_a, b, at, c_row, fresh);
        } else {
          edge_tile<kTileRows>(k, rows_of_a, b, at, c_row, fresh, h, w);
        }
        rows_of_a += k * (h == 1 ? 1 : kTileRows);
      }
    }
  }

  static void run(const Product& p, void* workspace) {
    const auto *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
    auto* const c = static_cast<T*>(p.c);
    auto* const packed_a = static_cast<T*>(workspace);
    const std::int64_t depth = std::min(p.k, kProductDepth);
    const std::int64_t a_room = depth * (std::min(p.m, kProductRows) + 16);
    T* const packed_b = packed_a + (a_room + 15) / 16 * 16;
    for (std::int64_t j = 0; j < p.n; j += kProductColumns) {
      const std::int64_t columns = std::min(kProductColumns, p.n - j);
      for (std::int64_t q = 0; q < p.k; q += kProductDepth) {
        const std::int64_t k = std::min(kProductDepth, p.k - q);
        for (std::int64_t t = 0; t < columns; t += kTileColumns) {
          const int w = static_cast<int>(std::min<std::int64_t>(kTileColumns, columns - t));
          pack_columns(b + q * p.b_row + (j + t) * p.b_column, p.b_row, p.b_column, w, k, packed_b + t * k);
        }
        for (std::int64_t i = 0; i < p.m; i += kProductRows) {
          const std::int64_t rows = std::min(kProductRows, p.m - i);
          for (std::int64_t t = 0; t < rows; t += kTileRows) {
            const int h = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - t));
            pack_rows(a + (i + t) * p.a_row + q * p.a_column, p.a_row, p.a_column, h, h == 1 ? 1 : kTileRows, k,
                      packed_a + t * k);
          }
          multiply_panel(packed_a, packed_b, c + i * p.c_row + j, p.c_row, rows, columns, k, q == 0);
        }
      }
    }
  }
};

}  // namespace

namespace MD_LEVEL {

constexpr ProductKernel kProducts[kComputeTypes] = {&Multiply<float>::run, &Multiply<double>::run,
                                                    &Multiply<std::int32_t>::run, &Multiply<std::int64_t>::run};

}  // namespace MD_LEVEL
}  // namespace md::blocks
