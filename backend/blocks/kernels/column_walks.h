// Products of few rows with a b that lies column by column: squares of b are transposed in registers.
#pragma once

#include "backend/blocks/kernels/tile.h"

namespace md::blocks {
namespace {

// A walk takes one vector of columns after the other. Two walks are two chains that do not wait for each other. One
// lags behind, and vectors are of 32 bytes even where there are longer ones: columns often lie a power of two apart, so
// that what is fetched ahead of them falls on few places of the first cache, which holds eight lines at each.
// kDense: the values of a row of a lie side by side.
template <class T, int kRows, bool kDense>
struct ColumnWalks : Tile<T, Simd32<T>> {
  using S = Simd32<T>;
  using V = typename S::V;
  using Tile<T, S>::kLanes;
  using Tile<T, S>::broadcast;
  using Tile<T, S>::load_transposed;
  using Tile<T, S>::multiply_add;
  static constexpr int kLine = 64 / sizeof(T);
  static constexpr int kLag = 16;                   // lines
  static constexpr int kWalks = kRows > 2 ? 1 : 2;  // more rows are chains enough

  struct Walk {
    const T* b;
    T* c;
    std::int64_t q = 0;
    V sum[kRows] = {};
  };

  static void add(const Product& p, Walk& w, std::int64_t q, V v) {
    const T* const a = static_cast<const T*>(p.a) + q * (kDense ? 1 : p.a_column);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) w.sum[i] = multiply_add(broadcast(a[i * p.a_row]), v, w.sum[i]);
  }
  static void step(const Product& p, Walk& w) {
#pragma GCC unroll 8
    for (int square = 0; square < kLine; square += kLanes, w.q += kLanes) {
      V v[kLanes];
      load_transposed(w.b + w.q, p.b_column, v);
#pragma GCC unroll 16
      for (int s = 0; s < kLanes; ++s) add(p, w, w.q + s, v[s]);
    }
  }
  // The terms after the last whole line; then the next columns.
  static void finish(const Product& p, Walk& w) {
    for (; w.q < p.k; ++w.q) {
      alignas(32) T row[kLanes];
      for (int i = 0; i < kLanes; ++i) row[i] = w.b[i * p.b_column + w.q];
      add(p, w, w.q, S::load(row));
    }
    for (int i = 0; i < kRows; ++i) S::store(w.c + i * p.c_row, w.sum[i]);
    w = {w.b + kLanes * p.b_column, w.c + kLanes};
  }

  // `vectors` of columns by each of kCount walks, from column j.
  template <int kCount>
  static void walk(const Product& p, std::int64_t j, std::int64_t vectors) {
    const std::int64_t lines = p.k / kLine, lag = std::min<std::int64_t>(kLag, lines / kCount);
    Walk walks[kCount];
    for (Walk& w : walks) {
      w.b = static_cast<const T*>(p.b) + j * p.b_column;
      w.c = static_cast<T*>(p.c) + j;
      j += vectors * kLanes;
      for (std::int64_t i = 0; lines == 0 && i < vectors; ++i) finish(p, w);
    }
    const std::int64_t steps = vectors * lines;
    for (std::int64_t t = 0; t < steps + (kCount - 1) * lag; ++t) {
#pragma GCC unroll 2
      for (int u = 0; u < kCount; ++u) {
        if (t < u * lag || t >= steps + u * lag) continue;
        step(p, walks[u]);
        if (walks[u].q == lines * kLine) finish(p, walks[u]);
      }
    }
  }
  // How many columns were computed: the others do not fill a vector.
  static std::int64_t run(const Product& p) {
    const std::int64_t vectors = p.n / kLanes, shared = vectors / kWalks;
    walk<kWalks>(p, 0, shared);
    if (shared * kWalks < vectors) walk<1>(p, shared * kWalks * kLanes, vectors - shared * kWalks);
    return vectors * kLanes;
  }
};

}  // namespace
}  // namespace md::blocks
