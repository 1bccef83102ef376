// Bessel functions and Airy's, in double or long double. (Formulas by their numbers in Abramowitz and Stegun.)
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace md::formulas {

inline double libm_j0(double x) { return ::j0(x); }
inline double libm_j1(double x) { return ::j1(x); }
inline double libm_y0(double x) { return ::y0(x); }
inline double libm_y1(double x) { return ::y1(x); }
inline long double libm_j0(long double x) { return ::j0l(x); }
inline long double libm_j1(long double x) { return ::j1l(x); }
inline long double libm_y0(long double x) { return ::y0l(x); }
inline long double libm_y1(long double x) { return ::y1l(x); }

// NaN where the C library has limits.
template <class W>
W finite_only(W x, W value) {
  return std::isfinite(x) ? value : std::numeric_limits<W>::quiet_NaN();
}
template <class W>
W right_of_zero(W x, W value) {
  return x < 0 ? std::numeric_limits<W>::quiet_NaN() : finite_only(x, value);
}

// The sum of the asymptotic series 9.7.1 (sign -1) and 9.7.2 (sign 1), for four times the square of the order.
template <class W>
W hankel_series(W four_squares, W x, int sign) {
  W term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const W odd = static_cast<W>(2 * k - 1);
    term *= static_cast<W>(sign) * (four_squares - odd * odd) / (static_cast<W>(k) * 8 * x);
    sum += term;
    if (std::abs(term) < std::numeric_limits<W>::epsilon() / 4) break;
  }
  return sum;
}

// The series 9.6.10 for order 0 and 1.
template <class W>
W modified_i_series(int order, W x) {
  const W square = x * x / 4;
  W term = order == 0 ? W(1) : x / 2, sum = term;
  for (int k = 1; k < 200 && std::abs(term) > std::numeric_limits<W>::epsilon() / 8 * std::abs(sum); ++k) {
    term *= square / static_cast<W>(k * (k + order));
    sum += term;
  }
  return sum;
}

constexpr int kAsymptotic = 30;  // where the asymptotic series have the digits of a long double

// exp(-|x|) I(x)
template <class W>
W scaled_i(int order, W x) {
  const W size = std::abs(x);
  W value;
  if (size < kAsymptotic) {
    value = std::exp(-size) * modified_i_series(order, size);
  } else {
    value = hankel_series(static_cast<W>(4 * order), size, -1) / std::sqrt(2 * std::numbers::pi_v<W> * size);
  }
  return order == 1 && std::signbit(x) ? -value : value;
}

// As torch: infinity times 0 at infinity.
template <class W>
W modified_i(int order, W x) {
  if (std::abs(x) < kAsymptotic) {
    const W value = modified_i_series(order, std::abs(x));
    return order == 1 && std::signbit(x) ? -value : value;
  }
  return scaled_i(order, x) * std::exp(std::abs(x));
}

// exp(x) K(x) for x >= 2 and an order below 2: 9.6.24 by the trapezoidal rule, whose error is below exp(x - pi^2 /
// step).
template <class W>
W scaled_k_integral(W order, W x) {
  constexpr W step = W(0.125);
  W sum = W(0.5);
  for (int i = 1; i < 80; ++i) {
    const W t = step * static_cast<W>(i), half = std::sinh(t / 2);
    const W value = std::exp(-2 * x * half * half) * std::cosh(order * t);
    sum += value;
    if (value < std::numeric_limits<W>::epsilon() / 64) break;
  }
  return sum * step;
}

template <class W>
W scaled_k_from_two(W order, W x) {
  if (x < kAsymptotic) return scaled_k_integral(order, x);
  return std::sqrt(std::numbers::pi_v<W> / (2 * x)) * hankel_series(4 * order * order, x, 1);
}

// K for 0 < x < 2, by 9.6.13 and 9.6.11.
template <class W>
W modified_k_series(int order, W x) {
  const W square = x * x / 4;
  W harmonic = 0, term = order == 0 ? W(1) : x / 4, sum = 0;
  if (order == 1) sum = term * (1 - 2 * std::numbers::egamma_v<W>);
  for (int k = 1; k < 60; ++k) {
    harmonic += 1 / static_cast<W>(k);
    term *= square / static_cast<W>(k * (k + order));
    const W part = order == 0 ? harmonic * term
                              : term * (2 * harmonic + 1 / static_cast<W>(k + 1) - 2 * std::numbers::egamma_v<W>);
    sum += part;
    if (std::abs(part) < std::numeric_limits<W>::epsilon() / 8 * std::abs(sum)) break;
  }
  const W logarithm = std::log(x / 2), i = modified_i_series(order, x);
  return order == 0 ? sum - (logarithm + std::numbers::egamma_v<W>)*i : 1 / x + logarithm * i - sum;
}

