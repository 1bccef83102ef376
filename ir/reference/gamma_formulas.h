// The gamma function's relatives, in double or long double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace md::formulas {

// The functions with _r keep the sign apart; the others write it to a global.
inline double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
inline long double log_gamma(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}

// The asymptotic series from 12 on, brought there by digamma(x + 1) = digamma(x) + 1 / x; negative numbers by
// reflection. (Abramowitz and Stegun, 6.3.)
template <class W>
W digamma(W x) {
  constexpr W pi = std::numbers::pi_v<W>;
  if (x == 0) return std::copysign(std::numeric_limits<W>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x) || !std::isfinite(x)) return std::nan("");
    const W part = x - std::trunc(x);  // tan of what is left has its digits
    return digamma(1 - x) - pi / std::tan(pi * part);
  }
  if (std::isinf(x)) return x;
  W shift = 0;
  for (; x < 20; ++x) shift -= 1 / x;
  constexpr W kBernoulli[] = {W(1) / 12,       -W(1) / 120, W(1) / 252,      -W(1) / 240,     W(1) / 132,
                              -W(691) / 32760, W(1) / 12,   -W(3617) / 8160, W(43867) / 14364};
  const W square = 1 / (x * x);
  W power = square, series = 0;
  for (const W b : kBernoulli) series += b * power, power *= square;
  return shift + std::log(x) - 1 / (2 * x) - series;
}

// Hurwitz' zeta function by the formula of Euler and Maclaurin; of q <= 0 for whole s.
template <class W>
W zeta(W s, W q) {
  constexpr W infinity = std::numeric_limits<W>::infinity(), nan = std::numeric_limits<W>::quiet_NaN();
  if (s == 1) return infinity;
  if (!(s > 1)) return nan;
  if (q <= 0) {
    if (q == std::floor(q)) return infinity;
    if (s != std::floor(s)) return nan;
  }
  constexpr W kBernoulli[] = {W(1) / 6,       -W(1) / 30,       W(1) / 42,      -W(1) / 30,
                              W(5) / 66,      -W(691) / 2730,   W(7) / 6,       -W(3617) / 510,
                              W(43867) / 798, -W(174611) / 330, W(854513) / 138};
  W sum = 0;
  for (int i = 0; i < 12 || q < 12; ++i, ++q) {
    const W term = std::pow(q, -s);
    sum += term;
    if (std::abs(term) < std::numeric_limits<W>::epsilon() / 8 * std::abs(sum) && q > 0) return sum;
  }
  const W power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  W factor = s * power / q, factorial = 2;
  int j = 1;
  for (const W b : kBernoulli) {
    const W term = b / factorial * factor;
    sum += term;
    if (std::abs(term) < std::numeric_limits<W>::epsilon() / 4 * std::abs(sum)) break;
    factor *= (s + 2 * j - 1) / q * ((s + 2 * j) / q);
    factorial *= static_cast<W>((2 * j + 1) * (2 * j + 2));
    ++j;
  }
  return sum;
}

template <class W>
W polygamma(W x, std::int64_t n) {
  if (n == 0) return digamma(x);
  if (n == 1 && std::isinf(x)) return x > 0 ? W(0) : std::numeric_limits<W>::quiet_NaN();
  if (n == 1 && x < W(0.5) && x != std::floor(x)) {
    const W sine = std::sin(std::numbers::pi_v<W> * (x - std::trunc(x)));
    return std::numbers::pi_v<W> * std::numbers::pi_v<W> / (sine * sine) - polygamma(1 - x, n);
  }
  const W order = static_cast<W>(n + 1), size = std::exp(log_gamma(order)) * zeta(order, x);
  return n % 2 ? size : -size;
}

// u - log(1 + u), without the digits a difference loses.
template <class W>
W beyond_log(W u) {
  if (std::abs(u) > W(0.1)) return u - std::log1p(u);
  W power = u * u, sum = power / 2;
  for (int k = 3; k < 60; ++k) {
    power *= -u;
    const W term = power / static_cast<W>(k);
    sum += term;
    if (std::abs(term) < std::numeric_limits<W>::epsilon() / 8 * sum) break;
  }
  return sum;
}

// x^a exp(-x) / gamma(a + 1)
template <class W>
W gamma_share(W a, W x) {
  if (a < 20) return std::exp(a * std::log(x) - x - log_gamma(a + 1));
  const W square = 1 / (a * a);
  const W stirling =
      (W(1) / 12 - square * (W(1) / 360 - square * (W(1) / 1260 - square * (W(1) / 1680 - square / 1188)))) / a;
  return std::exp(-a * beyond_log((x - a) / a) - stirling) / std::sqrt(2 * std::numbers::pi_v<W> * a);
}

constexpr int kGammaSteps = 100000;  // of series and fractions; about sqrt(a) are needed near x = a

template <class W>
W lower_gamma_series(W a, W x) {
  W term = 1, sum = 1, up = a;
  for (int i = 0; i < kGammaSteps && term > std::numeric_limits<W>::epsilon() / 8 * sum; ++i) {
    up += 1;
    term *= x / up;
    sum += term;
  }
  return gamma_share(a, x) * sum;
}

// Legendre's continued fraction by Lentz' method, for x above a + 1.
template <class W>
W upper_gamma_fraction(W a, W x) {
  constexpr W tiny = std::numeric_limits<W>::min() * 1024;
  W b = x + 1 - a, c = 1 / tiny, d = 1 / b, value = d;
  for (int i = 1; i < kGammaSteps; ++i) {
    const W an = -static_cast<W>(i) * (static_cast<W>(i) - a);
    b += 2;
    d = an * d + b;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = b + an / c;
    if (std::abs(c) < tiny) c = tiny;
    value *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<W>::epsilon()) break;
  }
  return a * gamma_share(a, x) * value;
}

// Both parts at their ends, and whether that is where (a, x) lies.
template <class W>
bool at_an_end(W a, W x, W& lower) {
  lower = std::numeric_limits<W>::quiet_NaN();
  if (!(a >= 0 && x >= 0)) return true;
  if (a == 0) {
    if (x > 0) lower = 1;
  } else if (x == 0) {
    lower = 0;
  } else if (std::isinf(a)) {
    if (!std::isinf(x)) lower = 0;
  } else if (std::isinf(x)) {
    lower = 1;
  } else {
    return false;
  }
  return true;
}

template <class W>
W igamma(W a, W x) {
  if (W end; at_an_end(a, x, end)) return end;
  return x > 1 && x > a + 1 ? 1 - upper_gamma_fraction(a, x) : lower_gamma_series(a, x);
}

// Small a and x: 1 minus the series, without what both have in common.
template <class W>
W upper_gamma_near_zero(W a, W x) {
  W term = 1, sum = 0;
  for (int n = 1; n < 200; ++n) {
    term *= -x / static_cast<W>(n);
    const W part = term / (a + static_cast<W>(n));
    sum += part;
    if (std::abs(part) < std::numeric_limits<W>::epsilon() / 8 * std::abs(sum)) break;
  }
  const W power = a * std::log(x) - log_gamma(a + 1);
  return -std::expm1(power) - std::exp(power) * a * sum;
}

template <class W>
W igammac(W a, W x) {
  if (W end; at_an_end(a, x, end)) return 1 - end;
  if (x > 1 && x > a + 1) return upper_gamma_fraction(a, x);
  return x < W(1.5) && a < 1 ? upper_gamma_near_zero(a, x) : 1 - lower_gamma_series(a, x);
}

}  // namespace md::formulas
