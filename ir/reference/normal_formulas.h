// The error function's relatives and those of the normal distribution, in float64 or wide numbers.
#pragma once

#include "ir/reference/elementary_formulas.h"

namespace md::formulas {

template <std::size_t kCount>
double polynomial_of(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
  for (std::size_t k = kCount - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// The value that a standard normal number is below with probability 1/2 + q, where `tail` is 1/2 - |q|, to about 16
// digits (Wichura: "Algorithm AS 241: The percentage points of the normal distribution", 1988).
[[gnu::noinline]] inline double normal_quantile(double q, double tail) {
  constexpr double kMiddle[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kBelowMiddle[] = {1,
                                     4.2313330701600911252e1,
                                     6.8718700749205790830e2,
                                     5.3941960214247511077e3,
                                     2.1213794301586595867e4,
                                     3.9307895800092710610e4,
                                     2.8729085735721942674e4,
                                     5.2264952788528545610e3};
  constexpr double kTail[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                              3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kBelowTail[] = {1,
                                   2.05319162663775882187e0,
                                   1.67638483018380384940e0,
                                   6.89767334985100004550e-1,
                                   1.48103976427480074590e-1,
                                   1.51986665636164571966e-2,
                                   5.47593808499534494600e-4,
                                   1.05075007164441684324e-9};
  constexpr double kFar[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kBelowFar[] = {1,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  if (q > -0.425 && q < 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial_of(kMiddle, r) / polynomial_of(kBelowMiddle, r);
  }
  const double r = sqrt(-log(tail));
  const double size = r <= 5 ? polynomial_of(kTail, r - 1.6) / polynomial_of(kBelowTail, r - 1.6)
                             : polynomial_of(kFar, r - 5) / polynomial_of(kBelowFar, r - 5);
  return q < 0 ? -size : size;
}

inline double erfinv_near(double y) { return normal_quantile(y / 2, (1 - std::fabs(y)) / 2) * 0x1.6a09e667f3bcdp-1; }

// Of float64 with a step of Halley's method on erf; near 1 on erfc, which keeps the digits.
template <class W>
[[gnu::noinline]] W erfinv(W wide) {
  const double y = leading(wide), size = std::fabs(y);
  if (!(size < 1)) return size == 1 ? with_sign<W>(kInfinite, wide) : W(kNoNumber);
  if (size < 1e-8) return y * (std::sqrt(pi<double>()) / 2);
  const double x = erfinv_near(size);
  if constexpr (!is_wide<W>) return std::copysign(x, y);
  const double error = size < 0.5 ? erf(x) - size : (1 - size) - erfc(x);
  const double step = error * (std::sqrt(pi<double>()) / 2) * exp(x * x);
  return std::copysign(x - step / (1 + x * step), y);
}

inline double product_rest(double x, double square) { return std::fma(x, x, -square); }

// exp(x^2) erfc(x) for 0 <= x < 12: by its factors, with what x * x loses made good.
inline double erfcx_near_zero(double x) {
  const double square = x * x;
  return exp(square) * (1 + product_rest(x, square)) * erfc(x);
}
inline Wide erfcx_near_zero(const Wide& x) { return x < 2 ? exp(x * x) * (1 - erf_near_zero(x)) : erfcx_fraction(x); }
inline double exp_of_square(double x) {
  const double square = x * x;
  return is_infinite(square) ? square : exp(square) * (1 + product_rest(x, square));
}
inline Wide exp_of_square(const Wide& x) { return exp(x * x); }

// From 12 on by the asymptotic series.
template <class W>
W erfcx_right(const W& x) {
  if (x < 12) return erfcx_near_zero(x);
  W term = 1, sum = 1;
  for (int k = 1; k < 30 && !is_done(term, sum); ++k) {
    term *= -W(2 * k - 1) / (2 * x * x);
    sum += term;
  }
  return sum / (x * sqrt(pi<W>()));
}

template <class W>
[[gnu::noinline]] W erfcx(W x) {
  if (!(x < 0)) return erfcx_right(x);
  const W first = exp_of_square(x);
  return is_infinite(first) ? first : 2 * first - erfcx_right<W>(-x);
}

template <class W>
[[gnu::noinline]] W log_ndtr(W x) {
  const W t = x / sqrt2<W>();
  return x < -1 ? log(erfcx<W>(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

// Of float64 with a step of Newton's method: in the middle on erf, in the tails on log_ndtr.
template <class W>
[[gnu::noinline]] W ndtri(W wide) {
  const double p = leading(wide);
  if (p == 0) return -kInfinite;
  if (p == 1) return kInfinite;
  if (!(p > 0 && p < 1)) return kNoNumber;
  const double tail = p < 0.5 ? p : 1 - p;
  if constexpr (!is_wide<W>) return normal_quantile(p - 0.5, tail);
  if (p > 0.25 && p < 0.75) return sqrt2<W>() * erfinv<W>(2 * p - 1);
  const double x = std::fabs(normal_quantile(0.5, tail)), scaled = erfcx<double>(x / sqrt2<double>());
  const double error = log(scaled / 2) - x * x / 2 - log(tail);
  return std::copysign(x + error * scaled * std::sqrt(pi<double>() / 2), p - 0.5);
}

}  // namespace md::formulas
