// Elementary functions as bodies over the builder concept (ops/builder.h): the same bits in scalar code, SIMD blocks
// and LLVM. Branch-free; at most 2 ULP everywhere (tests/ulp sweeps every float32), subnormals and special values
// included. Polynomials come from registry/fit_polynomials.py. Constants named High and Low are a number's two leading
// parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "registry/ops/large_angle.h"
#include "registry/ops/math_tables.h"

namespace md::math {

// What the integer tricks need to know of a format.
struct FloatFormat {
  int mantissa_bits;
  int bias;
  double round_magic;   // adding it rounds to an integer, found in the low bits of the sum
  double smallest;      // smallest normal number
  double subnormal_up;  // lifts every subnormal to a normal number ...
  int subnormal_shift;  // ... by this power of two
  std::int64_t sign;    // the sign bit
  std::int64_t root;    // bits of sqrt(1/2)
};
inline constexpr FloatFormat kFormat32{23, 127, 0x1.8p23, 0x1p-126, 0x1p25, 25, -2147483648ll, 0x3f3504f3};
inline constexpr FloatFormat kFormat64{52, 1023, 0x1.8p52, 0x1p-1022, 0x1p54, 54, INT64_MIN, 0x3fe6a09e667f3bcd};

inline constexpr double kInfinity = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");
// -pi/2 without its leading part
inline constexpr double kPio2Middle32 = 0x1.777a5cp-25, kPio2Low32 = 0x1.ee59dap-50;
inline constexpr double kPio2Middle64 = -0x1.1a62633145c07p-54, kPio2Low64 = 0x1.f1976b7ed8fbcp-110;
inline constexpr double kLog2e = 0x1.71547652b82fep+0;

template <class B>
const FloatFormat& format(B& b) {
  return b.is_double() ? kFormat64 : kFormat32;
}

// Picks the constant of the compute dtype.
template <class B>
typename B::V pick(B& b, double f32, double f64) {
  return b.constant(b.is_double() ? f64 : f32);
}

template <class B, std::size_t N>
typename B::V polynomial(B& b, typename B::V x, const double (&c)[N]) {
  auto p = b.constant(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) p = b.fma(p, x, b.constant(c[i]));
  return p;
}

template <class B>
typename B::I sign_bits(B& b, typename B::V x) {
  return b.iand(b.as_bits(x), b.iconst(format(b).sign));
}

// v with its sign flipped where `sign` (sign bits) is set.
template <class B>
typename B::V flip(B& b, typename B::V v, typename B::I sign) {
  return b.from_bits(b.ixor(b.as_bits(v), sign));
}

// i << mantissa_bits etc. for the compute dtype.
template <class B>
typename B::V power_of_two(B& b, typename B::I k) {
  const FloatFormat& f = format(b);
  return b.from_bits(b.ishl(b.iadd(k, b.iconst(f.bias)), f.mantissa_bits));
}

// Nearest integer of x * factor, as value and as integer; |x * factor| < 2^21 (2^50 for float64).
template <class B>
struct Nearest {
  typename B::V value;
  typename B::I integer;
};
template <class B>
Nearest<B> nearest(B& b, typename B::V x, double factor) {
  const double magic = format(b).round_magic;
  const auto t = b.fma(x, b.constant(factor), b.constant(magic));
  return {b.sub(t, b.constant(magic)), b.isub(b.as_bits(t), b.as_bits(b.constant(magic)))};
}

template <class B>
typename B::V small_int_to_float(B& b, typename B::I i) {
  const auto magic = b.constant(format(b).round_magic);
  return b.sub(b.from_bits(b.iadd(i, b.as_bits(magic))), magic);
}

// v * 2^k rounded once: |v| in (1/4, 4), so the first product is exact.
template <class B>
typename B::V scale(B& b, typename B::V v, const Nearest<B>& k) {
  if constexpr (requires { b.scale(v, k.value); }) {
    return b.scale(v, k.value);
  } else {
    const auto half = b.isar(k.integer, 1);
    return b.mul(b.mul(v, power_of_two(b, half)), power_of_two(b, b.isub(k.integer, half)));
  }
}

// The larger of x and the bound; NaN stays. Vector units have just that as one instruction.
template <class B>
typename B::V at_least(B& b, typename B::V x, double bound) {
  const auto c = b.constant(bound);
  if constexpr (requires { b.at_least(x, c); }) {
    return b.at_least(x, c);
  } else {
    return b.select(b.lt(x, c), c, x);
  }
}
template <class B>
typename B::V at_most(B& b, typename B::V x, double bound) {
  const auto c = b.constant(bound);
  if constexpr (requires { b.at_most(x, c); }) {
    return b.at_most(x, c);
  } else {
    return b.select(b.gt(x, c), c, x);
  }
}

// exp(r) for |r| <= ln(2)/2
template <class B>
typename B::V exp_of_reduced(B& b, typename B::V r) {
  const auto p =
      b.is_double() ? polynomial(b, r, math_tables::kExpShort64) : polynomial(b, r, math_tables::kExpShort32);
  return b.fma(r, p, b.constant(1));
}

template <class B>
typename B::V exp_tail(B& b, typename B::V r) {  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2
  return b.is_double() ? polynomial(b, r, math_tables::kExp64) : polynomial(b, r, math_tables::kExp32);
}

// x - k ln(2) in two parts, for the nearest k.
template <class B>
struct ExpReduced {
  Nearest<B> k;
  typename B::V r, low;
};
template <class B>
ExpReduced<B> reduce_exp(B& b, typename B::V x) {
  const auto k = nearest(b, x, kLog2e);
  const auto high = b.fma(k.value, pick(b, -0x1.62e4p-1, -0x1.62e42fefa3p-1), x);  // exact
  const auto ln2_low = pick(b, -0x1.7f7d1cp-20, -0x1.3de6af278ece6p-42);
  const auto r = b.fma(k.value, ln2_low, high);
  return {k, r, b.fma(k.value, ln2_low, b.sub(high, r))};
}

// A power of `x`, whose value is zero below `bound`. There the steps work on 0 instead: products that underflow are
// slow on most processors, and masked attention is full of them.
template <class B, class Power>
typename B::V zero_below(B& b, typename B::V x, double bound, Power&& power) {
  const auto zero = b.constant(0);
  const auto below = b.lt(x, b.constant(bound));
  return b.select(below, zero, power(b.select(below, zero, x)));
}

template <class B>
typename B::V exp(B& b, typename B::V x) {
  x = at_most(b, x, b.is_double() ? 710 : 89);
  return zero_below(b, x, b.is_double() ? -746 : -104, [&](typename B::V x) {
    const auto k = nearest(b, x, kLog2e);
    auto r = b.fma(k.value, pick(b, -0x1.62e4p-1, -0x1.62e42fefa3p-1), x);
    r = b.fma(k.value, pick(b, -0x1.7f7d1cp-20, -0x1.3de6af278ece6p-42), r);
    return scale(b, exp_of_reduced(b, r), k);
  });
}

template <class B>
typename B::V exp2(B& b, typename B::V x) {
  x = at_most(b, x, b.is_double() ? 1025 : 129);
  return zero_below(b, x, b.is_double() ? -1076 : -151, [&](typename B::V x) {
    const auto k = nearest(b, x, 1);
    const auto r = b.mul(b.sub(x, k.value), b.constant(0x1.62e42fefa39efp-1));
    return scale(b, exp_of_reduced(b, r), k);
  });
}

// An unevaluated sum; |low| is at most half an ulp of high, or nearly.
template <class B>
struct TwoPart {
  typename B::V high, low;
};

template <class B>
TwoPart<B> fast_two_sum(B& b, typename B::V large, typename B::V small) {
  const auto sum = b.add(large, small);
  return {sum, b.sub(small, b.sub(sum, large))};
}

// The same for any order of magnitude.
template <class B>
TwoPart<B> two_sum(B& b, typename B::V x, typename B::V y) {
  const auto sum = b.add(x, y);
  const auto x_part = b.sub(sum, y);
  return {sum, b.add(b.sub(x, x_part), b.sub(y, b.sub(sum, x_part)))};
}

// Half of exp(x) - 1, that is s (exp(r) - 1) + (s - 1/2) with s = 2^(k-1): s does not overflow before the result.
template <class B>
TwoPart<B> half_expm1(B& b, typename B::V x) {
  const auto c = at_most(b, at_least(b, x, b.is_double() ? -40 : -20), b.is_double() ? 710 : 89);
  const auto [k, r, low] = reduce_exp(b, c);
  const auto q = b.fma(b.mul(r, r), exp_tail(b, r), low);
  const auto s = power_of_two(b, b.isub(k.integer, b.iconst(1)));
  const auto m = b.sub(s, b.constant(0.5));
  const auto high = b.fma(s, r, m);
  const auto error = b.fma(s, r, b.sub(m, high));
  return {high, b.fma(s, q, error)};
}

template <class B>
typename B::V expm1(B& b, typename B::V x) {
  const auto half = half_expm1(b, x);
  const auto y = b.add(half.high, half.low);
  const auto tiny = b.lt(b.abs(x), pick(b, 0x1p-27, 0x1p-56));  // exp(x) - 1 rounds to x; also keeps -0
  return b.select(tiny, x, b.add(y, y));
}

// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), x > 0 and finite.
template <class B>
struct LogReduced {
  typename B::V exponent;
  typename B::I integer;  // the exponent
  typename B::V f;
};
template <class B>
LogReduced<B> reduce_log(B& b, typename B::V x) {
  const FloatFormat& f = format(b);
  const auto bits = b.as_bits(x);
  const auto e = b.isar(b.isub(bits, b.iconst(f.root)), f.mantissa_bits);
  const auto m = b.from_bits(b.isub(bits, b.ishl(e, f.mantissa_bits)));
  return {small_int_to_float(b, e), e, b.sub(m, b.constant(1))};
}
template <class B>
LogReduced<B> reduce_log_subnormal(B& b, typename B::V x) {
  const FloatFormat& f = format(b);
  const auto small = b.lt(x, b.constant(f.smallest));
  auto p = reduce_log(b, b.select(small, b.mul(x, b.constant(f.subnormal_up)), x));
  p.exponent = b.select(small, b.sub(p.exponent, b.constant(f.subnormal_shift)), p.exponent);
  return p;
}

// log(1 + f) - f, to a relative error that the sum with f attenuates.
template <class B>
typename B::V log_tail(B& b, typename B::V f) {
  if (b.is_double()) {
    const auto s = b.div(f, b.add(f, b.constant(2)));
    const auto z = b.mul(s, s);
    return b.mul(s, b.fma(z, polynomial(b, z, math_tables::kAtanh64), b.neg(f)));
  }
  return b.mul(b.mul(f, f), b.fma(f, polynomial(b, f, math_tables::kLog32), b.constant(-0.5)));
}

// Replaces y where log's argument is not positive and finite.
template <class B>
typename B::V log_special(B& b, typename B::V x, typename B::V y) {
  const auto zero = b.constant(0);
  y = b.select(b.lt(x, b.constant(kInfinity)), y, x);  // infinity, NaN
  y = b.select(b.eq(x, zero), b.constant(-kInfinity), y);
  return b.select(b.lt(x, zero), b.constant(kNaN), y);
}

// exponent * ln(2) + f + t
template <class B>
typename B::V log_sum(B& b, typename B::V exponent, typename B::V f, typename B::V t) {
  t = b.fma(exponent, pick(b, 0x1.7f7d1cp-20, 0x1.3de6af278ece6p-42), t);
  return b.fma(exponent, pick(b, 0x1.62e4p-1, 0x1.62e42fefa3p-1), b.add(f, t));
}

template <class B>
typename B::V log(B& b, typename B::V x) {
  const auto p = reduce_log_subnormal(b, x);
  return log_special(b, x, log_sum(b, p.exponent, p.f, log_tail(b, p.f)));
}

// The fraction of 1 + x is found without rounding 1 + x: (1 + x) 2^-e - 1 = x 2^-e + (2^-e - 1).
template <class B>
typename B::V log1p(B& b, typename B::V x) {
  const auto u = b.add(x, b.constant(1));
  const auto p = reduce_log(b, u);
  const auto large = b.gt(x, pick(b, 0x1p26, 0x1p56));  // 1 is below the rounding of x
  const auto s = power_of_two(b, b.iselect(large, b.iconst(0), b.isub(b.iconst(0), p.integer)));
  const auto f = b.select(large, p.f, b.fma(x, s, b.sub(s, b.constant(1))));
  const auto y = log_special(b, u, log_sum(b, p.exponent, f, log_tail(b, f)));
  return b.select(b.eq(x, b.constant(0)), x, y);  // keeps -0
}

// high + low = exponent * scale + (f + t) * factor, where scale and factor come in two parts; the first product is
// exact.
template <class B>
typename B::V log_scaled(B& b, const LogReduced<B>& p, typename B::V scale_high, typename B::V scale_low,
                         typename B::V factor_high, typename B::V factor_low) {
  const auto t = log_tail(b, p.f);
  const auto product = b.mul(p.f, factor_high);
  auto low = b.fma(p.f, factor_high, b.neg(product));
  low = b.add(low, b.fma(p.f, factor_low, b.mul(t, factor_high)));
  low = b.fma(p.exponent, scale_low, low);
  const auto whole = b.mul(p.exponent, scale_high);
  const auto sum = b.add(whole, product);
  return b.add(sum, b.add(b.sub(product, b.sub(sum, whole)), low));
}

template <class B>
typename B::V log2(B& b, typename B::V x) {
  const auto p = reduce_log_subnormal(b, x);
  const auto y = log_scaled(b, p, b.constant(1), b.constant(0), pick(b, 0x1.715476p+0, 0x1.71547652b82fep+0),
                            pick(b, 0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56));
  return log_special(b, x, y);
}

template <class B>
typename B::V log10(B& b, typename B::V x) {
  const auto p = reduce_log_subnormal(b, x);
  const auto y =
      log_scaled(b, p, pick(b, 0x1.344p-2, 0x1.34413509f7p-2), pick(b, 0x1.3509f8p-18, 0x1.3fde623e2566bp-43),
                 pick(b, 0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2), pick(b, -0x1.5b235ep-27, 0x1.95355baaafad3p-57));
  return log_special(b, x, y);
}

// size - k pi/2 for the nearest k, pi/2 in three parts: the first step is exact, the others round relative to their
// results.
template <class B>
struct AngleReduced {
  Nearest<B> k;
  typename B::V first, r;
};
template <class B>
AngleReduced<B> reduce_angle(B& b, typename B::V size) {
  const auto k = nearest(b, size, 0x1.45f306dc9c883p-1);
  const auto first = b.fma(k.value, pick(b, -0x1.921fb6p+0, -0x1.921fb54442d18p+0), size);
  const auto second = b.fma(k.value, pick(b, kPio2Middle32, kPio2Middle64), first);
  return {k, first, b.fma(k.value, pick(b, kPio2Low32, kPio2Low64), second)};
}
// The same r with what its rounding lost.
template <class B>
TwoPart<B> reduced_two_part(B& b, const AngleReduced<B>& a) {
  const auto middle = pick(b, kPio2Middle32, kPio2Middle64);
  const auto product = b.mul(a.k.value, middle);
  auto r = two_sum(b, a.first, product);
  r.low = b.add(r.low, b.fma(a.k.value, middle, b.neg(product)));
  r.low = b.fma(a.k.value, pick(b, kPio2Low32, kPio2Low64), r.low);
  return r;
}

// Beyond it the reduction's quotient is too coarse. False for NaN, which takes care of itself.
template <class B>
typename B::M large_angle(B& b, typename B::V size) {
  return b.ge(size, pick(b, 0x1p17, 0x1p30));
}

// sin(quadrant pi/2 + r)
template <class B>
typename B::V sine(B& b, typename B::I quadrant, typename B::V r) {
  const bool wide = b.is_double();
  const auto z = b.mul(r, r);
  const auto ps = wide ? polynomial(b, z, math_tables::kSin64) : polynomial(b, z, math_tables::kSin32);
  const auto pc = wide ? polynomial(b, z, math_tables::kCos64) : polynomial(b, z, math_tables::kCos32);
  const auto s = b.fma(b.mul(r, z), ps, r);
  const auto c = b.fma(z, pc, b.constant(1));
  const auto even = b.ieq(b.iand(quadrant, b.iconst(1)), b.iconst(0));
  const auto sign = b.iand(b.ishl(quadrant, wide ? 62 : 30), b.iconst(format(b).sign));
  return flip(b, b.select(even, s, c), sign);
}

template <class B>
typename B::V sin(B& b, typename B::V x) {
  const auto size = b.abs(x);  // a zero keeps its sign this way
  const auto a = reduce_angle(b, size);
  const auto usual = flip(b, sine(b, a.k.integer, a.r), sign_bits(b, x));
  return b.template call_rare<LargeAngle<AngleFunction::Sin>>(large_angle(b, size), x, usual);
}

template <class B>
typename B::V cos(B& b, typename B::V x) {
  const auto size = b.abs(x);
  const auto a = reduce_angle(b, size);
  const auto usual = sine(b, b.iadd(a.k.integer, b.iconst(1)), a.r);
  return b.template call_rare<LargeAngle<AngleFunction::Cos>>(large_angle(b, size), x, usual);
}

template <class B>
typename B::V tan(B& b, typename B::V x) {
  const auto size = b.abs(x);
  const auto a = reduce_angle(b, size);
  const auto [r, low] = reduced_two_part(b, a);
  const auto z = b.mul(r, r);
  const auto p = b.is_double() ? polynomial(b, z, math_tables::kTan64) : polynomial(b, z, math_tables::kTan32);
  const auto tail = b.mul(b.mul(r, z), p);
  const auto rough = b.add(r, tail);
  const auto slope = b.fma(rough, rough, b.constant(1));  // tan' = 1 + tan^2
  const auto t = b.add(r, b.fma(low, slope, tail));
  const auto even = b.ieq(b.iand(a.k.integer, b.iconst(1)), b.iconst(0));
  const auto usual = flip(b, b.select(even, t, b.div(b.constant(-1), t)), sign_bits(b, x));
  return b.template call_rare<LargeAngle<AngleFunction::Tan>>(large_angle(b, size), x, usual);
}

// n / (d + d_low) with one correction step.
template <class B>
typename B::V divide_two_part(B& b, TwoPart<B> n, TwoPart<B> d) {
  const auto inverse = b.div(b.constant(1), d.high);
  const auto q = b.mul(n.high, inverse);
  const auto rest = b.fma(b.neg(q), d.low, b.add(b.fma(b.neg(q), d.high, n.high), n.low));
  return b.fma(rest, inverse, q);
}

// float32: a polynomial near 0, else 1 - 2 / (exp(2|x|) + 1). float64: t / (t + 1) with t = (exp(2|x|) - 1) / 2.
template <class B>
typename B::V tanh(B& b, typename B::V x) {
  const auto size = b.abs(x);
  const auto twice = b.add(size, size);
  const auto one = b.constant(1), two = b.constant(2);
  typename B::V y;
  if (b.is_double()) {
    const auto half = half_expm1(b, at_most(b, twice, 44));
    const auto t = fast_two_sum(b, half.high, half.low);
    auto d = two_sum(b, t.high, one);
    d.low = b.add(d.low, t.low);
    const auto tiny = b.lt(size, b.constant(0x1p-28));
    y = b.select(tiny, size, divide_two_part(b, t, d));
  } else {
    const auto z = b.mul(size, size);
    const auto near = b.fma(b.mul(polynomial(b, z, math_tables::kTanh32), z), size, size);
    const auto far = b.sub(one, b.div(two, b.add(exp(b, twice), one)));
    y = b.select(b.lt(size, b.constant(0.6)), near, far);
  }
  return flip(b, y, sign_bits(b, x));
}

// 1 / (1 + exp(-x)), written with exp(-|x|) so that nothing overflows and tiny results stay accurate.
template <class B>
typename B::V sigmoid(B& b, typename B::V x) {
  const auto one = b.constant(1), zero = b.constant(0);
  const auto z = exp(b, b.neg(b.abs(x)));
  return divide_two_part(b, {b.select(b.lt(x, zero), z, one), zero}, fast_two_sum(b, one, z));
}

// A polynomial for |x| <= 1, else 1 - erfc(|x|).
template <class B>
typename B::V erf(B& b, typename B::V x) {
  const auto size = b.abs(x);
  const auto z = b.mul(size, size);
  const auto one = b.constant(1);
  typename B::V near, far;
  if (b.is_double()) {
    near = polynomial(b, z, math_tables::kErfSmall64);
    const auto a = at_most(b, size, 6), two = b.constant(2);
    const auto t = b.div(b.sub(a, two), b.add(a, two));
    far = b.mul(exp(b, b.neg(b.mul(a, a))), polynomial(b, t, math_tables::kErfcScaled64));
  } else {
    near = polynomial(b, z, math_tables::kErfSmall32);
    const auto t = b.sub(at_most(b, size, 4), b.constant(2.5));
    far = exp(b, polynomial(b, t, math_tables::kErfcLog32));
  }
  const auto y = b.select(b.lt(size, one), b.fma(size, near, size), b.sub(one, far));
  return flip(b, y, sign_bits(b, x));
}

template <class B>
typename B::V rsqrt(B& b, typename B::V x) {
  return b.div(b.constant(1), b.sqrt(x));
}

// log(1 + f) to about 33 (65) bits: the series of 2 atanh(s) with s = f / (2 + f) in two parts.
template <class B>
TwoPart<B> log_two_part(B& b, typename B::V f) {
  const auto two = b.constant(2);
  const auto d = b.add(f, two);
  const auto d_low = b.sub(f, b.sub(d, two));
  const auto inverse = b.div(b.constant(1), d);
  const auto s = b.mul(f, inverse);
  const auto rest = b.fma(b.neg(s), d_low, b.fma(b.neg(s), d, f));
  const auto s_low = b.mul(rest, inverse);
  const auto z = b.mul(s, s);
  const auto twice = b.add(s, s), twice_low = b.add(s_low, s_low);
  const auto z_low = b.fma(twice, s_low, b.fma(s, s, b.neg(z)));
  const auto cube = b.mul(z, s);
  const auto cube_low = b.add(b.fma(z, s, b.neg(cube)), b.fma(z_low, s, b.mul(z, s_low)));
  const auto third = b.constant(0x1.5555555555555p-1), third_low = pick(b, -0x1.555556p-26, 0x1.5555555555555p-55);
  const auto term = b.mul(cube, third);
  auto low = b.add(b.fma(cube, third, b.neg(term)), b.fma(cube, third_low, b.mul(cube_low, third)));
  const auto p = b.is_double() ? polynomial(b, z, math_tables::kAtanh564) : polynomial(b, z, math_tables::kAtanh532);
  low = b.fma(b.mul(cube, z), p, low);
  const auto sum = fast_two_sum(b, twice, term);
  return fast_two_sum(b, sum.high, b.add(sum.low, b.add(twice_low, low)));
}

// log2(x) in two parts for x >= 0; -inf and inf at the ends.
template <class B>
TwoPart<B> log2_two_part(B& b, typename B::V x) {
  const auto p = reduce_log_subnormal(b, x);
  const auto l = log_two_part(b, p.f);
  const auto factor = pick(b, 0x1.715476p+0, 0x1.71547652b82fep+0);
  const auto product = b.mul(l.high, factor);
  auto low = b.fma(l.high, factor, b.neg(product));
  low = b.add(low, b.fma(l.high, pick(b, 0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56), b.mul(l.low, factor)));
  const auto sum = fast_two_sum(b, p.exponent, product);
  auto r = fast_two_sum(b, sum.high, b.add(sum.low, low));
  const auto infinity = b.constant(kInfinity), zero = b.constant(0);
  const auto end = b.mor(b.eq(x, zero), b.eq(x, infinity));
  r.high = b.select(end, b.select(b.eq(x, zero), b.constant(-kInfinity), infinity), r.high);
  r.low = b.select(end, zero, r.low);
  return r;
}

// |x|^y = 2^(y log2|x|)
template <class B>
typename B::V pow_of_size(B& b, typename B::V size, typename B::V y) {
  const auto l = log2_two_part(b, size);
  const auto product = b.mul(y, l.high);
  const double bound = b.is_double() ? 1100 : 160;
  const auto inside = b.lt(b.abs(product), b.constant(bound));
  const auto rest = b.fma(y, l.low, b.fma(y, l.high, b.neg(product)));
  const auto low = b.select(inside, rest, b.constant(0));
  const auto high = at_most(b, at_least(b, product, -bound), bound);
  const auto k = nearest(b, high, 1);
  const auto ln2 = b.constant(0x1.62e42fefa39efp-1);
  const auto r = b.mul(b.add(b.sub(high, k.value), low), ln2);
  return scale(b, exp_of_reduced(b, r), k);
}

// C's pow, special cases included.
template <class B>
typename B::V pow(B& b, typename B::V x, typename B::V y) {
  const auto zero = b.constant(0), one = b.constant(1), half = b.constant(0.5);
  const auto size = b.abs(x);
  auto r = b.select(b.eq(size, one), one, pow_of_size(b, size, y));
  const auto integral = b.eq(b.floor(y), y);
  const auto half_y = b.mul(y, half);
  const auto odd = b.mand(integral, b.ne(b.floor(half_y), half_y));
  r = flip(b, r, b.iselect(odd, sign_bits(b, x), b.iconst(0)));
  const auto negative = b.mand(b.lt(x, zero), b.gt(x, b.constant(-kInfinity)));
  const auto nan = b.mor(b.mor(b.ne(x, x), b.ne(y, y)), b.mand(negative, b.mnot(integral)));
  r = b.select(nan, b.constant(kNaN), r);
  return b.select(b.mor(b.eq(y, zero), b.eq(x, one)), one, r);
}

}  // namespace md::math
