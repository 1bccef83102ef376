// The builder whose vectors have one lane: plain C++. Level x86-64-v2 uses it throughout (fma is exact there too,
// through libm), every level for leftover columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace md::blocks {
namespace {

template <class T>
struct ScalarLane {
  using V = T;
  using I = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using U = std::make_unsigned_t<I>;
  using M = bool;
  static constexpr int kLanes = 1;
  static constexpr bool kInteger = std::is_integral_v<T>;
  static constexpr int width() { return sizeof(T) * 8; }
  static constexpr bool is_double() { return std::is_same_v<T, double>; }

  static V load(const T* p) { return *p; }
  static void store(T* p, V v) { *p = v; }
  static M load_mask(const std::uint8_t* p) { return *p != 0; }
  static void store_mask(std::uint8_t* p, M m) { *p = m; }
  static bool any(M m) { return m; }
  template <bool kUpper, class AnyV>
  static AnyV interleave(AnyV a, AnyV b) {
    return kUpper ? b : a;
  }

  static V constant(double c) { return static_cast<T>(c); }
  static V lowest() { return kInteger ? std::numeric_limits<T>::min() : -std::numeric_limits<T>::infinity(); }
  static V highest() { return kInteger ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity(); }
  static I iconst(std::int64_t i) { return static_cast<I>(i); }
  static V add(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x + y; });
  }
  static V sub(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x - y; });
  }
  static V mul(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x * y; });
  }
  static V neg(V a) {
    if constexpr (kInteger) return sub(0, a);
    return -a;
  }
  static V div(V a, V b) { return a / b; }
  static V idiv(V a, V b) { return a / b; }
  static V imod(V a, V b) { return a % b; }
  static V fmod(V a, V b) { return std::fmod(a, b); }
  static V fma(V a, V b, V c) { return std::fma(a, b, c); }
  static V sqrt(V a) { return std::sqrt(a); }
  static V floor(V a) { return std::floor(a); }
  static V ceil(V a) { return std::ceil(a); }
  static V trunc(V a) { return std::trunc(a); }
  static V rint(V a) { return std::rint(a); }
  static V abs(V a) {
    if constexpr (kInteger) return a < 0 ? neg(a) : a;
    return std::fabs(a);
  }
  static M lt(V a, V b) { return a < b; }
  static M le(V a, V b) { return a <= b; }
  static M gt(V a, V b) { return a > b; }
  static M ge(V a, V b) { return a >= b; }
  static M eq(V a, V b) { return a == b; }
  static M ne(V a, V b) { return a != b; }
  static V select(M m, V a, V b) { return m ? a : b; }
  static I iselect(M m, I a, I b) { return m ? a : b; }
  static M mand(M a, M b) { return a && b; }
  static M mor(M a, M b) { return a || b; }
  static M mxor(M a, M b) { return a != b; }
  static M mnot(M a) { return !a; }
  static M mconst(bool c) { return c; }
  static I as_bits(V v) { return __builtin_bit_cast(I, v); }
  static V from_bits(I i) { return __builtin_bit_cast(V, i); }
  static I iadd(I a, I b) { return static_cast<I>(static_cast<U>(a) + static_cast<U>(b)); }
  static I isub(I a, I b) { return static_cast<I>(static_cast<U>(a) - static_cast<U>(b)); }
  static I imul(I a, I b) { return static_cast<I>(static_cast<U>(a) * static_cast<U>(b)); }
  // Of the lower halves of 64-bit lanes.
  static I product_of_words(I a, I b) {
    return static_cast<I>(std::uint64_t{static_cast<std::uint32_t>(a)} * static_cast<std::uint32_t>(b));
  }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  static I ixor(I a, I b) { return a ^ b; }
  static I ishl(I a, int n) { return static_cast<I>(static_cast<U>(a) << n); }
  static I isar(I a, int n) { return a >> n; }
  static I ishr(I a, int n) { return static_cast<I>(static_cast<U>(a) >> n); }
  static M ilt(I a, I b) { return a < b; }
  static M ieq(I a, I b) { return a == b; }
  static I to_int(V v) { return static_cast<I>(v); }
  static V from_int(I i) { return static_cast<V>(i); }
  template <class Fn>
  static V call_rare(M rare, V x, V usual) {
    return rare ? Fn::template eval<ScalarLane>(x) : usual;
  }

 private:
  template <class F>
  static V arith(V a, V b, F f) {
    if constexpr (kInteger) {
      return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
    } else {
      return f(a, b);
    }
  }
};

}  // namespace
}  // namespace md::blocks
