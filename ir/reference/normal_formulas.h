// The error function's relatives and those of the normal distribution, in double or long double.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace md::formulas {

// A first guess good to seven digits (Giles: "Approximating the erfinv function", GPU Computing Gems, 2011).
inline double guess_erfinv(double y) {
  double w = -std::log((1 - y) * (1 + y));
  constexpr double kCentre[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                              -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const bool centre = w < 5;
  w = centre ? w - 2.5 : std::sqrt(w) - 3;
  double p = 0;
  for (const double k : centre ? kCentre : kTail) p = p * w + k;
  return p * y;
}

// Newton's method on erf; near 1 on erfc, which keeps the digits.
template <class W>
W erfinv(W y) {
  const W size = std::abs(y);
  if (!(size < 1)) return size == 1 ? std::copysign(std::numeric_limits<W>::infinity(), y) : std::nan("");
  if (size < W(1e-8)) return y * (std::sqrt(std::numbers::pi_v<W>) / 2);
  W x = std::abs(static_cast<W>(guess_erfinv(static_cast<double>(size))));
  if (!std::isfinite(x)) x = 5.8L;  // where 1 - y is below what double resolves
  for (int i = 0; i < 12; ++i) {    // three do, but for the last few numbers below 1
    const W error = size < W(0.5) ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const W step = error * (std::sqrt(std::numbers::pi_v<W>) / 2) * std::exp(x * x);
    x -= step / (1 + x * step);  // Halley's: its error is of the third order
    if (std::abs(step) < W(1e-7) * x) break;
  }
  return std::copysign(x, y);
}

// exp(x^2) erfc(x): by its asymptotic series from 12 on, before that by its factors, with what x * x loses made good.
template <class W>
W erfcx(W x) {
  if (x < 0) {
    const W square = x * x;
    if (std::isinf(square)) return square;
    return 2 * (std::exp(square) * (1 + std::fma(x, x, -square))) - erfcx(-x);
  }
  if (!(x < 12)) {
    W term = 1, sum = 1;
    for (int k = 1; k < 30 && std::abs(term) > std::numeric_limits<W>::epsilon() / 4; ++k) {
      term *= -static_cast<W>(2 * k - 1) / (2 * x * x);
      sum += term;
    }
    return sum / (x * std::sqrt(std::numbers::pi_v<W>));
  }
  const W square = x * x;
  return std::exp(square) * (1 + std::fma(x, x, -square)) * std::erfc(x);
}

template <class W>
W log_ndtr(W x) {
  const W t = x / std::numbers::sqrt2_v<W>;
  return x < -1 ? std::log(erfcx(-t) / 2) - t * t : std::log1p(-std::erfc(t) / 2);
}

// By erfinv in the middle; in the tails Newton's method on log_ndtr, from Hastings' approximation (Abramowitz and
// Stegun 26.2.23).
template <class W>
W ndtri(W p) {
  constexpr W infinity = std::numeric_limits<W>::infinity();
  if (p == 0) return -infinity;
  if (p == 1) return infinity;
  if (!(p > 0 && p < 1)) return std::numeric_limits<W>::quiet_NaN();
  if (p > W(0.25) && p < W(0.75)) return std::numbers::sqrt2_v<W> * erfinv(2 * p - 1);
  const W tail = p < W(0.5) ? p : 1 - p, wanted = std::log(tail);
  const W t = std::sqrt(-2 * wanted);
  W x = t - (W(2.515517L) + t * (W(0.802853L) + t * W(0.010328L))) /
                (1 + t * (W(1.432788L) + t * (W(0.189269L) + t * W(0.001308L))));
  for (int i = 0; i < 4; ++i) {
    const W scaled = erfcx(x / std::numbers::sqrt2_v<W>);
    const W error = std::log(scaled / 2) - x * x / 2 - wanted;
    x += error * scaled * std::sqrt(std::numbers::pi_v<W> / 2);
  }
  return p < W(0.5) ? -x : x;
}

}  // namespace md::formulas
