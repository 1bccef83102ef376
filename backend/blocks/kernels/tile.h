// What products and convolutions share: one step of a chain, transposition in registers.
#pragma once

#include <algorithm>
#include <utility>

#include "backend/blocks/kernels/level.h"

namespace md::blocks {
namespace {

template <class T>
struct Tile {
  using S = Simd<T>;
  using V = typename S::V;
  static constexpr int kLanes = S::kLanes;

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

  // x0 y0 x1 y1 ... of the lower or upper halves.
  template <bool kUpper, std::size_t... I>
  static V interleaved(V x, V y, std::index_sequence<I...>) {
    constexpr int from = kUpper ? kLanes / 2 : 0;
    return __builtin_shufflevector(x, y, (I % 2 == 0 ? from + I / 2 : kLanes + from + I / 2)...);
  }
  // v as one sequence: its first half interleaved with its second.
  template <int kCount>
  static void perfect_shuffle(V (&v)[kCount]) {
    constexpr auto lanes = std::make_index_sequence<kLanes>{};
    V out[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount / 2; ++i) {
      out[2 * i] = interleaved<false>(v[i], v[i + kCount / 2], lanes);
      out[2 * i + 1] = interleaved<true>(v[i], v[i + kCount / 2], lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) v[i] = out[i];
  }
  // kCount rows of kLanes values each, read column by column: the row's number, above the lane's, moves below it.
  template <int kCount>
  static void transpose(V (&v)[kCount]) {
    if constexpr (kLanes > 1) {
#pragma GCC unroll 4
      for (int n = kCount; n > 1; n /= 2) perfect_shuffle(v);
    }
  }
  // The first n lanes.
  static void store_first(T* p, V v, int n) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
      _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), (__m512i)v);
    } else {
      _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << n) - 1), (__m512i)v);
    }
#else
    alignas(64) T all[kLanes];
    S::store(all, v);
    std::copy_n(all, n, p);
#endif
  }
};

}  // namespace
}  // namespace md::blocks
