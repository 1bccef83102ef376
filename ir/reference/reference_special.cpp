// Elementwise kernels: one function of C++ per element, computed wider than the dtype and rounded once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ir/reference/elements.h"
#include "ir/reference/special.h"
#include "ir/reference/special_values.h"

namespace md {
namespace {

template <class F>
void map_pairs(const KernelCall& c, std::int64_t first, std::int64_t last, F&& f) {
  const TensorImpl& out = *c.out[0];
  ElementReader left(c.tensor(0), out.sizes, first), right(c.tensor(1), out.sizes, first);
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
  map_floats(c, first, last, [](auto x) { return formulas::value_of(ops::ErfInv{}, x); });
}
void run_elements(ops::LGamma, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_floats(c, first, last, [](auto x) { return formulas::value_of(ops::LGamma{}, x); });
}
void run_elements(ops::Digamma, const KernelCall& c, std::int64_t first, std::int64_t last) {
  map_floats(c, first, last, [](auto x) { return formulas::value_of(ops::Digamma{}, x); });
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
