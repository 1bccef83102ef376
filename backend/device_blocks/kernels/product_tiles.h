// What products and convolutions share: a tile of each operand in shared memory, a block of results in the registers of
// each thread, and for each result one chain over ascending depth, which is the definition.
#pragma once

#include "backend/device_blocks/kernels/device.h"

namespace md::device_blocks {
namespace {

constexpr int kTile = kProductTile, kThreads = kProductThreads, kDepth = 16,
              kEach = 4;  // a thread computes kEach times kEach results
// Rows of tiles are apart by a little more: neighbouring threads fill a column of them without meeting in a bank.
constexpr int kPitch = kTile + 4;

template <class W>
[[gnu::always_inline]] inline W multiply_add(W x, W y, W sum) {
  if constexpr (std::is_floating_point_v<W>) {
    return ScalarBuilder<W>().fma(x, y, sum);
  } else {
    ScalarBuilder<W> b;
    return b.add(sum, b.mul(x, y));
  }
}

// The next term of each sum. Both addresses are multiples of kEach elements.
template <class W>
[[gnu::always_inline]] inline void add_step(const MD_SHARED W* a, const MD_SHARED W* b, W (&sums)[kEach][kEach]) {
  using Four = W __attribute__((ext_vector_type(kEach)));
  const Four x = *reinterpret_cast<const MD_SHARED Four*>(a), y = *reinterpret_cast<const MD_SHARED Four*>(b);
#pragma clang loop unroll(full)
  for (int r = 0; r < kEach; ++r) {
#pragma clang loop unroll(full)
    for (int s = 0; s < kEach; ++s) sums[r][s] = multiply_add<W>(x[r], y[s], sums[r][s]);
  }
}

// The terms of a stage, of which the last may have fewer.
template <class W>
[[gnu::always_inline]] inline void add_steps(const MD_SHARED W* a, const MD_SHARED W* b, Word left,
                                             W (&sums)[kEach][kEach]) {
  if (left >= kDepth) {
#pragma clang loop unroll(full)
    for (int q = 0; q < kDepth; ++q) add_step<W>(a + q * kPitch, b + q * kPitch, sums);
  } else {
#pragma clang loop unroll(disable)
    for (int q = 0; q < left; ++q) add_step<W>(a + q * kPitch, b + q * kPitch, sums);
  }
}

}  // namespace
}  // namespace md::device_blocks
