// What products and convolutions share: one step of a chain, transposition in registers.
#pragma once

#include <algorithm>
#include <utility>

#include "backend/blocks/kernels/level.h"

namespace md::blocks {
namespace {

template <class T, class Vectors = Simd<T>>
struct Tile {
  using S = Vectors;
  using V = typename S::V;
  static constexpr int kLanes = S::kLanes;
  static constexpr bool kManyRegisters = kLanes * sizeof(T) == 64;  // 32 of them, else 16

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

  // v as one sequence: its first half interleaved with its second.
  template <int kCount>
  static void perfect_shuffle(V (&v)[kCount]) {
    V out[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount / 2; ++i) {
      out[2 * i] = S::template interleave<false>(v[i], v[i + kCount / 2]);
      out[2 * i + 1] = S::template interleave<true>(v[i], v[i + kCount / 2]);
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
  // r as the four columns of two 4 x 4 squares, one in the lower and one in the upper halves.
  static void transpose_halves(const V (&r)[4], V* out) {
    const V x = __builtin_shufflevector(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const V y = __builtin_shufflevector(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const V z = __builtin_shufflevector(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const V w = __builtin_shufflevector(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);
    out[0] = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
    out[1] = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    out[2] = __builtin_shufflevector(z, w, 0, 1, 8, 9, 4, 5, 12, 13);
    out[3] = __builtin_shufflevector(z, w, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  // kLanes rows, read column by column. Halves that are put together while they are loaded need not cross afterwards.
  static void load_transposed(const T* p, std::int64_t row, V (&v)[kLanes]) {
    if constexpr (kLanes == 8 && sizeof(T) == 4) {
      using Half [[gnu::vector_size(16)]] = T;
      for (int side = 0; side < 2; ++side) {
        V r[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          Half lower, upper;
          __builtin_memcpy(&lower, p + i * row + 4 * side, sizeof lower);
          __builtin_memcpy(&upper, p + (i + 4) * row + 4 * side, sizeof upper);
          r[i] = __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 4, 5, 6, 7);
        }
        transpose_halves(r, v + 4 * side);
      }
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) v[i] = S::load(p + i * row);
      transpose(v);
    }
  }

  template <int kFirst, std::size_t... I>
  static V every_second(V x, V y, std::index_sequence<I...>) {
    return __builtin_shufflevector(x, y, (2 * I + kFirst)...);
  }
  // Elements 0, 2, ... of both together, or 1, 3, ...
  template <int kFirst = 0>
  static V every_second(V x, V y) {
    return every_second<kFirst>(x, y, std::make_index_sequence<kLanes>{});
  }

  // Lanes [first, last) from memory, zeros around them, and the lanes of a mask; the first n lanes to memory. Bounds
  // beyond the vector's are its own.
#if defined(__AVX512F__)
  using Mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
  static Mask below(std::int64_t n) { return static_cast<Mask>((1u << std::clamp<std::int64_t>(n, 0, kLanes)) - 1); }
  static Mask between(std::int64_t first, std::int64_t last) { return static_cast<Mask>(below(last) & ~below(first)); }
  static V load(const T* p, Mask lanes) {
    if constexpr (sizeof(T) == 4) return (V)_mm512_maskz_loadu_epi32(lanes, p);
    if constexpr (sizeof(T) == 8) return (V)_mm512_maskz_loadu_epi64(lanes, p);
  }
#elif defined(__AVX2__)
  using Mask = typename S::I;
  static Mask between(std::int64_t first, std::int64_t last) {
    Mask lanes;
    for (int i = 0; i < kLanes; ++i) lanes[i] = i;
    const auto bound = [](std::int64_t n) { return S::iconst(std::clamp<std::int64_t>(n, 0, kLanes)); };
    return (lanes >= bound(first)) & (lanes < bound(last));
  }
  static V load(const T* p, Mask lanes) {
    if constexpr (sizeof(T) == 4) return (V)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), (__m256i)lanes);
    if constexpr (sizeof(T) == 8)
      return (V)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), (__m256i)lanes);
  }
#else
  using Mask = bool;
  static Mask between(std::int64_t first, std::int64_t last) { return first <= 0 && last > 0; }
  static V load(const T* p, Mask inside) { return inside ? *p : T(0); }
#endif
  static V load_between(const T* p, std::int64_t first, std::int64_t last) {
    return first <= 0 && last >= kLanes ? S::load(p) : load(p, between(first, last));
  }
  static void store_first(T* p, V v, std::int64_t n) {
    if (n >= kLanes) return S::store(p, v);
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, below(n), (__m512i)v);
    if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, below(n), (__m512i)v);
#else
    alignas(64) T all[kLanes];
    S::store(all, v);
    for (std::int64_t i = 0; i < n; ++i) p[i] = all[i];
#endif
  }
};

}  // namespace
}  // namespace md::blocks
