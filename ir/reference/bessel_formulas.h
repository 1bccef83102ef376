// Bessel functions and Airy's, in float64 or wide numbers. (Formulas by their numbers in Abramowitz and Stegun.)
#pragma once

#include "ir/reference/elementary_formulas.h"

namespace md::formulas {

// --- J and Y ---------------------------------------------------------------------------------------------------------

// Functions of order 0 and 1 at the same place.
template <class W>
struct BothOrders {
  W zero, one;
};

// 9.1.10
template <class W>
BothOrders<W> bessel_j_series(const W& x) {
  const W square = x * x / 4;
  W term = 1, zero = 1, one = 1;
  for (int k = 1; k < 60; ++k) {
    term *= -square * (inverse<W>(k) * inverse<W>(k));
    zero += term;
    one += term * inverse<W>(k + 1);
    if (is_done(term, zero)) break;
  }
  return {zero, one * x / 2};
}

// 9.1.13 and, for order 1, 9.1.11.
template <class W>
BothOrders<W> bessel_y_series(const W& x) {
  const W square = x * x / 4, logarithm = log(x / 2) + egamma<W>();
  const BothOrders<W> j = bessel_j_series(x);
  W term = 1, harmonic = 0, zero = 0, one = 1;
  for (int k = 1; k < 60; ++k) {
    harmonic += inverse<W>(k);
    term *= -square * (inverse<W>(k) * inverse<W>(k));
    zero -= harmonic * term;
    one += (2 * harmonic + inverse<W>(k + 1)) * term * inverse<W>(k + 1);
    if (is_done<W>(harmonic * term, zero)) break;
  }
  return {(logarithm * j.zero + zero) * 2 / pi<W>(), (2 * logarithm * j.one - 2 / x - one * x / 2) / pi<W>()};
}

constexpr int kBesselFirst = 2, kBesselLast = 26;  // of the table

// Taylor's series from the nearest whole number: x y'' + y' + x y = 0 gives the coefficients. Order 1 is minus the
// derivative of order 0.
template <class W>
BothOrders<W> bessel_from_table(const W& x, int column) {
  int at = static_cast<int>(std::floor(leading(x) + 0.5));
  if (at < kBesselFirst) at = kBesselFirst;
  const W place = at, h = x - place;
  W c[3] = {0, tabulated<W>(kBessel[at - kBesselFirst][column]), tabulated<W>(kBessel[at - kBesselFirst][column + 1])};
  W power = h, value = c[1] + c[2] * h, slope = c[2];
  for (int k = 0; k < 70; ++k) {
    const W next = -(W((k + 1) * (k + 1)) * c[2] + place * c[1] + c[0]) *
                   (inverse<W>(at) * (inverse<W>(k + 2) * inverse<W>(k + 1)));
    slope += (k + 2) * next * power;
    power *= h;
    value += next * power;
    c[0] = c[1], c[1] = c[2], c[2] = next;
    if (is_done<W>(next * power * (k + 2), 0x1p-4)) break;
  }
  return {value, -slope};
}

// 9.2.5 to 9.2.10: cos(x - pi / 4) is (cos x + sin x) / sqrt(2), sin(x - pi / 4) is (sin x - cos x) / sqrt(2).
template <class W>
W bessel_far(int order, bool second, const W& x) {
  const W four_squares = 4 * order;
  W term = 1, p = 1, q = 0;
  for (int k = 1; k < 60; ++k) {
    const W odd = 2 * k - 1;
    term *= (four_squares - odd * odd) / (8 * k * x);
    (k % 2 ? q : p) += k % 4 > 1 ? -term : term;
    if (is_done<W>(term, 1)) break;
  }
  const W sine = sin(x), cosine = cos(x);
  const W c = order ? sine - cosine : cosine + sine, s = order ? -cosine - sine : sine - cosine;
  return (second ? p * s + q * c : p * c - q * s) / sqrt(pi<W>() * x);
}

template <class W>
[[gnu::noinline]] W bessel_j(int order, W x) {
  if (!is_finite(x)) return kNoNumber;
  const W size = size_of_number(x);
  W value;
  if (size > kBesselLast) {
    value = bessel_far(order, false, size);
  } else {
    const BothOrders<W> both = size < kBesselFirst ? bessel_j_series(size) : bessel_from_table(size, 0);
    value = order ? both.one : both.zero;
  }
  return order && is_negative(x) ? -value : value;
}

template <class W>
[[gnu::noinline]] W bessel_y(int order, W x) {
  if (leading(x) == 0) return -kInfinite;
  if (!(x > 0) || !is_finite(x)) return kNoNumber;
  if (x > kBesselLast) return bessel_far(order, true, x);
  const BothOrders<W> both = x < kBesselFirst ? bessel_y_series(x) : bessel_from_table(x, 2);
  return order ? both.one : both.zero;
}

// --- I and K ---------------------------------------------------------------------------------------------------------

// The sum of the asymptotic series 9.7.1 (sign -1) and 9.7.2 (sign 1), for four times the square of the order.
template <class W>
W hankel_series(W four_squares, W x, int sign) {
  W term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const W odd = 2 * k - 1;
    term *= sign * (four_squares - odd * odd) / (8 * k * x);
    sum += term;
    if (is_done(term, sum)) break;
  }
  return sum;
}

// The series 9.6.10 for order 0 and 1.
template <class W>
W modified_i_series(int order, W x) {
  const W square = x * x / 4;
  W term = order == 0 ? W(1) : x / 2, sum = term;
  for (int k = 1; k < 120 && !is_done(term, sum); ++k) {
    term *= square * (inverse<W>(k) * inverse<W>(k + order));
    sum += term;
  }
  return sum;
}

constexpr int kAsymptotic = 30;  // where the asymptotic series have the digits that are wanted

