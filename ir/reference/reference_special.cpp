// Elementwise kernels: one function of C++ per element, computed wider than the dtype and rounded once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "ir/reference/special.h"

namespace md {
namespace {

// The operand broadcast to the result's sizes, read in row-major order from some element on.
class Reader {
 public:
  Reader(const TensorImpl& t, const DimVec& sizes, std::int64_t first) : t_(t), at_(t, sizes), skipped_(first) {}

  // n values in the dtype `compute`.
  void read(std::int64_t n, DType compute, void* out) {
    for (; skipped_ > 0; --skipped_) at_.next();
    gather(t_, at_, n, compute, out);
  }

 private:
  const TensorImpl& t_;
  ElementCursor at_;
  std::int64_t skipped_;
};

constexpr std::int64_t kPiece = 256;

// out[i] = f(x[i]) for the elements [first, last); f is computed in double for floats of 32 bits and less, else in
// long double.
template <class F>
void map_floats(const KernelCall& c, std::int64_t first, std::int64_t last, F&& f) {
  const TensorImpl& out = *c.out[0];
  Reader in(c.tensor(0), out.sizes, first);
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = WorkingOf<T>;
    if constexpr (std::is_floating_point_v<W>) {
      using Wide = std::conditional_t<std::is_same_v<W, double>, long double, double>;
      W values[kPiece];
      for (std::int64_t at = first; at < last; at += kPiece) {
        const std::int64_t n = std::min(kPiece, last - at);
        in.read(n, out.dtype, values);
        for (std::int64_t i = 0; i < n; ++i) {
          out.as<T>()[at + i] = narrow<T>(static_cast<W>(f(static_cast<Wide>(values[i]))));
        }
      }
    }
  });
}

template <class F>
void map_pairs(const KernelCall& c, std::int64_t first, std::int64_t last, F&& f) {
  const TensorImpl& out = *c.out[0];
  Reader left(c.tensor(0), out.sizes, first), right(c.tensor(1), out.sizes, first);
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = WorkingOf<T>;
    if constexpr (!std::is_same_v<T, bool>) {
      W x[kPiece], y[kPiece];
      for (std::int64_t at = first; at < last; at += kPiece) {
        const std::int64_t n = std::min(kPiece, last - at);
        left.read(n, out.dtype, x);
        right.read(n, out.dtype, y);
        for (std::int64_t i = 0; i < n; ++i) out.as<T>()[at + i] = f(narrow<T>(x[i]), narrow<T>(y[i]));
      }
    }
  });
}

// --- Formulas --------------------------------------------------------------------------------------------------------

// A first guess good to seven digits (Giles: "Approximating the erfinv function", GPU Computing Gems, 2011).
double guess_erfinv(double y) {
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

// The functions with _r keep the sign apart; the others write it to a global.
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
long double log_gamma(long double x) {
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

template <class T>
std::uint64_t size_of(T x) {
  const auto wide = static_cast<std::int64_t>(x);
  return wide < 0 ? 0 - static_cast<std::uint64_t>(wide) : static_cast<std::uint64_t>(wide);
}

struct GreatestDivisor {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(std::gcd(size_of(x), size_of(y)));
    return x;
  }
};
struct LeastMultiple {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>) {
      const std::uint64_t divisor = std::gcd(size_of(x), size_of(y));
      // Wraps in the dtype, then loses its sign, as the product of two of its numbers would.
      return divisor == 0 ? T(0) : static_cast<T>(size_of(static_cast<T>(size_of(x) / divisor * size_of(y))));
    }
    return x;
  }
};

// The bits of a float as a number that grows by one from value to value.
template <class T, class Bits>
T next_value(T x, T y) {
  const auto a = widen(x), b = widen(y);
  if (a != a || b != b) return narrow<T>(std::numeric_limits<WorkingOf<T>>::quiet_NaN());
  if (a == b) return y;
  Bits bits = std::bit_cast<Bits>(x);
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  if (a == 0) return std::bit_cast<T>(static_cast<Bits>((b < 0 ? sign : Bits(0)) | Bits(1)));
  bits = static_cast<Bits>((a < b) == (a > 0) ? bits + 1 : bits - 1);
  return std::bit_cast<T>(bits);
}
struct NextTowards {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<WorkingOf<T>>) {
      using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                      std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
      return next_value<T, Bits>(x, y);
    }
    return x;
  }
};

}  // namespace

void run_elements(ops::ErfInv, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_floats(c, first, last, [](auto x) { return erfinv(x); });
}
void run_elements(ops::LGamma, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_floats(c, first, last, [](auto x) { return log_gamma(x); });
}
void run_elements(ops::Digamma, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_floats(c, first, last, [](auto x) { return digamma(x); });
}
void run_elements(ops::Gcd, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_pairs(c, first, last, GreatestDivisor{});
}
void run_elements(ops::Lcm, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_pairs(c, first, last, LeastMultiple{});
}
void run_elements(ops::NextAfter, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_pairs(c, first, last, NextTowards{});
}

void reference_kernel(ops::ErfInv op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }
void reference_kernel(ops::LGamma op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }
void reference_kernel(ops::Digamma op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }
void reference_kernel(ops::Gcd op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }
void reference_kernel(ops::Lcm op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }
void reference_kernel(ops::NextAfter op, const KernelCall& c) { run_elements(op, c, 0, c.out[0]->numel()); }

// --- mode ------------------------------------------------------------------------------------------------------------

namespace {

// NaN after everything else.
template <class W>
bool before(W x, W y) {
  if constexpr (std::is_floating_point_v<W>) {
    if (x != x || y != y) return x == x;
  }
  return x < y;
}

// Position of the most frequent value.
template <class W>
std::int64_t mode_of(const std::vector<W>& values, std::vector<std::int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return before(values[static_cast<std::size_t>(a)], values[static_cast<std::size_t>(b)]);
  });
  std::size_t most = 0, winner = 0, run = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const W v = values[static_cast<std::size_t>(order[i])];
    const bool same = i > 0 && v == values[static_cast<std::size_t>(order[i - 1])];
    run = same ? run + 1 : 1;
    if (run > most) most = run, winner = i;
  }
  return order[winner];
}

}  // namespace

void reference_kernel(ops::Mode, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &values = *c.out[0], &positions = *c.out[1];
  std::int64_t d = c.args[1].get<Size>().value();
  if (d < 0) d += std::max(x.dim(), 1);
  TensorImpl line(x.storage, x.dtype, {}, {}, x.offset), kept(x.storage, x.dtype, {}, {}, x.offset);
  for (std::int64_t i = 0; i < x.dim(); ++i) {
    (i == d ? line.sizes : kept.sizes).push_back(x.sizes[i]);
    (i == d ? line.strides : kept.strides).push_back(x.strides[i]);
  }
  ElementCursor start(kept, kept.sizes);
  visit_dtype(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    using W = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, WorkingOf<T>>;
    std::vector<W> v(static_cast<std::size_t>(line.numel()));
    std::vector<std::int64_t> order(v.size());
    for (std::int64_t i = 0; i < kept.numel(); ++i, start.next()) {
      line.offset = x.offset + start.offset();
      ElementCursor at(line, line.sizes);
      for (W& value : v) value = static_cast<W>(widen(line.as<T>()[at.offset()])), at.next();
      const std::int64_t winner = mode_of(v, order);
      values.as<T>()[i] = narrow<T>(static_cast<WorkingOf<T>>(v[static_cast<std::size_t>(winner)]));
      positions.as<std::int64_t>()[i] = winner;
    }
  });
}

}  // namespace md
