// What the vector builders of v3 and v4 share, in GCC's vector extensions: arithmetic, integer lanes, constants.
#pragma once

#include <immintrin.h>

#include "backend/blocks/kernels/simd_permute.h"
#include "backend/blocks/kernels/simd_scalar.h"

namespace md::blocks {
namespace {

template <class T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

template <class T, int kBytes>
struct VectorBase {
  using Lane = ScalarLane<T>;
  using IT = typename Lane::I;
  using UT = typename Lane::U;
  using V = typename VectorOf<T, kBytes>::Type;
  using I = typename VectorOf<IT, kBytes>::Type;
  using U = typename VectorOf<UT, kBytes>::Type;
  static constexpr int kLanes = kBytes / static_cast<int>(sizeof(T));
  static constexpr bool kInteger = Lane::kInteger;
  static constexpr int width() { return Lane::width(); }
  static constexpr bool is_double() { return Lane::is_double(); }

  static V load(const T* p) { return *reinterpret_cast<const typename VectorOf<T, kBytes>::Unaligned*>(p); }
  static void store(T* p, V v) { *reinterpret_cast<typename VectorOf<T, kBytes>::Unaligned*>(p) = v; }
  // Lane i of the result is lane i + n, wrapping.
  template <int n>
  static V rotate(V v) {
    return permute<kLanes>(v, v, [](int i) { return (i + n) % kLanes; });
  }
  // a's and b's lanes in turn, of the lower or upper half of both.
  template <bool kUpper, class AnyV>
  static AnyV interleave(AnyV a, AnyV b) {
    return permute<kLanes>(a, b, [](int i) { return i % 2 * kLanes + (kUpper ? kLanes / 2 : 0) + i / 2; });
  }

  static V every(T value) { return value - V{}; }  // subtracting +0 keeps every value, -0 too
  static V constant(double c) { return every(static_cast<T>(c)); }
  static V lowest() { return every(Lane::lowest()); }
  static V highest() { return every(Lane::highest()); }
  static I iconst(std::int64_t c) { return I{} + static_cast<IT>(c); }
  static V add(V a, V b) { return kInteger ? (V)((U)a + (U)b) : a + b; }
  static V sub(V a, V b) { return kInteger ? (V)((U)a - (U)b) : a - b; }
  static V mul(V a, V b) { return kInteger ? (V)((U)a * (U)b) : a * b; }
  static V neg(V a) { return kInteger ? (V)(U{} - (U)a) : from_bits(as_bits(a) ^ sign()); }
  static V div(V a, V b) { return a / b; }
  static V abs(V a) {
    if constexpr (kInteger) {
      const I s = a >> (width() - 1);
      return (V)(((U)a ^ (U)s) - (U)s);
    } else {
      return from_bits(as_bits(a) & ~sign());
    }
  }
  static V idiv(V a, V b) {
    return by_lane(a, b, [](T x, T y) { return Lane::idiv(x, y); });
  }
  static V imod(V a, V b) {
    return by_lane(a, b, [](T x, T y) { return Lane::imod(x, y); });
  }
  static V fmod(V a, V b) {
    return by_lane(a, b, [](T x, T y) { return Lane::fmod(x, y); });
  }
  static I as_bits(V v) { return (I)v; }
  static V from_bits(I i) { return (V)i; }
  static I iadd(I a, I b) { return (I)((U)a + (U)b); }
  static I isub(I a, I b) { return (I)((U)a - (U)b); }
  static I imul(I a, I b) { return (I)((U)a * (U)b); }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  static I ixor(I a, I b) { return a ^ b; }
  static I ishl(I a, int n) { return (I)((U)a << n); }
  static I isar(I a, int n) { return a >> n; }
  static I ishr(I a, int n) { return (I)((U)a >> n); }
  static I to_int(V v) { return __builtin_convertvector(v, I); }
  static V from_int(I i) { return __builtin_convertvector(i, V); }

 protected:
  static I sign() { return I{} + std::numeric_limits<IT>::min(); }
  template <class F>
  static V by_lane(V a, V b, F f) {
    V r;
    for (int i = 0; i < kLanes; ++i) r[i] = f(a[i], b[i]);
    return r;
  }
};

}  // namespace
}  // namespace md::blocks
