// In float64 or wide numbers: orthogonal polynomials of whole degrees by their recurrences; of Chebyshev's by cosines
// inside (-1, 1).
#pragma once

#include "ir/reference/elementary_formulas.h"

namespace md::formulas {

// A degree given as a float, cut to a whole number: -1 for what is none.
template <class W>
std::int64_t degree_of(W n) {
  return n > -1 && n < 9.2e18 ? static_cast<std::int64_t>(leading(n)) : -1;
}

// p_n of p_0 = 1, p_1 = first, p_(k+1) = next(k, p_k, p_(k-1)).
template <class W, class F>
W by_recurrence(std::int64_t n, W first, F&& next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  W before = 1, p = first;
  for (std::int64_t k = 1; k < n; ++k) {
    const W after = next(W(k), p, before);
    before = p, p = after;
    if (is_nan(p)) break;
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
  const W size = kind == Chebyshev::U ? W(n + 1) : W(2 * n + 1);
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
[[gnu::noinline]] W chebyshev(Chebyshev kind, W x, std::int64_t n) {
  if (n < 0) return 0;
  if (size_of_number(x) == 1) return chebyshev_at_end(kind, x, n);
  if (n > 8 && size_of_number(x) < 1) {
    const W angle = acos(x), whole = n, middle = (whole + 0.5) * angle;
    switch (kind) {
      case Chebyshev::T:
        return cos(whole * angle);
      case Chebyshev::U:
        return sin((whole + 1) * angle) / sin(angle);
      case Chebyshev::V:
        return cos(middle) / cos(angle / 2);
      default:
        return sin(middle) / sin(angle / 2);
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
