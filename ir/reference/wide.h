// A number as the sum of two float64s, about 104 bits: what formulas of float64 compute in, on processors and GPUs
// alike. (Dekker: "A floating-point technique for extending the available precision", 1971; with fused multiply-add.)
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

namespace md::formulas {

class Wide {
 public:
  constexpr Wide() = default;
  template <class N>
    requires std::integral<N> || std::floating_point<N>
  constexpr Wide(N number) : high(static_cast<double>(number)), low(0) {
    if constexpr (sizeof(N) == 8 && std::integral<N>) {  // below 2^63, of which the number may be rounded to
      if (high > -0x1p63 && high < 0x1p63) low = static_cast<double>(number - static_cast<N>(high));
    }
  }
  constexpr Wide(double h, double l) : high(h), low(l) {}
  explicit operator double() const { return high; }

  double high = 0, low = 0;  // low: at most half a unit in the last place of high

  // |h| >= |l|, or h is 0. Infinities and NaN have no second part.
  static Wide joined(double h, double l) {
    const double sum = h + l;
    return {sum, sum - sum == 0 ? l - (sum - h) : 0};
  }
  static Wide sum_of(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, sum - sum == 0 ? (a - (sum - part)) + (b - part) : 0};
  }
  static Wide product_of(double a, double b) {
    const double product = a * b;
    return {product, product - product == 0 ? std::fma(a, b, -product) : 0};
  }

  // Apart, for it is long.
  [[gnu::noinline]] static Wide quotient(double high, double low, double of_high, double of_low) {
    const double first = high / of_high;
    if (!(first - first == 0) || of_high - of_high != 0) return first;
    const Wide rest = Wide(high, low) - Wide(of_high, of_low) * Wide(first);
    return joined(first, rest.high / of_high);
  }

  Wide operator-() const { return {-high, -low}; }
  friend Wide operator+(const Wide& a, const Wide& b) {
    const Wide s = sum_of(a.high, b.high), t = sum_of(a.low, b.low);
    const Wide first = joined(s.high, s.low + t.high);
    return joined(first.high, first.low + t.low);
  }
  friend Wide operator-(const Wide& a, const Wide& b) { return a + -b; }
  friend Wide operator*(const Wide& a, const Wide& b) {
    const Wide p = product_of(a.high, b.high);
    return joined(p.high, p.low + (a.high * b.low + a.low * b.high));
  }
  friend Wide operator/(const Wide& a, const Wide& b) { return quotient(a.high, a.low, b.high, b.low); }
  Wide& operator+=(const Wide& b) { return *this = *this + b; }
  Wide& operator-=(const Wide& b) { return *this = *this - b; }
  Wide& operator*=(const Wide& b) { return *this = *this * b; }
  Wide& operator/=(const Wide& b) { return *this = *this / b; }
  Wide& operator++() { return *this += 1; }

  friend bool operator==(const Wide& a, const Wide& b) { return a.high == b.high && a.low == b.low; }
  friend bool operator<(const Wide& a, const Wide& b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
  friend bool operator>(const Wide& a, const Wide& b) { return b < a; }
  friend bool operator<=(const Wide& a, const Wide& b) { return a < b || a == b; }
  friend bool operator>=(const Wide& a, const Wide& b) { return b <= a; }
};

inline Wide sqrt(const Wide& x) {
  const double root = std::sqrt(x.high);
  if (!(root > 0) || root - root != 0) return root;
  return Wide::joined(root, (x - Wide::product_of(root, root)).high / (2 * root));
}

}  // namespace md::formulas
