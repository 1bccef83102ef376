// Builder for x86-64-v3: AVX2 and FMA, masks are integer lanes of all ones or zeros.
#pragma once

#include "backend/blocks/kernels/simd_vector.h"

namespace md::blocks {
namespace {

template <class T>
struct Simd : VectorBase<T, 32> {
  using Base = VectorBase<T, 32>;
  using typename Base::I;
  using typename Base::V;
  using M = I;
  using Base::kInteger;
  using Base::kLanes;
  static constexpr bool kWide = sizeof(T) == 8;

  static M load_mask(const std::uint8_t* p) {
    if constexpr (kWide) {
      std::int32_t bytes;
      std::memcpy(&bytes, p, 4);
      return (M)_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(bytes)) != 0;
    } else {
      return (M)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))) != 0;
    }
  }
  static void store_mask(std::uint8_t* p, M m) {
    // Each bit of the mask to a byte of its own, by deposit: lane i is bit i.
    const std::uint64_t bytes = _pdep_u64(mask_bits(m), 0x0101010101010101);
    std::memcpy(p, &bytes, kLanes);
  }
  static bool any(M m) { return mask_bits(m) != 0; }

  static V fma(V a, V b, V c) {
    if constexpr (kWide) {
      return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
    } else {
      return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    }
  }
  // Of the lower halves of 64-bit lanes.
  static I product_of_words(I a, I b) { return (I)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
  static V sqrt(V a) {
    if constexpr (kWide) {
      return (V)_mm256_sqrt_pd((__m256d)a);
    } else {
      return (V)_mm256_sqrt_ps((__m256)a);
    }
  }
  // The machine's max and min return their second operand where they cannot tell: NaN, equal zeros.
  static V at_least(V x, V c) {
    if constexpr (kWide) {
      return (V)_mm256_max_pd((__m256d)c, (__m256d)x);
    } else {
      return (V)_mm256_max_ps((__m256)c, (__m256)x);
    }
  }
  static V at_most(V x, V c) {
    if constexpr (kWide) {
      return (V)_mm256_min_pd((__m256d)c, (__m256d)x);
    } else {
      return (V)_mm256_min_ps((__m256)c, (__m256)x);
    }
  }
  static V floor(V a) { return round < _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC > (a); }
  static V ceil(V a) { return round < _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC > (a); }
  static V trunc(V a) { return round < _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC > (a); }
  static V rint(V a) { return round < _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC > (a); }
  static M lt(V a, V b) { return a < b; }
  static M le(V a, V b) { return a <= b; }
  static M gt(V a, V b) { return a > b; }
  static M ge(V a, V b) { return a >= b; }
  static M eq(V a, V b) { return a == b; }
  static M ne(V a, V b) { return a != b; }
  static V select(M m, V a, V b) { return (V)iselect(m, (I)a, (I)b); }
  static I iselect(M m, I a, I b) { return (I)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m); }
  static M mand(M a, M b) { return a & b; }
  static M mor(M a, M b) { return a | b; }
  static M mxor(M a, M b) { return a ^ b; }
  static M mnot(M a) { return ~a; }
  static M mconst(bool c) { return Base::iconst(c ? -1 : 0); }
  static M ilt(I a, I b) { return a < b; }
  static M ieq(I a, I b) { return a == b; }
  template <class Fn>
  static V call_rare(M rare, V x, V usual) {
    if (!any(rare)) [[likely]]
      return usual;
    return rare_lanes<Fn>(rare, x, usual);
  }

 private:
  // Out of line, so that the usual path keeps its vectors in registers.
  template <class Fn>
  [[gnu::noinline, gnu::cold]] static V rare_lanes(M rare, V x, V usual) {
    for (int i = 0; i < kLanes; ++i) {
      if (rare[i]) usual[i] = Fn::template eval<Simd>(x[i]);
    }
    return usual;
  }
  static unsigned mask_bits(M m) {
    if constexpr (kWide) {
      return static_cast<unsigned>(_mm256_movemask_pd((__m256d)m));
    } else {
      return static_cast<unsigned>(_mm256_movemask_ps((__m256)m));
    }
  }
  template <int kMode>
  static V round(V a) {
    if constexpr (kWide) {
      return (V)_mm256_round_pd((__m256d)a, kMode);
    } else {
      return (V)_mm256_round_ps((__m256)a, kMode);
    }
  }
};

template <class T>
using Simd32 = Simd<T>;

}  // namespace
}  // namespace md::blocks
