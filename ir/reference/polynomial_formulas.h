// Orthogonal polynomials of whole degrees by their recurrences; of Chebyshev's by cosines inside (-1, 1).
#pragma once

#include <cmath>
#include <cstdint>

namespace md::formulas {

// A degree given as a float, cut to a whole number: -1 for what is none.
template <class W>
std::int64_t degree_of(W n) {
  return n > -1 && n < W(9.2e18L) ? static_cast<std::int64_t>(n) : -1;
}

// p_n of p_0 = 1, p_1 = first, p_(k+1) = next(k, p_k, p_(k-1)).
template <class W, class F>
W by_recurrence(std::int64_t n, W first, F&& next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  W before = 1, p = first;
  for (std::int64_t k = 1; k < n; ++k) {
    const W after = next(static_cast<W>(k), p, before);
    before = p, p = after;
    if (std::isnan(p)) break;
  }
  return p;
}

template <class W>
W alternating(std::int64_t n, W value) {
  return n % 2 ? -value : value;
}

enum class Chebyshev { T, U, V, W };

// At 1 and -1, where the formulas by angles are 0 / 0.
template <class W>
W chebyshev_at_end(Chebyshev kind, W x, std::int64_t n) {
  const W size = kind == Chebyshev::U ? static_cast<W>(n + 1) : static_cast<W>(2 * n + 1);
  switch (kind) {
    case Chebyshev::T:
      return x > 0 ? W(1) : alternating(n, W(1));
    case Chebyshev::U:
      return x > 0 ? size : alternating(n, size);
    case Chebyshev::V:
      return x > 0 ? W(1) : alternating(n, size);
    default:
      return x > 0 ? size : alternating(n, W(1));
  }
}

template <class W>
W chebyshev(Chebyshev kind, W x, std::int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return chebyshev_at_end(kind, x, n);
  if (n > 8 && std::abs(x) < 1) {
    const W angle = std::acos(x), whole = static_cast<W>(n), middle = (whole + W(0.5)) * angle;
    switch (kind) {
      case Chebyshev::T:
        return std::cos(whole * angle);
      case Chebyshev::U:
        return std::sin((whole + 1) * angle) / std::sin(angle);
      case Chebyshev::V:
        return std::cos(middle) / std::cos(angle / 2);
      default:
        return std::sin(middle) / std::sin(angle / 2);
    }
  }
  const W first = kind == Chebyshev::T ? x : 2 * x + (kind == Chebyshev::U ? 0 : kind == Chebyshev::V ? -1 : 1);
  return by_recurrence(n, first, [x](W, W p, W before) { return 2 * x * p - before; });
}

template <class W>
W hermite_h(W x, std::int64_t n) {
  return by_recurrence(n, 2 * x, [x](W k, W p, W before) { return 2 * x * p - 2 * k * before; });
}
template <class W>
W hermite_he(W x, std::int64_t n) {
  return by_recurrence(n, x, [x](W k, W p, W before) { return x * p - k * before; });
}
template <class W>
W laguerre(W x, std::int64_t n) {
  return by_recurrence(n, 1 - x, [x](W k, W p, W before) { return ((2 * k + 1 - x) * p - k * before) / (k + 1); });
}
template <class W>
W legendre(W x, std::int64_t n) {
  return by_recurrence(n, x, [x](W k, W p, W before) { return ((2 * k + 1) * x * p - k * before) / (k + 1); });
}

}  // namespace md::formulas
