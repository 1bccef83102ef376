// Builder for x86-64-v4: AVX-512 F, VL, DQ and BW, masks are mask registers.
#pragma once

#include "backend/blocks/kernels/simd_vector.h"

namespace md::blocks {
namespace {

template <class T>
struct Simd : VectorBase<T, 64> {
  using Base = VectorBase<T, 64>;
  using Base::kInteger;
  using Base::kLanes;
  using typename Base::I;
  using typename Base::V;
  static constexpr bool kWide = sizeof(T) == 8;
  using M = std::conditional_t<kWide, __mmask8, __mmask16>;

  static M load_mask(const std::uint8_t* p) {
    const auto* q = reinterpret_cast<const __m128i*>(p);
    const __m128i bytes = kWide ? _mm_loadl_epi64(q) : _mm_loadu_si128(q);
    return static_cast<M>(_mm_test_epi8_mask(bytes, bytes));
  }
  static void store_mask(std::uint8_t* p, M m) {
    const __m128i bytes = _mm_maskz_set1_epi8(m, 1);
    if constexpr (kWide) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    }
  }
  static bool any(M m) { return m != 0; }

  static V fma(V a, V b, V c) {
    if constexpr (kWide) {
      return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
    } else {
      return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    }
  }
  // Of the lower halves of 64-bit lanes.
  static I product_of_words(I a, I b) { return (I)_mm512_mul_epu32((__m512i)a, (__m512i)b); }
  static V sqrt(V a) {
    if constexpr (kWide) {
      return (V)_mm512_sqrt_pd((__m512d)a);
    } else {
      return (V)_mm512_sqrt_ps((__m512)a);
    }
  }
  static V scale(V v, V k) {
    if constexpr (kWide) {
      return (V)_mm512_scalef_pd((__m512d)v, (__m512d)k);
    } else {
      return (V)_mm512_scalef_ps((__m512)v, (__m512)k);
    }
  }
  // The machine's max and min return their second operand where they cannot tell: NaN, equal zeros.
  static V at_least(V x, V c) {
    if constexpr (kWide) {
      return (V)_mm512_max_pd((__m512d)c, (__m512d)x);
    } else {
      return (V)_mm512_max_ps((__m512)c, (__m512)x);
    }
  }
  static V at_most(V x, V c) {
    if constexpr (kWide) {
      return (V)_mm512_min_pd((__m512d)c, (__m512d)x);
    } else {
      return (V)_mm512_min_ps((__m512)c, (__m512)x);
    }
  }
  static V floor(V a) { return round < _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC > (a); }
  static V ceil(V a) { return round < _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC > (a); }
  static V trunc(V a) { return round < _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC > (a); }
  static V rint(V a) { return round < _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC > (a); }
  static M lt(V a, V b) { return compare<_CMP_LT_OQ, _MM_CMPINT_LT>(a, b); }
  static M le(V a, V b) { return compare<_CMP_LE_OQ, _MM_CMPINT_LE>(a, b); }
  static M gt(V a, V b) { return lt(b, a); }
  static M ge(V a, V b) { return le(b, a); }
  static M eq(V a, V b) { return compare<_CMP_EQ_OQ, _MM_CMPINT_EQ>(a, b); }
  static M ne(V a, V b) { return compare<_CMP_NEQ_UQ, _MM_CMPINT_NE>(a, b); }
  static V select(M m, V a, V b) { return (V)iselect(m, (I)a, (I)b); }
  static I iselect(M m, I a, I b) {
    if constexpr (kWide) {
      return (I)_mm512_mask_blend_epi64(m, (__m512i)b, (__m512i)a);
    } else {
      return (I)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
    }
  }
  static M mand(M a, M b) { return static_cast<M>(a & b); }
  static M mor(M a, M b) { return static_cast<M>(a | b); }
  static M mxor(M a, M b) { return static_cast<M>(a ^ b); }
  static M mnot(M a) { return static_cast<M>(~a); }
  static M mconst(bool c) { return static_cast<M>(c ? -1 : 0); }
  static M ilt(I a, I b) { return icompare<_MM_CMPINT_LT>(a, b); }
  static M ieq(I a, I b) { return icompare<_MM_CMPINT_EQ>(a, b); }
  template <class Fn>
  static V call_rare(M rare, V x, V usual) {
    if (!rare) [[likely]]
      return usual;
    return rare_lanes<Fn>(rare, x, usual);
  }

 private:
  // Out of line, so that the usual path keeps its vectors in registers.
  template <class Fn>
  [[gnu::noinline, gnu::cold]] static V rare_lanes(M rare, V x, V usual) {
    for (int i = 0; i < kLanes; ++i) {
      if (rare >> i & 1) usual[i] = Fn::template eval<Simd>(x[i]);
    }
    return usual;
  }
  template <int kFloat, int kInt>
  static M compare(V a, V b) {
    if constexpr (kInteger) {
      return icompare<kInt>((I)a, (I)b);
    } else if constexpr (kWide) {
      return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, kFloat);
    } else {
      return _mm512_cmp_ps_mask((__m512)a, (__m512)b, kFloat);
    }
  }
  template <int kInt>
  static M icompare(I a, I b) {
    if constexpr (kWide) {
      return _mm512_cmp_epi64_mask((__m512i)a, (__m512i)b, kInt);
    } else {
      return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, kInt);
    }
  }
  template <int kMode>
  static V round(V a) {
    if constexpr (kWide) {
      return (V)_mm512_roundscale_pd((__m512d)a, kMode);
    } else {
      return (V)_mm512_roundscale_ps((__m512)a, kMode);
    }
  }
};

template <class T>
struct Simd32 : VectorBase<T, 32> {
  using typename VectorBase<T, 32>::V;
  static V fma(V a, V b, V c) {
    if constexpr (sizeof(T) == 8) {
      return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
    } else {
      return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    }
  }
};

}  // namespace
}  // namespace md::blocks
