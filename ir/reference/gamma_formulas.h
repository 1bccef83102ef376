// The gamma function's relatives, in float64 or wide numbers.
#pragma once

#include <iterator>

#include "ir/reference/elementary_formulas.h"

namespace md::formulas {

// log(gamma(2 + z)) for |z| up to 1/2: z (1 - egamma) and a series in the zeta function. (Abramowitz and Stegun,
// 6.1.33, less log(1 + z).)
template <class W>
W log_gamma_near_two(const W& z) {
  constexpr int kTerms = is_wide<W> ? static_cast<int>(std::size(kLogGamma)) : 26;
  const W sum = series(kLogGamma, 0, kTerms - 1, 1, 9, z);
  return z * (1 - egamma<W>() + sum * z);
}

// Stirling's series (6.1.40), from 20 on.
template <class W>
W log_gamma_from_twenty(const W& x) {
  const W first = 1 / x, square = first * first;
  const W rest = series(kStirling, 0, static_cast<int>(std::size(kStirling)) - 1, 1, 3, square) * first;
  return (x - 0.5) * (log(x) - 1) + ((log(2 * pi<W>()) - 1) / 2 + rest);
}

// For x > 0; between the series the recurrence leads to the one near 2.
template <class W>
W log_gamma_right(const W& x) {
  if (is_infinite(x)) return x;
  if (x >= 20) return log_gamma_from_twenty(x);
  if (x < 0.5) return log_gamma_near_two(x) - log1p(x) - log(x);
  if (x < 1.5) return log_gamma_near_two<W>(x - 1) - log1p(x - 1);
  if (x < 2.5) return log_gamma_near_two<W>(x - 2);
  W product = 1, y = x;
  while (y > 2.5) y -= 1, product *= y;
  return log(product) + log_gamma_near_two<W>(y - 2);
}

// sin(pi x) for what is left of x beside the nearest whole number.
template <class W>
W sine_of_rest(const W& x) {
  return sin(pi<W>() * (x - floored(x + 0.5)));
}

template <class W>
[[gnu::noinline]] W log_gamma(W x) {
  if (is_nan(x)) return x;
  if (!is_negative(x)) return leading(x) == 0 ? W(kInfinite) : log_gamma_right(x);
  if (floored(x) == x) return kInfinite;
  return log(pi<W>()) - log(size_of_number(sine_of_rest(x))) - log_gamma_right<W>(1 - x);
}

// The asymptotic series from 20 on, brought there by digamma(x + 1) = digamma(x) + 1 / x. (Abramowitz and Stegun, 6.3.)
template <class W>
W digamma_right(W x) {
  if (is_infinite(x)) return x;
  W shift = 0;
  for (; x < 20; ++x) shift -= 1 / x;
  const W first = 1 / x, square = first * first;
  const W rest = series(kDigamma, 0, static_cast<int>(std::size(kDigamma)) - 1, 1, 3, square) * square;
  return shift + log(x) - first / 2 - rest;
}

// Negative numbers by reflection.
template <class W>
[[gnu::noinline]] W digamma(W x) {
  if (leading(x) == 0) return is_negative(x) ? kInfinite : -kInfinite;
  if (!(x < 0)) return digamma_right(x);
  if (!is_finite(x) || x == floored(x)) return kNoNumber;
  const W part = x - truncated(x);  // tan of what is left has its digits
  return digamma_right<W>(1 - x) - pi<W>() / tan(pi<W>() * part);
}

// Hurwitz' zeta function for s > 1 and q > 0 by the formula of Euler and Maclaurin.
template <class W>
[[gnu::noinline]] W zeta_right(const W& s, W q) {
  W sum = 0;
  for (int i = 0; i < 12 || q < 12; ++i, ++q) {
    const W term = inverse_power(q, s);
    sum += term;
    if (is_done(term, sum)) return sum;
  }
  const W last = inverse_power(q, s);
  sum += last * q / (s - 1) + last / 2;
  const W first = 1 / q;
  W factor = s * last * first;
  int j = 1;
  for (const auto& b : kMaclaurin) {
    const W term = tabulated<W>(b[0]) * factor;
    sum += term;
    if (is_done(term, sum)) break;
    factor *= (s + 2 * j - 1) * first * ((s + 2 * j) * first);
    ++j;
  }
  return sum;
}

// Of q <= 0 for whole s: the terms up to the first positive one are sums of positive ones from 1 - q to 1 on.
template <class W>
[[gnu::noinline]] W zeta(W s, W q) {
  if (s == 1) return kInfinite;
  if (!(s > 1) || is_nan(q)) return kNoNumber;
  if (q > 0) return zeta_right(s, q);
  const W whole = floored(q);
  if (q == whole) return kInfinite;
  if (!(s == floored(s))) return kNoNumber;
  const W rest = q - whole, sum = zeta_right<W>(s, 1 - rest) - zeta_right<W>(s, 1 - q);
  return zeta_right(s, rest) + (s / 2 == floored(s / 2) ? sum : -sum);
}

// The derivative of digamma, by reflection left of 1/2.
template <class W>
W trigamma(W x) {
  if (is_infinite(x)) return is_negative(x) ? kNoNumber : 0.0;
  if (!(x < 0.5) || x == floored(x)) return zeta<W>(2, x);
  const W sine = sin(pi<W>() * (x - truncated(x)));
  return pi<W>() * pi<W>() / (sine * sine) - zeta<W>(2, 1 - x);
}

template <class W>
[[gnu::noinline]] W polygamma(W x, std::int64_t n) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const W order = W(n) + 1, size = exp(log_gamma(order)) * zeta(order, x);
  return n % 2 ? size : -size;
}