template <class W>
W modified_k(int order, W x, bool scaled) {
  if (x == 0) return std::numeric_limits<W>::infinity();
  if (!(x > 0)) return std::numeric_limits<W>::quiet_NaN();
  if (std::isinf(x)) return 0;
  if (x < 2) return modified_k_series(order, x) * (scaled ? std::exp(x) : W(1));
  return scaled_k_from_two(static_cast<W>(order), x) * (scaled ? W(1) : std::exp(-x));
}

template <class W>
W spherical_j0(W x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) > W(0.5)) return std::sin(x) / x;
  const W square = x * x;
  W term = 1, sum = 1;
  for (int k = 1; k < 20; ++k) {
    term *= -square / static_cast<W>(2 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}

// Ai and its derivative at -10, -9, ..., 2.
inline constexpr int kAiryFirst = -10;
inline constexpr long double kAiry[][2] = {
    {0.0402412384864431906894303L, 0.996265044132790055904573L},
    {-0.0221337215473414036741692L, -0.97566398092633159471266L},
    {-0.0527050503563862026220827L, 0.935560938198306551025522L},
    {0.184280835250505637279942L, -0.771008168410126547731252L},
    {-0.329145173629823105231449L, 0.345935487281342894929779L},
    {0.350761009024114319788016L, 0.327192818554443136794879L},
    {-0.0702655329492895150990843L, -0.790628575368581380296454L},
    {-0.378814293677658074347244L, 0.314583769216598813650787L},
    {0.227407428201685575991924L, 0.618259020741691041406264L},
    {0.535560883292352118799517L, -0.0101605671166452093950455L},
    {0.355028053887817239260063L, -0.258819403792806798405184L},
    {0.135292416312881415524147L, -0.1591474412967932127875L},
    {0.0349241304232743791353221L, -0.0530903844336536317039992L},
};

// Taylor's series from the nearest whole number: y'' = x y gives the coefficients.
template <class W>
W airy_from_table(W x) {
  const int at = static_cast<int>(std::lround(x));
  const W place = static_cast<W>(at), h = x - place;
  W before = 0, a = static_cast<W>(kAiry[at - kAiryFirst][0]), b = static_cast<W>(kAiry[at - kAiryFirst][1]);
  W power = h, sum = a + b * h;
  for (int k = 0; k < 40; ++k) {
    const W next = (place * a + before) / static_cast<W>((k + 1) * (k + 2));
    before = a, a = b, b = next;
    power *= h;
    sum += next * power;
  }
  return sum;
}

// 10.4.60: from -10 down.
template <class W>
W airy_oscillating(W x) {
  const W size = -x, angle = 2 * size * std::sqrt(size) / 3;
  W u = 1, p = 1, q = 0;
  for (int k = 1; k < 40; ++k) {
    u *= static_cast<W>(6 * k - 5) * static_cast<W>(6 * k - 3) * static_cast<W>(6 * k - 1) /
         (static_cast<W>(216 * k) * static_cast<W>(2 * k - 1) * angle);
    const bool minus = k % 4 > 1;
    (k % 2 ? q : p) += minus ? -u : u;
    if (u < std::numeric_limits<W>::epsilon() / 8) break;
  }
  const W turned = angle - std::numbers::pi_v<W> / 4;
  return (std::cos(turned) * p + std::sin(turned) * q) / (std::sqrt(std::numbers::pi_v<W> * std::sqrt(size)));
}

// From 2 up by 10.4.14.
template <class W>
W airy(W x) {
  if (!std::isfinite(x)) return std::numeric_limits<W>::quiet_NaN();
  if (x < W(-10.4)) return airy_oscillating(x);
  if (x < W(2.1)) return airy_from_table(x);
  const W angle = 2 * x * std::sqrt(x) / 3;
  return std::sqrt(x / 3) / std::numbers::pi_v<W> * scaled_k_from_two(W(1) / 3, angle) * std::exp(-angle);
}

}  // namespace md::formulas