// exp(-|x|) I(x)
template <class W>
[[gnu::noinline]] W scaled_i(int order, W x) {
  const W size = size_of_number(x);
  W value;
  if (size < kAsymptotic) {
    value = exp(-size) * modified_i_series(order, size);
  } else {
    value = hankel_series(W(4 * order), size, -1) / sqrt(2 * pi<W>() * size);
  }
  return order == 1 && is_negative(x) ? -value : value;
}

// As torch: infinity times 0 at infinity.
template <class W>
[[gnu::noinline]] W modified_i(int order, W x) {
  if (size_of_number(x) < kAsymptotic) {
    const W value = modified_i_series(order, size_of_number(x));
    return order == 1 && is_negative(x) ? -value : value;
  }
  return scaled_i(order, x) * exp(size_of_number(x));
}

// cosh(k h) for k = 1, 2, ..., by the addition theorem.
template <class W>
class Cosines {
 public:
  explicit Cosines(const W& h) : first_((exp(h) + exp(-h)) / 2), before_(1), value_(first_) {}
  const W& value() const { return value_; }
  void next() {
    const W after = 2 * first_ * value_ - before_;
    before_ = value_, value_ = after;
  }

 private:
  W first_, before_, value_;
};

// exp(x) K(x) for x >= 2 and an order below 2: 9.6.24 by the trapezoidal rule, whose error is below exp(x - pi^2 /
// step).
template <class W>
W scaled_k_integral(const W& order, const W& x) {
  constexpr double step = 0.125;
  W sum = 0.5;
  Cosines<W> of_t(step), of_order(order * step);
  for (int i = 1; i < 80; ++i, of_t.next(), of_order.next()) {
    const W value = exp(-x * (of_t.value() - 1)) * of_order.value();
    sum += value;
    if (is_done(value, sum)) break;
  }
  return sum * step;
}

template <class W>
[[gnu::noinline]] W scaled_k_from_two(W order, W x) {
  if (x < kAsymptotic) return scaled_k_integral(order, x);
  return sqrt(pi<W>() / (2 * x)) * hankel_series(4 * order * order, x, 1);
}

// K for 0 < x < 2, by 9.6.13 and 9.6.11.
template <class W>
W modified_k_series(int order, W x) {
  const W square = x * x / 4;
  W harmonic = 0, term = order == 0 ? W(1) : x / 4, sum = 0;
  if (order == 1) sum = term * (1 - 2 * egamma<W>());
  for (int k = 1; k < 60; ++k) {
    harmonic += inverse<W>(k);
    term *= square * (inverse<W>(k) * inverse<W>(k + order));
    const W part = order == 0 ? harmonic * term : term * (2 * harmonic + inverse<W>(k + 1) - 2 * egamma<W>());
    sum += part;
    if (is_done(part, sum)) break;
  }
  const W logarithm = log(x / 2), i = modified_i_series(order, x);
  return order == 0 ? sum - (logarithm + egamma<W>()) * i : 1 / x + logarithm * i - sum;
}

template <class W>
[[gnu::noinline]] W modified_k(int order, W x, bool scaled) {
  if (x == 0) return kInfinite;
  if (!(x > 0)) return kNoNumber;
  if (is_infinite(x)) return 0;
  if (x < 2) return modified_k_series(order, x) * (scaled ? exp(x) : W(1));
  return scaled_k_from_two(W(order), x) * (scaled ? W(1) : exp(-x));
}

template <class W>
[[gnu::noinline]] W spherical_j0(W x) {
  if (is_infinite(x)) return 0;
  if (size_of_number(x) > 0.5) return sin(x) / x;
  const W square = x * x;
  W term = 1, sum = 1;
  for (int k = 1; k < 20; ++k) {
    term *= -square / (2 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}

// --- Airy's ----------------------------------------------------------------------------------------------------------

constexpr int kAiryFirst = -10;  // of the table

// Taylor's series from the nearest whole number: y'' = x y gives the coefficients.
template <class W>
W airy_from_table(W x) {
  const int at = static_cast<int>(std::floor(leading(x) + 0.5));
  const W place = at, h = x - place;
  W before = 0, a = tabulated<W>(kAiry[at - kAiryFirst][0]), b = tabulated<W>(kAiry[at - kAiryFirst][1]);
  W power = h, sum = a + b * h;
  for (int k = 0; k < 40; ++k) {
    const W next = (place * a + before) * (inverse<W>(k + 1) * inverse<W>(k + 2));
    before = a, a = b, b = next;
    power *= h;
    sum += next * power;
  }
  return sum;
}

// 10.4.60: from -10 down.
template <class W>
W airy_oscillating(W x) {
  const W size = -x, angle = 2 * size * sqrt(size) / 3;
  W u = 1, p = 1, q = 0;
  for (int k = 1; k < 40; ++k) {
    u *= W(6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (W(216 * k) * (2 * k - 1) * angle);
    const bool minus = k % 4 > 1;
    (k % 2 ? q : p) += minus ? -u : u;
    if (is_done<W>(u, 1)) break;
  }
  const W turned = angle - pi<W>() / 4;
  return (cos(turned) * p + sin(turned) * q) / sqrt(pi<W>() * sqrt(size));
}

// From 2 up by 10.4.14.
template <class W>
[[gnu::noinline]] W airy(W x) {
  if (!is_finite(x)) return kNoNumber;
  if (x < -10.4) return airy_oscillating(x);
  if (x < 2.1) return airy_from_table(x);
  const W angle = 2 * x * sqrt(x) / 3;
  return sqrt(x / 3) / pi<W>() * scaled_k_from_two<W>(W(1) / 3, angle) * exp(-angle);
}

}  // namespace md::formulas
