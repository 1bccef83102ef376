// Matrix product on packed panels, or, for few rows, on b where it lies. Every element of c is one chain of
// multiply-adds in ascending k: a chain that goes on in the next panel picks its value up from c, so neither panel
// sizes nor vector width change a bit.
#include <algorithm>

#include "backend/blocks/kernels/column_walks.h"
#include "backend/blocks/kernels/panels.h"

namespace md::blocks {
namespace {

// Up to kMostRows rows: packing b would cost more than it saves.
template <class T>
struct FewRows : Tile<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::broadcast;
  using Tile<T>::kLanes;
  using Tile<T>::kManyRegisters;
  using Tile<T>::multiply_add;
  static constexpr int kMostRows = 4;

  // b lies row by row: strips of it, kVectors wide.
  template <int kRows, int kVectors>
  static void strip(const Product& p, std::int64_t j) {
    const auto *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b) + j;
    auto* const c = static_cast<T*>(p.c) + j;
    V sum[kRows][kVectors] = {};
    for (std::int64_t q = 0; q < p.k; ++q, a += p.a_column, b += p.b_row) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const V x = broadcast(a[i * p.a_row]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[i][v] = multiply_add(x, S::load(b + v * kLanes), sum[i][v]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) S::store(c + i * p.c_row + v * kLanes, sum[i][v]);
    }
  }
  template <int kRows>
  static void along_rows(const Product& p) {
    constexpr int kVectors = kManyRegisters ? 8 - kRows : 4 - kRows / 2;
    std::int64_t j = 0;
    for (; j + kVectors * kLanes <= p.n; j += kVectors * kLanes) strip<kRows, kVectors>(p, j);
    for (; j + kLanes <= p.n; j += kLanes) strip<kRows, 1>(p, j);
    if (j < p.n) last_columns<kRows>(p, j);
  }

  // b lies column by column.
  template <int kRows>
  static void along_columns(const Product& p) {
    const std::int64_t done =
        p.a_column == 1 ? ColumnWalks<T, kRows, true>::run(p) : ColumnWalks<T, kRows, false>::run(p);
    if (done < p.n) last_columns<kRows>(p, done);
  }

  // Columns that do not fill a vector.
  template <int kRows>
  static void last_columns(const Product& p, std::int64_t j) {
    const auto *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b) + j * p.b_column;
    const int columns = static_cast<int>(p.n - j);
    alignas(64) T row[kLanes] = {};
    V sum[kRows] = {};
    for (std::int64_t q = 0; q < p.k; ++q) {
      for (int i = 0; i < columns; ++i) row[i] = b[q * p.b_row + i * p.b_column];
      const V v = S::load(row);
      for (int i = 0; i < kRows; ++i) {
        sum[i] = multiply_add(broadcast(a[i * p.a_row + q * p.a_column]), v, sum[i]);
      }
    }
    for (int i = 0; i < kRows; ++i) {
      S::store(row, sum[i]);
      std::copy_n(row, columns, static_cast<T*>(p.c) + i * p.c_row + j);
    }
  }

  template <int kRows>
  static bool run(const Product& p) {
    if (p.m != kRows) {
      if constexpr (kRows > 1) return run<kRows - 1>(p);
      return false;
    }
    if (p.b_column == 1) {
      along_rows<kRows>(p);
    } else if (p.b_row == 1) {
      along_columns<kRows>(p);
    } else {
      return false;
    }
    return true;
  }
};

template <class T>
struct Multiply : Panels<T> {
  using S = Simd<T>;
  using V = typename S::V;
  using Tile<T>::kLanes;
  using Tile<T>::broadcast;
  using Tile<T>::load_transposed;
  using Tile<T>::kManyRegisters;
  using Tile<T>::multiply_add;
  using Panels<T>::kFewRows;
  using Panels<T>::kTileRows;
  using Panels<T>::kTileVectors;
  using Panels<T>::kTileColumns;
  using Panels<T>::pack_rows;
  using Panels<T>::pack_columns;
  using Panels<T>::tile_rows;

  // The rows of a tile, one step of k after the other: packed, or where they lie.
  template <int kRows>
  struct PackedRows {
    const T* at;
    T operator[](int i) const { return at[i]; }
    void step() { at += kRows; }
  };
  struct StridedRows {
    const T* at;
    std::int64_t row, column;
    T operator[](int i) const { return at[i * row]; }
    void step() { at += column; }
  };

  // a: k steps of kRows values, b: k steps of kTileColumns values, of which kVectors full vectors are used. `fresh`:
  // c's old values do not count.
  template <int kRows, int kVectors, class Rows>
  static void tile(std::int64_t k, Rows a, const T* b, T* c, std::int64_t c_row, bool fresh) {
    V sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = fresh ? V{} : S::load(c + i * c_row + j * kLanes);
    }
    for (; k > 0; --k, a.step(), b += kTileColumns) {
      V row[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) row[j] = S::load(b + j * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const V x = broadcast(a[i]);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[i][j] = multiply_add(x, row[j], sum[i][j]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) S::store(c + i * c_row + j * kLanes, sum[i][j]);
    }
  }

