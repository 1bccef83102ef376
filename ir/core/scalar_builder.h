// The builder that runs a body on one element: the reference every other tier is compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "registry/half.h"

namespace md {

// The C++ type of a stored element, and of the values bodies compute with (DTypeInfo::working).
template <class T>
using WorkingOf = std::conditional_t<
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float,
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4, std::int32_t, T>>;

template <class T>
WorkingOf<T> widen(T v) {
  if constexpr (std::is_class_v<T>) {
    return widened(v);
  } else {
    return v;
  }
}
// Halves round, small integers wrap.
template <class T>
T narrow(WorkingOf<T> v) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(v);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(v);
  } else {
    return static_cast<T>(v);
  }
}

// The defined conversion between element types (docs/numerics.md).
template <class To, class From>
To convert_value(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (!std::is_same_v<From, WorkingOf<From>> || !std::is_same_v<To, WorkingOf<To>>) {
    return narrow<To>(convert_value<WorkingOf<To>>(widen(v)));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Both bounds are powers of two and exact in every float type; NaN fails the comparison.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    return v >= low && v < -low ? static_cast<To>(v) : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(v);
  }
}

template <class T>
class ScalarBuilder {
 public:
  using V = T;
  using I = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using M = bool;
  static constexpr bool kInteger = std::is_integral_v<T>;

  static constexpr int width() { return sizeof(T) * 8; }
  static constexpr bool is_double() { return std::is_same_v<T, double>; }
  V constant(double c) { return static_cast<V>(c); }
  I iconst(std::int64_t c) { return static_cast<I>(c); }
  V lowest() { return limits(-1); }
  V highest() { return limits(1); }

  V add(V x, V y) {
    return wrap(x, y, [](auto a, auto b) { return a + b; });
  }
  V sub(V x, V y) {
    return wrap(x, y, [](auto a, auto b) { return a - b; });
  }
  V mul(V x, V y) {
    return wrap(x, y, [](auto a, auto b) { return a * b; });
  }
  V neg(V x) {
    if constexpr (kInteger) return sub(0, x);
    return -x;
  }
  V div(V x, V y)
    requires(!kInteger)
  {
    return x / y;
  }
  V fmod(V x, V y)
    requires(!kInteger)
  {
    return std::fmod(x, y);
  }
  V sqrt(V x)
    requires(!kInteger)
  {
    return std::sqrt(x);
  }
  V fma(V x, V y, V z)
    requires(!kInteger)
  {
    return std::fma(x, y, z);
  }
  V floor(V x)
    requires(!kInteger)
  {
    return std::floor(x);
  }
  V ceil(V x)
    requires(!kInteger)
  {
    return std::ceil(x);
  }
  V trunc(V x)
    requires(!kInteger)
  {
    return std::trunc(x);
  }
  V rint(V x)
    requires(!kInteger)
  {
    return std::nearbyint(x);
  }
  V abs(V x)
    requires(!kInteger)
  {
    return std::fabs(x);
  }
  V idiv(V x, V y)
    requires kInteger
  {
    return x / y;
  }
  V imod(V x, V y)
    requires kInteger
  {
    return x % y;
  }

  M lt(V x, V y) { return x < y; }
  M le(V x, V y) { return x <= y; }
  M gt(V x, V y) { return x > y; }
  M ge(V x, V y) { return x >= y; }
  M eq(V x, V y) { return x == y; }
  M ne(V x, V y) { return x != y; }
  V select(M m, V x, V y) { return m ? x : y; }
  I iselect(M m, I x, I y) { return m ? x : y; }
  M mand(M x, M y) { return x && y; }
  M mor(M x, M y) { return x || y; }
  M mxor(M x, M y) { return x != y; }
  M mnot(M x) { return !x; }
  M mconst(bool c) { return c; }

  I as_bits(V x) { return std::bit_cast<I>(x); }
  V from_bits(I x) { return std::bit_cast<V>(x); }
  I iadd(I x, I y) { return static_cast<I>(U(x) + U(y)); }
  I isub(I x, I y) { return static_cast<I>(U(x) - U(y)); }
  I imul(I x, I y) { return static_cast<I>(U(x) * U(y)); }
  I iand(I x, I y) { return x & y; }
  I ior(I x, I y) { return x | y; }
  I ixor(I x, I y) { return x ^ y; }
  I ishl(I x, int n) { return static_cast<I>(U(x) << n); }
  I isar(I x, int n) { return x >> n; }
  I ishr(I x, int n) { return static_cast<I>(U(x) >> n); }
  M ilt(I x, I y) { return x < y; }
  M ieq(I x, I y) { return x == y; }
  I to_int(V x) { return static_cast<I>(x); }
  V from_int(I x) { return static_cast<V>(x); }
  template <class Fn>
  V call_rare(M rare, V x, V usual) {
    return rare ? Fn::template eval<ScalarBuilder>(x) : usual;
  }

 private:
  using U = std::make_unsigned_t<I>;

  static V limits(int sign) {
    using L = std::numeric_limits<V>;
    if constexpr (kInteger) return sign < 0 ? L::min() : L::max();
    return static_cast<V>(sign) * L::infinity();
  }
  // Signed overflow is undefined in C++, so integers go through unsigned.
  template <class F>
  static V wrap(V x, V y, F f) {
    if constexpr (kInteger) {
      return static_cast<V>(f(static_cast<U>(x), static_cast<U>(y)));
    } else {
      return f(x, y);
    }
  }
};

}  // namespace md
