// Matrix products: tiles of both operands in shared memory, a block of results in the registers of each thread, and for
// each result one chain over ascending k, which is the definition.
#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

constexpr int kTile = kProductTile, kThreads = kProductThreads, kDepth = 16,
              kEach = 4;  // a thread computes kEach times kEach results

template <class W>
[[gnu::always_inline]] inline W multiply_add(W x, W y, W sum) {
  if constexpr (std::is_floating_point_v<W>) {
    return ScalarBuilder<W>().fma(x, y, sum);
  } else {
    ScalarBuilder<W> b;
    return b.add(sum, b.mul(x, y));
  }
}

template <class T>
[[gnu::always_inline]] inline void multiply(const ProductParams& p, MD_SHARED WorkingOf<T>* a_tile,
                                            MD_SHARED WorkingOf<T>* b_tile) {
  using W = WorkingOf<T>;
  const Word across = (p.n + kTile - 1) / kTile, down = (p.m + kTile - 1) / kTile;
  const int thread = static_cast<int>(thread_in_block());
  const int row = thread / (kTile / kEach) * kEach, column = thread % (kTile / kEach) * kEach;
  for (Word tile = block_number(); tile < across * down * p.batches; tile += blocks_of_grid()) {
    const Word matrix = tile / (across * down), within = tile % (across * down);
    const Word i0 = within / across * kTile, j0 = within % across * kTile;
    Word a_offset = 0, b_offset = 0, c_offset = 0;
    for_each_coordinate(p.batch, matrix, [&](Word d, Word at) {
      a_offset += at * p.a.strides.of[d];
      b_offset += at * p.b.strides.of[d];
      c_offset += at * p.c.strides.of[d];
    });
    const T* a = at_address<const T>(p.a.data) + a_offset;
    const T* b = at_address<const T>(p.b.data) + b_offset;
    W sums[kEach][kEach] = {};
    for (Word q0 = 0; q0 < p.k; q0 += kDepth) {
      for (int e = thread; e < kTile * kDepth; e += kThreads) {
        // Neighbouring threads read along the dimension that is dense.
        const bool by_row = p.a_row == 1;
        const int i = by_row ? e % kTile : e / kDepth, q = by_row ? e / kTile : e % kDepth;
        const bool inside = i0 + i < p.m && q0 + q < p.k;
        a_tile[q * kTile + i] = inside ? widen(a[(i0 + i) * p.a_row + (q0 + q) * p.a_column]) : W(0);
      }
      for (int e = thread; e < kTile * kDepth; e += kThreads) {
        const bool by_row = p.b_row == 1;
        const int j = by_row ? e / kDepth : e % kTile, q = by_row ? e % kDepth : e / kTile;
        const bool inside = j0 + j < p.n && q0 + q < p.k;
        b_tile[q * kTile + j] = inside ? widen(b[(q0 + q) * p.b_row + (j0 + j) * p.b_column]) : W(0);
      }
      wait_for_block();
      const int depth = p.k - q0 < kDepth ? static_cast<int>(p.k - q0) : kDepth;
      for (int q = 0; q < depth; ++q) {
        W x[kEach], y[kEach];
        for (int e = 0; e < kEach; ++e) x[e] = a_tile[q * kTile + row + e];
        for (int e = 0; e < kEach; ++e) y[e] = b_tile[q * kTile + column + e];
        for (int r = 0; r < kEach; ++r) {
          for (int s = 0; s < kEach; ++s) sums[r][s] = multiply_add(x[r], y[s], sums[r][s]);
        }
      }
      wait_for_block();
    }
    T* c = at_address<T>(p.c.data) + c_offset;
#pragma clang loop unroll(full)
    for (int r = 0; r < kEach; ++r) {
#pragma clang loop unroll(full)
      for (int s = 0; s < kEach; ++s) {
        const Word i = i0 + row + r, j = j0 + column + s;
        if (i < p.m && j < p.n) c[i * p.c_row + j * p.c_column] = narrow<T>(sums[r][s]);
      }
    }
  }
}

}  // namespace

#define MD_PRODUCT(N, T)                                  \
  MD_KERNEL void product_##N(ProductParams p) {           \
    MD_SHARED_ARRAY(WorkingOf<T>, a_tile, kTile* kDepth); \
    MD_SHARED_ARRAY(WorkingOf<T>, b_tile, kTile* kDepth); \
    multiply<T>(p, a_tile, b_tile);                       \
  }
MD_FOR_NUMBERS(MD_PRODUCT)

}  // namespace md::device_blocks
