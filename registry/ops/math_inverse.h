// Inverse trigonometric and hyperbolic functions, sinh, cosh and erfc, as bodies like those of math.h: at most 2 ULP
// everywhere. Where a step would lose more than its rounding, a value is kept in two parts to the last addition.
#pragma once

#include "registry/ops/math.h"

namespace md::math {

// The leading and the next part of pi / 2.
template <class B>
TwoPart<B> half_pi(B& b) {
  return {pick(b, 0x1.921fb6p+0, 0x1.921fb54442d18p+0), pick(b, -0x1.777a5cp-25, 0x1.1a62633145c07p-54)};
}

// base - x - tail for base >= |x|, where x and the small tail are what two-part steps before gave.
template <class B>
typename B::V base_minus(B& b, TwoPart<B> base, typename B::V x, typename B::V tail) {
  const auto sum = fast_two_sum(b, base.high, b.neg(x));
  return b.add(sum.high, b.add(sum.low, b.sub(base.low, tail)));
}

// (asin(x) - x) / x^3 as a function of x^2 <= 1/4
template <class B>
typename B::V asin_tail(B& b, typename B::V z) {
  return b.is_double() ? polynomial(b, z, math_tables::kAsin64) : polynomial(b, z, math_tables::kAsin32);
}

// asin(s) in two parts for s = sqrt((1 - size) / 2), half the angle whose cosine is `size`; 1/2 <= size <= 1.
template <class B>
TwoPart<B> half_angle(B& b, typename B::V size) {
  const auto half = b.constant(0.5), zero = b.constant(0);
  const auto z = b.mul(b.sub(b.constant(1), size), half);  // exact
  const auto s = b.sqrt(z);
  const auto lost = b.select(b.eq(s, zero), zero, b.div(b.mul(b.fma(b.neg(s), s, z), half), s));
  return {s, b.fma(b.mul(s, z), asin_tail(b, z), lost)};
}

// A polynomial for |x| <= 1/2, else pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
template <class B>
typename B::V asin(B& b, typename B::V x) {
  const auto size = b.abs(x), two = b.constant(2);
  const auto z = b.mul(size, size);
  const auto near = b.fma(b.mul(size, z), asin_tail(b, z), size);
  const auto half = half_angle(b, size);
  const auto far = base_minus(b, half_pi(b), b.mul(half.high, two), b.mul(half.low, two));
  return flip(b, b.select(b.le(size, b.constant(0.5)), near, far), sign_bits(b, x));
}

template <class B>
typename B::V acos(B& b, typename B::V x) {
  const auto size = b.abs(x), two = b.constant(2), zero = b.constant(0);
  const auto z = b.mul(size, size);
  const TwoPart<B> right = half_pi(b), straight{b.mul(right.high, two), b.mul(right.low, two)};
  const auto near = base_minus(b, right, x, b.mul(b.mul(x, z), asin_tail(b, z)));
  const auto half = half_angle(b, size);
  const auto angle = b.mul(half.high, two), tail = b.mul(half.low, two);
  const auto far = b.select(b.lt(x, zero), base_minus(b, straight, angle, tail), b.add(angle, tail));
  return b.select(b.le(size, b.constant(0.5)), near, far);
}

// n / d in two parts.
template <class B>
TwoPart<B> quotient_two_part(B& b, TwoPart<B> n, TwoPart<B> d) {
  const auto inverse = b.div(b.constant(1), d.high);
  const auto q = b.mul(n.high, inverse);
  const auto rest = b.fma(b.neg(q), d.low, b.add(b.fma(b.neg(q), d.high, n.high), n.low));
  return {q, b.mul(rest, inverse)};
}

// atan(low / high) for 0 <= low <= high, the quotient not near the ends of the range of floats: high + tail, to be
// added to pi/4 where `middle` says so.
template <class B>
struct OctantAngle {
  typename B::V high, tail;
  typename B::M middle;
};
template <class B>
OctantAngle<B> octant_angle(B& b, typename B::V low, typename B::V high) {
  const auto zero = b.constant(0);
  const auto middle = b.gt(low, b.mul(high, b.constant(0x1.a8279ap-2)));  // tan(pi/8)
  const auto difference = fast_two_sum(b, b.neg(high), low), sum = fast_two_sum(b, high, low);
  const TwoPart<B> n{b.select(middle, difference.high, low), b.select(middle, difference.low, zero)};
  const TwoPart<B> d{b.select(middle, sum.high, high), b.select(middle, sum.low, zero)};
  const auto u = quotient_two_part(b, n, d);
  const auto z = b.mul(u.high, u.high);
  const auto p = b.is_double() ? polynomial(b, z, math_tables::kAtan64) : polynomial(b, z, math_tables::kAtan32);
  const auto lost = b.fma(b.neg(z), u.low, u.low);  // times the derivative, nearly
  return {u.high, b.fma(b.mul(u.high, z), p, lost), middle};
}

// base + angle, or base - angle where `minus`.
template <class B>
typename B::V add_angle(B& b, typename B::V base_high, typename B::V base_low, const OctantAngle<B>& angle,
                        typename B::M minus) {
  const auto high = b.select(minus, angle.high, b.neg(angle.high));
  const auto tail = b.select(minus, angle.tail, b.neg(angle.tail));
  return base_minus(b, TwoPart<B>{base_high, base_low}, high, tail);
}

template <class B>
typename B::V atan(B& b, typename B::V x) {
  const auto one = b.constant(1), zero = b.constant(0), half = b.constant(0.5);
  const auto size = at_most(b, b.abs(x), 0x1p60);  // from there on pi/2
  const auto over = b.gt(size, one);
  const auto angle = octant_angle(b, b.select(over, one, size), b.select(over, size, one));
  const auto right = half_pi(b);
  const auto part = [&](typename B::V whole) {
    return b.select(angle.middle, b.mul(whole, half), b.select(over, whole, zero));
  };
  return flip(b, add_angle(b, part(right.high), part(right.low), angle, over), sign_bits(b, x));
}

// Brings the larger of two sizes well inside the range, the quotient unchanged; zeros and infinities become 0 and 1.
template <class B>
struct AngleSides {
  typename B::V low, high;
};
template <class B>
AngleSides<B> angle_sides(B& b, typename B::V low, typename B::V high) {
  const auto one = b.constant(1), zero = b.constant(0), infinity = b.constant(kInfinity);
  const auto endless = b.eq(high, infinity);
  low = b.select(endless, b.select(b.eq(low, infinity), one, zero), low);
  high = b.select(b.mor(endless, b.eq(high, zero)), one, high);
  const auto up = pick(b, 0x1p80, 0x1p600), down = pick(b, 0x1p-30, 0x1p-300);
  const auto factor =
      b.select(b.gt(high, pick(b, 0x1p100, 0x1p900)), down, b.select(b.lt(high, pick(b, 0x1p-60, 0x1p-500)), up, one));
  return {b.mul(low, factor), b.mul(high, factor)};
}

// The angle of the point (x, y), as C's atan2.
template <class B>
typename B::V atan2(B& b, typename B::V y, typename B::V x) {
  const auto tall = b.abs(y), wide = b.abs(x), zero = b.constant(0), half = b.constant(0.5), two = b.constant(2);
  const auto steep = b.gt(tall, wide);
  const auto sides = angle_sides(b, b.select(steep, wide, tall), b.select(steep, tall, wide));
  const auto angle = octant_angle(b, sides.low, sides.high);
  const auto left = b.ilt(b.as_bits(x), b.iconst(0));
  const auto right = half_pi(b);
  // In quarters of pi: middle 1 or 3, steep 2, else 0 or 4. The leading part of 3/4 pi is rounded on its own.
  const auto base = [&](typename B::V whole, typename B::V three_quarters) {
    const auto level = b.select(left, b.mul(whole, two), zero);
    const auto slanted = b.select(left, three_quarters, b.mul(whole, half));
    return b.select(angle.middle, slanted, b.select(steep, whole, level));
  };
  const auto high = base(right.high, pick(b, 0x1.2d97c8p+1, 0x1.2d97c7f3321d2p+1));
  const auto low = base(right.low, pick(b, -0x1.99bc5cp-28, 0x1.a79394c9e8a0ap-54));
  const auto r = flip(b, add_angle(b, high, low, angle, b.mxor(steep, left)), sign_bits(b, y));
  return b.select(b.mor(b.ne(x, x), b.ne(y, y)), b.constant(kNaN), r);
}

// --- Hyperbolic ----------------------------------------------------------------------------------------------------

// exp(x) / 2, finite a little longer than exp(x).
template <class B>
typename B::V half_exp(B& b, typename B::V x) {
  const auto [k, r, low] = reduce_exp(b, at_most(b, x, b.is_double() ? 711 : 90));
  const Nearest<B> less{b.sub(k.value, b.constant(1)), b.isub(k.integer, b.iconst(1))};
  return scale(b, exp_of_reduced(b, b.add(r, low)), less);
}

template <class B>
typename B::M beyond_hyperbolic(B& b, typename B::V size) {  // exp(-size) is below the rounding of exp(size)
  return b.gt(size, pick(b, 12, 24));
}

// With h = (exp(|x|) - 1) / 2: h + h / (2 h + 1).
template <class B>
typename B::V sinh(B& b, typename B::V x) {
  const auto size = b.abs(x), one = b.constant(1);
  const auto half = half_expm1(b, at_most(b, size, 30));
  const auto h = fast_two_sum(b, half.high, half.low);
  auto d = two_sum(b, b.add(h.high, h.high), one);
  d.low = b.add(d.low, b.add(h.low, h.low));
  const auto q = quotient_two_part(b, h, d);
  const auto sum = fast_two_sum(b, h.high, q.high);
  const auto near = b.add(sum.high, b.add(sum.low, b.add(h.low, q.low)));
  const auto usual = b.select(b.lt(size, pick(b, 0x1p-14, 0x1p-28)), size, near);
  return flip(b, b.select(beyond_hyperbolic(b, size), half_exp(b, size), usual), sign_bits(b, x));
}

// With w = exp(|x|) / 2: w + 1 / (4 w).
template <class B>
typename B::V cosh(B& b, typename B::V x) {
  const auto size = b.abs(x);
  const auto half = half_expm1(b, at_most(b, size, 30));
  const auto h = fast_two_sum(b, half.high, half.low);
  auto w = two_sum(b, h.high, b.constant(0.5));
  w.low = b.add(w.low, h.low);
  const auto q = b.div(b.constant(0.25), w.high);
  const auto sum = fast_two_sum(b, w.high, q);
  const auto near = b.add(sum.high, b.add(sum.low, w.low));
  return b.select(beyond_hyperbolic(b, size), half_exp(b, size), near);
}

// log(1 + x) for x >= 0 in two parts.
template <class B>
typename B::V log1p_two_part(B& b, TwoPart<B> x) {
  const auto u = b.add(x.high, b.constant(1));
  const auto p = reduce_log(b, u);
  const auto s = power_of_two(b, b.isub(b.iconst(0), p.integer));
  const auto f = b.fma(x.high, s, b.sub(s, b.constant(1)));
  const auto tail = b.add(log_tail(b, f), b.div(x.low, u));
  return log_sum(b, p.exponent, f, tail);
}

// log(2 x) for large x.
template <class B>
typename B::V log_of_twice(B& b, typename B::V x) {
  const auto p = reduce_log(b, x);
  return log_special(b, x, log_sum(b, b.add(p.exponent, b.constant(1)), p.f, log_tail(b, p.f)));
}

// What sqrt(x) rounds away.
template <class B>
TwoPart<B> sqrt_two_part(B& b, TwoPart<B> x) {
  const auto r = b.sqrt(x.high), zero = b.constant(0);
  const auto rest = b.add(b.fma(b.neg(r), r, x.high), x.low);
  return {r, b.select(b.eq(r, zero), zero, b.div(b.mul(rest, b.constant(0.5)), r))};
}

template <class B>
TwoPart<B> square_plus(B& b, typename B::V x, double c) {
  const auto p = b.mul(x, x);
  auto sum = two_sum(b, p, b.constant(c));
  sum.low = b.add(sum.low, b.fma(x, x, b.neg(p)));
  return sum;
}

constexpr double kLogOfTwice32 = 0x1p13, kLogOfTwice64 = 0x1p28;  // sqrt(x^2 + 1) is x from there on

// log(1 + x + x^2 / (1 + sqrt(1 + x^2)))
template <class B>
typename B::V asinh(B& b, typename B::V x) {
  const auto size = b.abs(x), one = b.constant(1);
  const double bound = b.is_double() ? kLogOfTwice64 : kLogOfTwice32;
  const auto s = at_most(b, size, bound);
  const auto square = b.mul(s, s);
  const auto root = sqrt_two_part(b, square_plus(b, s, 1));
  auto d = fast_two_sum(b, root.high, one);
  d.low = b.add(d.low, root.low);
  const auto q = quotient_two_part(b, {square, b.fma(s, s, b.neg(square))}, d);
  auto a = fast_two_sum(b, s, q.high);
  a.low = b.add(a.low, q.low);
  const auto usual = b.select(b.lt(size, pick(b, 0x1p-14, 0x1p-28)), size, log1p_two_part(b, a));
  return flip(b, b.select(b.le(size, b.constant(bound)), usual, log_of_twice(b, size)), sign_bits(b, x));
}

// log(1 + t + sqrt(x^2 - 1)) with t = x - 1; NaN below 1.
template <class B>
typename B::V acosh(B& b, typename B::V x) {
  const auto one = b.constant(1);
  const double bound = b.is_double() ? kLogOfTwice64 : kLogOfTwice32;
  const auto s = at_most(b, at_least(b, x, 1), bound);
  const auto square = square_plus(b, s, -1);
  const auto root = sqrt_two_part(b, fast_two_sum(b, square.high, square.low));
  const auto t = fast_two_sum(b, s, b.constant(-1));
  auto a = fast_two_sum(b, root.high, t.high);
  a.low = b.add(a.low, b.add(root.low, t.low));
  const auto usual = b.select(b.eq(s, one), b.constant(0), log1p_two_part(b, a));
  const auto y = b.select(b.le(x, b.constant(bound)), usual, log_of_twice(b, x));
  return b.select(b.lt(x, one), b.constant(kNaN), y);
}

// log(1 + 2 |x| / (1 - |x|)) / 2
template <class B>
typename B::V atanh(B& b, typename B::V x) {
  const auto size = b.abs(x), one = b.constant(1), zero = b.constant(0);
  const auto inside = b.lt(size, one);
  const auto s = b.select(inside, size, zero);
  const auto a = quotient_two_part(b, {b.add(s, s), zero}, fast_two_sum(b, one, b.neg(s)));
  auto y = b.mul(log1p_two_part(b, a), b.constant(0.5));
  y = b.select(b.lt(size, pick(b, 0x1p-14, 0x1p-28)), size, y);
  y = b.select(inside, y, b.select(b.eq(size, one), b.constant(kInfinity), b.constant(kNaN)));
  return flip(b, y, sign_bits(b, x));
}

// --- Error function ------------------------------------------------------------------------------------------------

// erfc(x) exp(x^2) for x >= 3/4 in two parts: polynomials around 3/2 and, from 5/2 on, around infinity.
template <class B>
TwoPart<B> scaled_erfc(B& b, typename B::V x) {
  const auto one = b.constant(1), zero = b.constant(0);
  const auto t = b.sub(x, b.constant(1.5)), w = b.div(one, b.mul(x, x));
  typename B::V middle_slope, far_slope;
  if (b.is_double()) {
    middle_slope = polynomial(b, t, math_tables::kErfcMiddle64);
    far_slope = polynomial(b, w, math_tables::kErfcFar64);
  } else {
    middle_slope = polynomial(b, t, math_tables::kErfcMiddle32);
    far_slope = polynomial(b, w, math_tables::kErfcFar32);
  }
  const auto middle = b.lt(x, b.constant(2.5));
  const auto start = b.select(middle, pick(b, 0x1.494dbp-2, 0x1.494daffa2ad68p-2),  // erfc(3/2) exp(9/4)
                              pick(b, 0x1.20dd76p-1, 0x1.20dd750429b6dp-1));        // 1 / sqrt(pi)
  const auto start_low =
      b.select(middle, pick(b, -0x1.754a5ep-32, 0x1.39bdf0f0d8e21p-56), pick(b, -0x1.f7ac92p-26, 0x1.1ae3a914fed8p-57));
  auto sum = two_sum(b, start, b.mul(b.select(middle, t, w), b.select(middle, middle_slope, far_slope)));
  sum.low = b.add(sum.low, start_low);
  return quotient_two_part(b, sum, {b.select(middle, one, x), zero});
}

// 1 - erf(x), relative to itself: near 0 from erf's polynomial, else exp(-x^2) times a slowly varying function.
template <class B>
typename B::V erfc(B& b, typename B::V x) {
  const auto size = b.abs(x), one = b.constant(1), zero = b.constant(0), two = b.constant(2);
  const auto z = b.mul(size, size);
  const auto p =
      b.is_double() ? polynomial(b, z, math_tables::kErfSmall64) : polynomial(b, z, math_tables::kErfSmall32);
  const auto rest = fast_two_sum(b, one, b.neg(x));
  const auto near = b.add(rest.high, b.fma(b.neg(x), p, rest.low));

  const auto a = at_most(b, at_least(b, size, 0.75), b.is_double() ? 28 : 10.5);
  const auto square = b.mul(a, a);
  const auto k = nearest(b, b.neg(square), kLog2e);
  const auto high = b.fma(k.value, pick(b, -0x1.62e4p-1, -0x1.62e42fefa3p-1), b.neg(square));
  const auto low = b.fma(k.value, pick(b, -0x1.7f7d1cp-20, -0x1.3de6af278ece6p-42), b.fma(b.neg(a), a, square));
  const auto r = fast_two_sum(b, high, low);
  const auto q = scaled_erfc(b, a);
  const auto curve = b.fma(b.mul(r.high, r.high), exp_tail(b, r.high), r.low);  // exp(r) - 1 - r
  const auto growth = b.fma(q.high, r.high, b.fma(q.high, curve, q.low));
  const auto y = scale(b, b.add(q.high, growth), k);
  const auto far = b.select(b.lt(x, zero), b.sub(two, y), y);
  return b.select(b.lt(size, b.constant(0.75)), near, far);
}

}  // namespace md::math
