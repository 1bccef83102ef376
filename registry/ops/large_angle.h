// sin, cos and tan of arguments too large for the reduction in vector lanes: Payne and Hanek's method on one number.
// Reached through the builder's call_rare, so it need not be fast; float32 goes through float64. It is written over
// words and numbers of 64 bits, which are C++'s own (PlainWords) or those of a code generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "registry/ops/math_tables.h"

namespace md::math {

enum class AngleFunction { Sin, Cos, Tan };

// V: a float64. U: 64 bits without sign. M: a condition. B keeps the instantiations of files compiled for different
// processors apart.
template <class B>
struct PlainWords {
  using V = double;
  using U = std::uint64_t;
  using M = bool;
  V constant(double c) { return c; }
  V add(V a, V b) { return a + b; }
  V sub(V a, V b) { return a - b; }
  V mul(V a, V b) { return a * b; }
  V div(V a, V b) { return a / b; }
  V neg(V a) { return -a; }
  V fma(V a, V b, V c) { return __builtin_fma(a, b, c); }
  V select(M m, V a, V b) { return m ? a : b; }
  M mor(M a, M b) { return a || b; }
  U word(std::uint64_t c) { return c; }
  U uadd(U a, U b) { return a + b; }
  U usub(U a, U b) { return a - b; }
  U umul(U a, U b) { return a * b; }
  U umul_high(U a, U b) { return static_cast<U>(static_cast<unsigned __int128>(a) * b >> 64); }
  U uand(U a, U b) { return a & b; }
  U uor(U a, U b) { return a | b; }
  U uxor(U a, U b) { return a ^ b; }
  U shift_left(U a, U n) { return a << n; }  // n < 64
  U shift_right(U a, U n) { return a >> n; }
  U leading_zeros(U a) { return static_cast<U>(__builtin_clzll(a)); }  // a: not 0
  U uselect(M m, U a, U b) { return m ? a : b; }
  M ult(U a, U b) { return a < b; }
  M ueq(U a, U b) { return a == b; }
  U bits(V v) {
    U u;
    std::memcpy(&u, &v, sizeof u);
    return u;
  }
  V from_bits(U u) {
    V v;
    std::memcpy(&v, &u, sizeof v);
    return v;
  }
  V from_number(U u) { return static_cast<V>(static_cast<std::int64_t>(u)); }  // as a number with a sign
  U to_number(V v) { return static_cast<U>(static_cast<std::int64_t>(v)); }
  template <std::size_t kCount>
  U element(const std::uint64_t (&table)[kCount], U i) {
    return table[i];
  }
};

// An angle as quadrant * pi/2 + (high + low), |high| <= pi/4.
template <class N>
struct ReducedAngle {
  typename N::U quadrant;
  typename N::V high, low;
};

// A number of 128 bits, negative if its first bit is set, times 2^-126, as the sum of two.
template <class N>
void split_fraction(N& n, typename N::U first, typename N::U second, typename N::V& high, typename N::V& low) {
  const auto zero = n.word(0), sign = n.shift_right(first, n.word(63));
  const auto flip = n.usub(zero, sign);  // all ones: negate
  second = n.uadd(n.uxor(second, flip), sign);
  const auto carry = n.uselect(n.ueq(second, zero), sign, zero);
  first = n.uadd(n.uxor(first, flip), carry);
  // The leading one goes to bit 62 of the first word.
  const auto short_one = n.ult(first, n.word(1));
  const auto from = n.uselect(short_one, n.uor(second, n.word(1)), first);
  const auto zeros = n.leading_zeros(from);
  const auto left = n.uselect(n.ueq(zeros, zero), zero, n.usub(zeros, n.word(1)));
  const auto first_word = n.uselect(short_one, second, first), second_word = n.uselect(short_one, zero, second);
  const auto moved = n.shift_right(n.shift_right(second_word, n.word(1)), n.usub(n.word(63), left));
  auto top = n.uor(n.shift_left(first_word, left), moved);
  auto rest = n.shift_left(second_word, left);
  const auto right = n.uselect(n.ueq(zeros, zero), n.word(1), zero);  // it was bit 63
  rest = n.uselect(n.ueq(right, zero), rest, n.shift_left(top, n.word(63)));
  top = n.shift_right(top, right);
  const auto whole = n.from_number(top);
  const auto over = n.from_number(n.usub(top, n.to_number(whole)));
  const auto half = n.from_number(n.shift_right(rest, n.word(1)));
  const auto tail = n.fma(half, n.constant(0x1p-63), over);
  // 2^(64 - 126 + right - left), less 64 where the first word was empty; with the sign.
  auto exponent = n.usub(n.uadd(n.word(1023 - 62), right), left);
  exponent = n.usub(exponent, n.uselect(short_one, n.word(64), zero));
  const auto unit = n.from_bits(n.uor(n.shift_left(exponent, n.word(52)), n.shift_left(sign, n.word(63))));
  high = n.mul(whole, unit), low = n.mul(tail, unit);
}

// x: finite, at least 2^14. The product of its 53-bit significand with the 192 bits of 2/pi that decide the quadrant
// and 126 fraction bits; what is dropped is below 2^-126, and no double is closer than 2^-62 to a multiple of pi/2.
template <class N>
ReducedAngle<N> reduce_large_angle(N& n, typename N::V x) {
  using U = typename N::U;
  const U bits = n.bits(x);
  const U exponent = n.usub(n.shift_right(bits, n.word(52)), n.word(1075 - 62));
  const U significand = n.uor(n.uand(bits, n.word((1ull << 52) - 1)), n.word(1ull << 52));
  // The table has 64 leading zero bits; bits of weight 4 and above do not matter.
  const U word = n.shift_right(exponent, n.word(6)), shift = n.uand(exponent, n.word(63));
  U w[3];
  for (unsigned i = 0; i < 3; ++i) {
    const U a = n.element(math_tables::kTwoOverPi, n.uadd(word, n.word(i)));
    const U b = n.element(math_tables::kTwoOverPi, n.uadd(word, n.word(i + 1)));
    const U below = n.shift_right(n.shift_right(b, n.word(1)), n.usub(n.word(63), shift));
    w[i] = n.uor(n.shift_left(a, shift), below);
  }
  const U middle = n.umul(significand, w[1]), last = n.umul_high(significand, w[2]);
  const U second = n.uadd(middle, last);
  const U carry = n.uselect(n.ult(second, last), n.word(1), n.word(0));
  const U first = n.uadd(n.uadd(n.umul(significand, w[0]), n.umul_high(significand, w[1])), carry);
  const U quadrant = n.shift_right(n.uadd(first, n.word(1ull << 61)), n.word(62));
  ReducedAngle<N> angle{quadrant, n.constant(0), n.constant(0)};
  typename N::V high, low;
  split_fraction(n, n.usub(first, n.shift_left(quadrant, n.word(62))), second, high, low);
  const auto pi2 = n.constant(0x1.921fb54442d18p+0), pi2_low = n.constant(0x1.1a62633145c07p-54);
  angle.high = n.mul(high, pi2);
  angle.low = n.add(n.fma(high, pi2, n.neg(angle.high)), n.add(n.mul(high, pi2_low), n.mul(low, pi2)));
  return angle;
}

// sin(r + low) and cos(r + low) for |r| <= pi/4, each as a sum of two parts.
template <class N>
struct SineCosine {
  typename N::V sine, sine_low, cosine, cosine_low;
};
template <class N>
SineCosine<N> sine_cosine(N& n, typename N::V r, typename N::V low) {
  const auto z = n.mul(r, r), one = n.constant(1);
  auto ps = n.constant(0), pc = n.constant(0);
  for (int i = static_cast<int>(std::size(math_tables::kSin64)) - 1; i >= 0; --i)
    ps = n.fma(ps, z, n.constant(math_tables::kSin64[i]));
  for (int i = static_cast<int>(std::size(math_tables::kCos64)) - 1; i >= 0; --i)
    pc = n.fma(pc, z, n.constant(math_tables::kCos64[i]));
  const auto st = n.fma(n.mul(r, z), ps, n.mul(low, n.sub(one, n.mul(n.constant(0.5), z))));
  const auto ct = n.fma(z, pc, n.mul(n.neg(r), low));
  const auto s = n.add(r, st), c = n.add(one, ct);
  return {s, n.sub(st, n.sub(s, r)), c, n.sub(ct, n.sub(c, one))};
}

template <AngleFunction F>
struct LargeAngle {
  static constexpr const char* kName = F == AngleFunction::Sin   ? "minidynamo_large_sin"
                                       : F == AngleFunction::Cos ? "minidynamo_large_cos"
                                                                 : "minidynamo_large_tan";
  // Infinite and NaN become NaN.
  template <class N>
  static typename N::V evaluate(N& n, typename N::V x) {
    using V = typename N::V;
    const auto all = n.bits(x), one = n.word(1);
    const auto size = n.uand(all, n.word(~0ull >> 1)), negative = n.shift_right(all, n.word(63));
    const auto finite = n.ult(size, n.word(0x7ffull << 52));
    // Where it is not, some number takes its place meanwhile: the table has no word for it.
    const ReducedAngle<N> a = reduce_large_angle(n, n.from_bits(n.uselect(finite, size, n.bits(n.constant(0x1p20)))));
    const SineCosine<N> f = sine_cosine(n, a.high, a.low);
    const auto is_set = [&](typename N::U u) { return n.ueq(u, one); };
    const auto odd = is_set(n.uand(a.quadrant, one));
    const auto signed_by = [&](V v, typename N::U bit) {
      return n.from_bits(n.uxor(n.bits(v), n.shift_left(n.uand(bit, one), n.word(63))));
    };
    const auto upper = n.shift_right(a.quadrant, one);
    V result = n.constant(0);
    if (F == AngleFunction::Sin) {
      result = signed_by(n.select(odd, f.cosine, f.sine), n.uxor(upper, negative));
    } else if (F == AngleFunction::Cos) {
      result = signed_by(n.select(odd, f.sine, f.cosine), n.shift_right(n.uadd(a.quadrant, one), one));
    } else {
      const V over = quotient(n, f.cosine, f.cosine_low, f.sine, f.sine_low);
      const V under = quotient(n, f.sine, f.sine_low, f.cosine, f.cosine_low);
      result = signed_by(n.select(odd, n.neg(over), under), negative);
    }
    return n.select(finite, result, n.sub(x, x));
  }
  template <class N>
  static typename N::V quotient(N& n, typename N::V a, typename N::V a_low, typename N::V d, typename N::V d_low) {
    const auto q = n.div(a, d);
    return n.add(q, n.div(n.sub(n.add(n.fma(n.neg(q), d, a), a_low), n.mul(q, d_low)), d));
  }
  template <class B>
  static double eval(double x) {
    PlainWords<B> n;
    return evaluate(n, x);
  }
  template <class B>
  static float eval(float x) {
    return static_cast<float>(eval<B>(static_cast<double>(x)));
  }
};

}  // namespace md::math
