// Elementary functions of float64s and of wide numbers, of which the formulas of special functions are made. Those of
// float64 are the bodies of registry/ops.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/core/scalar_builder.h"
#include "ir/reference/special_tables.h"
#include "ir/reference/wide.h"
#include "registry/ops/math.h"
#include "registry/ops/math_inverse.h"

namespace md::formulas {

inline double leading(double x) { return x; }
inline double leading(const Wide& x) { return x.high; }

// What a formula knows of its numbers.
template <class W>
inline constexpr bool is_wide = std::is_same_v<W, Wide>;
template <class W>
constexpr W number(double high, double low) {
  if constexpr (is_wide<W>) return Wide(high, low);
  return high;
}
template <class W>
constexpr W tabulated(const Pair& p) {
  return number<W>(p.high, p.low);
}
// 1 / k for k up to 120, which saves divisions in series.
template <class W>
constexpr W inverse(int k) {
  return tabulated<W>(kInverse[k][0]);
}
// c[first] + c[first + step] x + c[first + 2 step] x^2 + ... up to c[last]. From `narrow` on terms are so small that
// float64 does.
template <class W, std::size_t kCount>
W series(const Pair (&c)[kCount][1], int first, int last, int step, int narrow, const W& x) {
  int k = last;
  double rest = 0;
  for (; k >= narrow; k -= step) rest = rest * leading(x) + c[k][0].high;
  W sum = rest;
  for (; k >= first; k -= step) sum = sum * x + tabulated<W>(c[k][0]);
  return sum;
}
// Terms of a sum below its share of this do not matter.
template <class W>
inline constexpr double kTiny = is_wide<W> ? 0x1p-68 : 0x1p-55;
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

template <class W>
constexpr W pi() {
  return number<W>(0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
}
template <class W>
constexpr W egamma() {
  return number<W>(0x1.2788cfc6fb619p-1, -0x1.6cb90701fbfabp-58);
}
template <class W>
constexpr W sqrt2() {
  return number<W>(0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54);
}
template <class W>
constexpr W ln2() {
  return number<W>(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
}

// --- Of float64 ------------------------------------------------------------------------------------------------------

inline double sqrt(double x) { return std::sqrt(x); }
#define MD_OF_FLOAT64(name)                        \
  [[gnu::noinline]] inline double name(double x) { \
    ScalarBuilder<double> b;                       \
    return math::name(b, x);                       \
  }
MD_OF_FLOAT64(exp)
MD_OF_FLOAT64(expm1)
MD_OF_FLOAT64(log)
MD_OF_FLOAT64(log1p)
MD_OF_FLOAT64(sin)
MD_OF_FLOAT64(cos)
MD_OF_FLOAT64(tan)
MD_OF_FLOAT64(acos)
MD_OF_FLOAT64(erf)
MD_OF_FLOAT64(erfc)
#undef MD_OF_FLOAT64
[[gnu::noinline]] inline double power(double x, double y) {
  ScalarBuilder<double> b;
  return math::pow(b, x, y);
}

// --- Of both ---------------------------------------------------------------------------------------------------------

template <class W>
bool is_nan(const W& x) {
  return leading(x) != leading(x);
}
template <class W>
bool is_infinite(const W& x) {
  return leading(x) == kInfinite || leading(x) == -kInfinite;
}
template <class W>
bool is_finite(const W& x) {
  return leading(x) - leading(x) == 0;
}
template <class W>
bool is_negative(const W& x) {  // -0 too
  return std::bit_cast<std::int64_t>(leading(x)) < 0;
}
template <class W>
W size_of_number(const W& x) {
  return is_negative(x) ? -x : x;
}
template <class W>
W with_sign(const W& size, const W& sign) {
  return is_negative(sign) ? -size : size;
}
inline double floored(double x) { return std::floor(x); }
inline Wide floored(const Wide& x) {
  const double whole = std::floor(x.high);
  return whole == x.high ? Wide::joined(whole, std::floor(x.low)) : Wide(whole);
}
template <class W>
W truncated(const W& x) {
  return is_negative(x) ? -floored(-x) : floored(x);
}
// Whether a term is too small to change a sum.
template <class W>
bool is_done(const W& term, const W& sum) {
  return !(std::fabs(leading(term)) > kTiny<W> * std::fabs(leading(sum)));
}

// --- Of wide numbers -------------------------------------------------------------------------------------------------

// x 2^k
inline Wide scaled(const Wide& x, int k) {
  const auto power_of_two = [](int e) { return std::bit_cast<double>(std::int64_t{e + 1023} << 52); };
  const double first = power_of_two(k / 2), second = power_of_two(k - k / 2);
  const double high = x.high * first * second;
  return Wide::joined(high, x.low * first * second);
}

// exp(x) - 1 for |x| below 1/4, or with fewer terms below 1/32.
[[gnu::noinline]] inline Wide expm1_near_zero(const Wide& x, int terms, int narrow) {
  return series(kInverseFactorial, 1, terms, 1, narrow, x) * x;
}

[[gnu::noinline]] inline Wide exp(const Wide& x) {
  if (!(x.high < 710)) return x.high > 0 ? Wide(kInfinite) : x;
  if (x.high < -750) return 0;
  const int k = static_cast<int>(std::floor(x.high * 0x1.71547652b82fep+0 + 0.5));
  Wide r = x - Wide(k) * ln2<Wide>();
  r = {r.high * 0x1p-4, r.low * 0x1p-4};
  Wide y = expm1_near_zero(r, 11, 5);
  for (int i = 0; i < 4; ++i) y = y * y + y + y;  // (1 + y)^2 - 1
  return scaled(y + 1, k);
}

[[gnu::noinline]] inline Wide expm1(const Wide& x) {
  return std::fabs(x.high) < 0.25 ? expm1_near_zero(x, 17, 9) : exp(x) - 1;
}

// log(1 + x) for |x| below 1/4: 2 atanh(x / (2 + x)).
[[gnu::noinline]] inline Wide log1p_near_zero(const Wide& x) {
  if (x.high == 0) return x;
  const Wide s = x / (x + 2), square = s * s;
  Wide power = s, sum = s;
  for (int k = 3; k < 80; k += 2) {
    power *= square;
    const Wide term = power * inverse<Wide>(k);
    sum += term;
    if (is_done(term, sum)) break;
  }
  return sum + sum;
}

// A step of Newton's method from the float64's logarithm.
[[gnu::noinline]] inline Wide log(const Wide& x) {
  if (x.high > 0.875 && x.high < 1.125) return log1p_near_zero(x - 1);
  const int up = x.high > 0 && x.high < 0x1p-900 ? 200 : 0;  // where exp(-log(x)) would be infinite
  const Wide lifted = scaled(x, up);
  const double y = log(lifted.high);
  if (!(y - y == 0)) return y;
  return Wide(y) + (lifted * exp(Wide(-y)) - 1) - Wide(up) * ln2<Wide>();
}

[[gnu::noinline]] inline Wide log1p(const Wide& x) {
  return std::fabs(x.high) < 0.125 ? log1p_near_zero(x) : log(x + 1);
}

// x as quadrant pi / 2 + r, |r| at most about pi / 4.
struct WideAngle {
  int quadrant;
  Wide r;
};
[[gnu::noinline]] inline WideAngle reduced_angle(const Wide& x) {
  if (std::fabs(x.high) < 0x1p20) {
    const double k = std::floor(x.high * 0x1.45f306dc9c883p-1 + 0.5);
    Wide r = x - Wide::product_of(k, 0x1.921fb54442d18p+0);
    r = r - Wide::product_of(k, 0x1.1a62633145c07p-54);
    r = r - Wide::product_of(k, -0x1.f1976b7ed8fbcp-110);
    return {static_cast<int>(k) & 3, r};
  }
  math::PlainWords<ScalarBuilder<double>> n;
  const auto a = math::reduce_large_angle(n, std::fabs(x.high));
  const Wide r = Wide::sum_of(a.high, a.low);
  return x.high < 0 ? WideAngle{static_cast<int>(-a.quadrant & 3), Wide(x.low) - r}
                    : WideAngle{static_cast<int>(a.quadrant & 3), Wide(x.low) + r};
}

// sin(quadrant pi / 2 + r) by the Taylor series of sin or cos.
[[gnu::noinline]] inline Wide sine_of_angle(int quadrant, const Wide& r) {
  const Wide square = -(r * r);
  const int even = 1 - quadrant % 2;  // 0: cos
  Wide sum = series(kInverseFactorial, even, 20 + even, 2, 10, square);
  if (even) sum *= r;
  return quadrant % 4 > 1 ? -sum : sum;
}

inline Wide sin(const Wide& x) {
  if (!is_finite(x)) return kNoNumber;
  const WideAngle a = reduced_angle(x);
  return sine_of_angle(a.quadrant, a.r);
}
inline Wide cos(const Wide& x) {
  if (!is_finite(x)) return kNoNumber;
  const WideAngle a = reduced_angle(x);
  return sine_of_angle(a.quadrant + 1, a.r);
}
inline Wide tan(const Wide& x) {
  const WideAngle a = reduced_angle(x);
  return sine_of_angle(a.quadrant, a.r) / sine_of_angle(a.quadrant + 1, a.r);
}

// A step of Newton's method from the float64's angle, for |x| below 1.
[[gnu::noinline]] inline Wide acos(const Wide& x) {
  const Wide y = acos(x.high);
  const Wide sine = sin(y);
  return sine.high == 0 ? y : y + (cos(y) - x) / sine;
}

// x^y for y that is whole where x is negative.
[[gnu::noinline]] inline Wide power(const Wide& x, const Wide& y) {
  if (x.high == 0) return y.high < 0 ? kInfinite : y.high > 0 ? 0.0 : 1.0;
  const Wide size = exp(y * log(size_of_number(x)));
  const bool odd = std::fabs(y.high) < 0x1p53 && std::floor(y.high / 2) * 2 != y.high;
  return is_negative(x) && odd ? -size : size;
}

// 1 / x^y for x > 0; small whole powers by products.
template <class W>
[[gnu::noinline]] W inverse_power(const W& x, const W& y) {
  constexpr double kMost = 64;
  if (!(y <= kMost) || !(y == floored(y))) return power(x, -y);
  W product = 1, square = x;
  for (int n = static_cast<int>(leading(y)); n > 0; n /= 2) {
    if (n % 2) product *= square;
    square *= square;
  }
  return 1 / product;
}

// exp(x^2) erfc(x) from 2 on: a continued fraction from its end. (Abramowitz and Stegun, 7.1.14.)
[[gnu::noinline]] inline Wide erfcx_fraction(const Wide& x) {
  const int steps = static_cast<int>(8 + 260 / (x.high * x.high));
  Wide value = x;
  for (int k = steps; k > 0; --k) value = x + Wide(k * 0.5) / value;
  return 1 / (value * sqrt(pi<Wide>()));
}

// 7.1.6, whose terms have one sign.
[[gnu::noinline]] inline Wide erf_near_zero(const Wide& x) {
  const Wide square = x * x;
  Wide term = x, sum = x;
  for (int k = 1; k < 120; ++k) {
    term *= square / (Wide(k) + 0.5);
    sum += term;
    if (is_done(term, sum)) break;
  }
  return 2 * exp(-square) * sum / sqrt(pi<Wide>());
}

inline Wide erfc(const Wide& x) {
  if (!(x.high < 2)) return x.high > 28 ? Wide(0) : is_nan(x) ? x : exp(-x * x) * erfcx_fraction(x);
  if (x.high < -6.5) return 2;
  return 1 - erf_near_zero(x);
}
inline Wide erf(const Wide& x) {
  if (std::fabs(x.high) < 2) return erf_near_zero(x);
  return is_negative(x) ? erfc(-x) - 1 : 1 - erfc(x);
}

}  // namespace md::formulas