  // Tiles at the edges of c go through a tile of their own.
  template <int kRows, int kVectors, class Rows>
  static void edge_tile(std::int64_t k, Rows a, const T* b, T* c, std::int64_t c_row, bool fresh, int rows,
                        int columns) {
    constexpr int kColumns = kVectors * kLanes;
    alignas(64) T own[kRows * kColumns] = {};
    for (int i = 0; !fresh && i < rows; ++i) std::copy_n(c + i * c_row, columns, own + i * kColumns);
    tile<kRows, kVectors>(k, a, b, own, kColumns, fresh);
    for (int i = 0; i < rows; ++i) std::copy_n(own + i * kColumns, columns, c + i * c_row);
  }

  // Of as few vectors as hold the columns.
  template <int kVectors>
  static void any_tile(std::int64_t k, const T* a, const T* b, T* c, std::int64_t c_row, bool fresh, int rows,
                       int columns) {
    if constexpr (kVectors > 1) {
      if (columns <= (kVectors - 1) * kLanes) return any_tile<kVectors - 1>(k, a, b, c, c_row, fresh, rows, columns);
    }
    if (rows == 1) {
      edge_tile<1, kVectors>(k, PackedRows<1>{a}, b, c, c_row, fresh, 1, columns);
    } else if (kFewRows < kTileRows && rows <= kFewRows) {
      inner_or_edge_tile<kFewRows, kVectors>(k, a, b, c, c_row, fresh, rows, columns);
    } else {
      inner_or_edge_tile<kTileRows, kVectors>(k, a, b, c, c_row, fresh, rows, columns);
    }
  }
  template <int kRows, int kVectors>
  static void inner_or_edge_tile(std::int64_t k, const T* a, const T* b, T* c, std::int64_t c_row, bool fresh, int rows,
                                 int columns) {
    if (rows == kRows && columns == kVectors * kLanes) {
      tile<kRows, kVectors>(k, PackedRows<kRows>{a}, b, c, c_row, fresh);
    } else {
      edge_tile<kRows, kVectors>(k, PackedRows<kRows>{a}, b, c, c_row, fresh, rows, columns);
    }
  }

