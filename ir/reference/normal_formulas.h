// The error function's relatives and those of the normal distribution, in float64 or wide numbers.
#pragma once

#include "ir/reference/elementary_formulas.h"

namespace md::formulas {

// A first guess good to seven digits (Giles: "Approximating the erfinv function", GPU Computing Gems, 2011).
inline double guess_erfinv(double y) {
  double w = -log((1 - y) * (1 + y));
  constexpr double kCentre[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                              -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const bool centre = w < 5;
  w = centre ? w - 2.5 : sqrt(w) - 3;
  double p = 0;
  for (const double k : centre ? kCentre : kTail) p = p * w + k;
  return p * y;
}

// Newton's method on erf; near 1 on erfc, which keeps the digits.
template <class W>
[[gnu::noinline]] W erfinv(W y) {
  const W size = size_of_number(y);
  if (!(size < 1)) return size == 1 ? with_sign<W>(kInfinite, y) : W(kNoNumber);
  if (size < 1e-8) return y * (sqrt(pi<W>()) / 2);
  W x = std::fabs(guess_erfinv(leading(size)));
  if (!is_finite(x)) x = 5.8;     // where 1 - y is below what double resolves
  for (int i = 0; i < 12; ++i) {  // two do, but for the last few numbers below 1
    const W error = size < 0.5 ? erf(x) - size : (1 - size) - erfc(x);
    const W step = error * (sqrt(pi<W>()) / 2) * exp(x * x);
    x -= step / (1 + x * step);  // Halley's: its error is of the third order
    if (size_of_number(step) < 1e-7 * x) break;
  }
  return with_sign(x, y);
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

// By erfinv in the middle; in the tails Newton's method on log_ndtr, from Hastings' approximation (Abramowitz and
// Stegun 26.2.23).
template <class W>
[[gnu::noinline]] W ndtri(W p) {
  if (p == 0) return -kInfinite;
  if (p == 1) return kInfinite;
  if (!(p > 0 && p < 1)) return kNoNumber;
  if (p > 0.25 && p < 0.75) return sqrt2<W>() * erfinv<W>(2 * p - 1);
  const W tail = p < 0.5 ? p : 1 - p, wanted = log(tail);
  const W t = sqrt(-2 * wanted);
  W x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 4; ++i) {
    const W scaled = erfcx<W>(x / sqrt2<W>());
    const W error = log(scaled / 2) - x * x / 2 - wanted;
    x += error * scaled * sqrt(pi<W>() / 2);
  }
  return p < 0.5 ? -x : x;
}

}  // namespace md::formulas
