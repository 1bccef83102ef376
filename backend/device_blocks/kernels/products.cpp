// Matrix products: tiles of both operands in shared memory, a block of results in the registers of each thread, and for
// each result one chain over ascending k, which is the definition.
#include "backend/device_blocks/kernels/device.h"
#include "backend/device_blocks/kernels/matrices.h"
#include "backend/device_blocks/kernels/product_tiles.h"

namespace md::device_blocks {
namespace {

// A thread's results, a row at once where it lies in one piece: neighbouring threads then fill whole sectors.
template <class T>
[[gnu::always_inline]] inline void store_block(const ProductParams& p, T* c, Word i0, Word j0,
                                               const WorkingOf<T> (&sums)[kEach][kEach]) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  using Four = Bits __attribute__((ext_vector_type(kEach)));
#pragma clang loop unroll(full)
  for (int r = 0; r < kEach; ++r) {
    const Word i = i0 + r;
    if (i >= p.m) break;
    T* to = c + i * p.c_row + j0 * p.c_column;
    const bool in_one_piece =
        p.c_column == 1 && j0 + kEach <= p.n && reinterpret_cast<std::uint64_t>(to) % sizeof(Four) == 0;
    if (in_one_piece) {
      Four row;
#pragma clang loop unroll(full)
      for (int s = 0; s < kEach; ++s) row[s] = std::bit_cast<Bits>(narrow<T>(sums[r][s]));
      *reinterpret_cast<Four*>(to) = row;
      continue;
    }
#pragma clang loop unroll(full)
    for (int s = 0; s < kEach; ++s)
      if (j0 + s < p.n) to[s * p.c_column] = narrow<T>(sums[r][s]);
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
    const MatrixOffsets offset = matrices_at(p, matrix);
    const T* a = at_address<const T>(p.a.data) + offset.a;
    const T* b = at_address<const T>(p.b.data) + offset.b;
    W sums[kEach][kEach] = {};
    for (Word q0 = 0; q0 < p.k; q0 += kDepth) {
      for (int e = thread; e < kTile * kDepth; e += kThreads) {
        // Neighbouring threads read along the dimension that is dense.
        const bool by_row = p.a_row == 1;
        const int i = by_row ? e % kTile : e / kDepth, q = by_row ? e / kTile : e % kDepth;
        const bool inside = i0 + i < p.m && q0 + q < p.k;
        a_tile[q * kPitch + i] = inside ? widen(a[(i0 + i) * p.a_row + (q0 + q) * p.a_column]) : W(0);
      }
      for (int e = thread; e < kTile * kDepth; e += kThreads) {
        const bool by_row = p.b_row == 1;
        const int j = by_row ? e / kDepth : e % kTile, q = by_row ? e % kDepth : e / kTile;
        const bool inside = j0 + j < p.n && q0 + q < p.k;
        b_tile[q * kPitch + j] = inside ? widen(b[(q0 + q) * p.b_row + (j0 + j) * p.b_column]) : W(0);
      }
      wait_for_block();
      add_steps<W>(a_tile + row, b_tile + column, p.k - q0, sums);
      wait_for_block();
    }
    store_block(p, at_address<T>(p.c.data) + offset.c, i0 + row, j0 + column, sums);
  }
}

}  // namespace

#define MD_PRODUCT(N, T)                                   \
  MD_KERNEL void product_##N(ProductParams p) {            \
    MD_SHARED_ARRAY(WorkingOf<T>, a_tile, kPitch* kDepth); \
    MD_SHARED_ARRAY(WorkingOf<T>, b_tile, kPitch* kDepth); \
    multiply<T>(p, a_tile, b_tile);                        \
  }
MD_FOR_NUMBERS(MD_PRODUCT)

}  // namespace md::device_blocks