  // Packed rows of a with a tile's columns of b.
  static void multiply_strip(const T* a, const T* b, T* c, std::int64_t c_row, std::int64_t rows, int columns,
                             std::int64_t k, bool fresh) {
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      const int h = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - i));
      any_tile<kTileVectors>(k, a, b, c + i * c_row, c_row, fresh, h, columns);
      a += k * tile_rows(h);
    }
  }

  // --- Few columns: packing a would cost as much as a share of the product ---

  static constexpr int kFewTiles = 4;
  static bool reads_rows_in_place(const Product& p) {
    return kLanes > 1 && p.n % kTileColumns == 0 && p.n <= kFewTiles * kTileColumns && p.m >= kTileRows &&
           p.a_column == 1;
  }
  // The rows of full tiles; how many these are. `packs`: b's columns, each just before it is needed.
  static std::int64_t add_rows_in_place(const Product& p, T* b, bool packs, bool fresh) {
    const std::int64_t rows = p.m / kTileRows * kTileRows;
    for (std::int64_t j = 0; j < p.n; j += kTileColumns) {
      if (packs) pack(p, j, j + kTileColumns, b);
      for (std::int64_t i = 0; i < rows; i += kTileRows) {
        const StridedRows a{static_cast<const T*>(p.a) + i * p.a_row, p.a_row, p.a_column};
        tile<kTileRows, kTileVectors>(p.k, a, b + j * p.k, static_cast<T*>(p.c) + i * p.c_row + j, p.c_row, fresh);
      }
    }
    return rows;
  }

  static void pack(const Product& p, std::int64_t first, std::int64_t last, void* packed) {
    const auto* const b = static_cast<const T*>(p.b);
    for (std::int64_t t = first; t < last; t += kTileColumns) {
      const int w = static_cast<int>(std::min<std::int64_t>(kTileColumns, p.n - t));
      pack_columns(b + t * p.b_column, p.b_row, p.b_column, w, p.k, static_cast<T*>(packed) + t * p.k);
    }
  }

  static void add(const Product& p, const void* packed, bool fresh, void* workspace) {
    add(p, const_cast<T*>(static_cast<const T*>(packed)), false, fresh, workspace);
  }
  static void add(const Product& p, T* packed, bool packs, bool fresh, void* workspace) {
    const auto* const a = static_cast<const T*>(p.a);
    auto* const packed_a = static_cast<T*>(workspace);
    std::int64_t i = 0;
    if (reads_rows_in_place(p)) i = add_rows_in_place(p, packed, packs, fresh), packs = false;
    for (; i < p.m; i += kProductRows, packs = false) {
      const std::int64_t rows = std::min(kProductRows, p.m - i);
      for (std::int64_t t = 0; t < rows; t += kTileRows) {
        const int h = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - t));
        pack_rows(a + (i + t) * p.a_row, p.a_row, p.a_column, h, p.k, packed_a + t * p.k);
      }
      for (std::int64_t j = 0; j < p.n; j += kTileColumns) {
        const int w = static_cast<int>(std::min<std::int64_t>(kTileColumns, p.n - j));
        if (packs) pack(p, j, j + w, packed);
        multiply_strip(packed_a, packed + j * p.k, static_cast<T*>(p.c) + i * p.c_row + j, p.c_row, rows, w, p.k,
                       fresh);
      }
    }
  }

  // --- Some rows, and b lies column by column ---

  // Then b is what is read in place, as the rows of the transposed product: packing it would be a share of all work.
  static bool transposes(const Product& p) {
    const std::int64_t columns = round_up(p.m);
    return kLanes > 1 && p.b_row == 1 && p.n >= 8 * kTileRows && columns <= kFewTiles * kTileColumns &&
           columns - p.m <= p.m / 8 && p.k >= 64 && columns <= product_depth(p);
  }
  static std::int64_t round_up(std::int64_t columns) {
    return (columns + kTileColumns - 1) / kTileColumns * kTileColumns;
  }
  // The workspace holds a's columns of a panel, packed, and the transposed result of kProductColumns columns of c.
  static void run_transposed(const Product& p, void* workspace) {
    auto* const packed = static_cast<T*>(workspace);
    const std::int64_t columns = round_up(p.m);
    T* const sums = packed + product_depth(p) * columns;
    for (std::int64_t j = 0; j < p.n; j += kProductColumns) {
      const std::int64_t n = std::min(kProductColumns, p.n - j);
      for (std::int64_t q = 0; q < p.k; q += kProductDepth) {
        const std::int64_t k = std::min(kProductDepth, p.k - q);
        add_transposed(p, j, n, q, k, packed, sums);
      }
      put_transposed(sums, columns, p, j, n);
    }
  }
  static void add_transposed(const Product& p, std::int64_t j, std::int64_t n, std::int64_t q, std::int64_t k,
                             T* packed, T* sums) {
    const T* const a = static_cast<const T*>(p.a) + q * p.a_column;
    const std::int64_t columns = round_up(p.m);
    for (std::int64_t t = 0; t < columns; t += kTileColumns) {
      const int w = static_cast<int>(std::min<std::int64_t>(kTileColumns, p.m - t));
      pack_columns(a + t * p.a_row, p.a_column, p.a_row, w, k, packed + t * k);
    }
    const T* b = static_cast<const T*>(p.b) + q + j * p.b_column;
    for (; n >= kTileRows; n -= kTileRows, b += kTileRows * p.b_column, sums += kTileRows * columns) {
      for (std::int64_t t = 0; t < columns; t += kTileColumns) {
        tile<kTileRows, kTileVectors>(k, StridedRows{b, p.b_column, 1}, packed + t * k, sums + t, columns, q == 0);
      }
    }
    for (; n > 0; --n, b += p.b_column, sums += columns) {
      for (std::int64_t t = 0; t < columns; t += kTileColumns) {
        tile<1, kTileVectors>(k, StridedRows{b, p.b_column, 1}, packed + t * k, sums + t, columns, q == 0);
      }
    }
  }
  // Columns [j, j + n) of c.
  static void put_transposed(const T* sums, std::int64_t columns, const Product& p, std::int64_t j, std::int64_t n) {
    for (std::int64_t i = 0; i < p.m; i += kLanes) {
      const std::int64_t rows = std::min<std::int64_t>(kLanes, p.m - i);
      T* const c = static_cast<T*>(p.c) + i * p.c_row + j;
      std::int64_t t = 0;
      for (; t + kLanes <= n; t += kLanes) {
        V v[kLanes];
        load_transposed(sums + t * columns + i, columns, v);
        for (std::int64_t r = 0; r < rows; ++r) S::store(c + r * p.c_row + t, v[r]);
      }
      for (; t < n; ++t) {
        for (std::int64_t r = 0; r < rows; ++r) c[r * p.c_row + t] = sums[t * columns + i + r];
      }
    }
  }

  static void run(const Product& p, void* workspace) {
    if constexpr (kLanes > 1) {
      if (p.m <= FewRows<T>::kMostRows && FewRows<T>::template run<FewRows<T>::kMostRows>(p)) return;
      if (transposes(p)) return run_transposed(p, workspace);
    }
    auto* const packed_b = reinterpret_cast<T*>(static_cast<char*>(workspace) + product_rows(p, sizeof(T)));
    for_each_panel(p, sizeof(T),
                   [&](const Product& panel, bool fresh) { add(panel, packed_b, true, fresh, workspace); });
  }

  static constexpr ProductKernels kernels() { return {&run, &pack, &add}; }
};

}  // namespace

namespace MD_LEVEL {

constexpr ProductKernels kProducts[kComputeTypes] = {Multiply<float>::kernels(), Multiply<double>::kernels(),
                                                     Multiply<std::int32_t>::kernels(),
                                                     Multiply<std::int64_t>::kernels()};

}  // namespace MD_LEVEL
}  // namespace md::blocks