// u - log(1 + u), without the digits a difference loses.
template <class W>
W beyond_log(W u) {
  if (size_of_number(u) > 0.1) return u - log1p(u);
  W power = u * u, sum = power / 2;
  for (int k = 3; k < 60; ++k) {
    power *= -u;
    const W term = power * inverse<W>(k);
    sum += term;
    if (is_done(term, sum)) break;
  }
  return sum;
}

// x^a exp(-x) / gamma(a + 1)
template <class W>
W gamma_share(W a, W x) {
  if (a < 20) return exp(a * log(x) - x - log_gamma<W>(a + 1));
  const W square = 1 / (a * a);
  const W stirling =
      (W(1) / 12 - square * (W(1) / 360 - square * (W(1) / 1260 - square * (W(1) / 1680 - square / 1188)))) / a;
  return exp(-a * beyond_log<W>((x - a) / a) - stirling) / sqrt(2 * pi<W>() * a);
}

constexpr int kGammaSteps = 100000;  // of series and fractions; about sqrt(a) are needed near x = a

template <class W>
[[gnu::noinline]] W lower_gamma_series(W a, W x) {
  W term = 1, sum = 1, up = a;
  for (int i = 0; i < kGammaSteps && !is_done(term, sum); ++i) {
    up += 1;
    term *= x / up;
    sum += term;
  }
  return gamma_share(a, x) * sum;
}

// Legendre's continued fraction by Lentz' method, for x above a + 1.
template <class W>
[[gnu::noinline]] W upper_gamma_fraction(W a, W x) {
  constexpr double tiny = std::numeric_limits<double>::min() * 1024;
  W b = x + 1 - a, c = W(1) / tiny, d = 1 / b, value = d;
  for (int i = 1; i < kGammaSteps; ++i) {
    const W an = -W(i) * (W(i) - a);
    b += 2;
    d = an * d + b;
    d = 1 / (size_of_number(d) < tiny ? W(tiny) : d);
    c = b + an / c;
    if (size_of_number(c) < tiny) c = tiny;
    value *= d * c;
    if (is_done<W>(d * c - 1, 1)) break;
  }
  return a * gamma_share(a, x) * value;
}

// Both parts at their ends, and whether that is where (a, x) lies.
template <class W>
bool at_an_end(W a, W x, W& lower) {
  lower = kNoNumber;
  if (!(a >= 0 && x >= 0)) return true;
  if (a == 0) {
    if (x > 0) lower = 1;
  } else if (x == 0) {
    lower = 0;
  } else if (is_infinite(a)) {
    if (!is_infinite(x)) lower = 0;
  } else if (is_infinite(x)) {
    lower = 1;
  } else {
    return false;
  }
  return true;
}

template <class W>
[[gnu::noinline]] W igamma(W a, W x) {
  if (W end; at_an_end(a, x, end)) return end;
  return x > 1 && x > a + 1 ? 1 - upper_gamma_fraction(a, x) : lower_gamma_series(a, x);
}

// Small a and x: 1 minus the series, without what both have in common.
template <class W>
W upper_gamma_near_zero(W a, W x) {
  W term = 1, sum = 0;
  for (int n = 1; n < 200; ++n) {
    term *= -x / n;
    const W part = term / (a + n);
    sum += part;
    if (is_done(part, sum)) break;
  }
  const W logarithm = a * log(x) - log_gamma<W>(a + 1);
  return -expm1(logarithm) - exp(logarithm) * a * sum;
}

template <class W>
[[gnu::noinline]] W igammac(W a, W x) {
  if (W end; at_an_end(a, x, end)) return 1 - end;
  if (x > 1 && x > a + 1) return upper_gamma_fraction(a, x);
  return x < 1.5 && a < 1 ? upper_gamma_near_zero(a, x) : 1 - lower_gamma_series(a, x);
}

}  // namespace md::formulas
