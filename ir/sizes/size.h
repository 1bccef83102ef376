// A tensor extent: an int64 or a hash-consed symbolic expression of one ShapeEnv. Trivially copyable;
// arithmetic on two constants stays inline and allocates nothing. Expressions live as long as their ShapeEnv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "ir/core/small_vector.h"

namespace md {

class SizeExpr;

class Size {
 public:
  Size() = default;
  Size(std::int64_t v) : value_(v) {}
  Size(int v) : value_(v) {}
  explicit Size(const SizeExpr* e) : expr_(e) {}

  bool is_const() const { return expr_ == nullptr; }
  std::int64_t value() const { return value_; }  // only if is_const()
  const SizeExpr* expr() const { return expr_; }
  bool is_const(std::int64_t v) const { return !expr_ && value_ == v; }
  // Structural: equal normal forms. Two different expressions may still be equal at run time.
  bool operator==(const Size& o) const { return expr_ == o.expr_ && (expr_ || value_ == o.value_); }

 private:
  const SizeExpr* expr_ = nullptr;
  std::int64_t value_ = 0;
};

// Slow paths: at least one operand is symbolic, or a constant result does not fit. Throw OpError(Runtime) on overflow
// and OpError(ZeroDivision).
Size add_sizes(Size, Size);
Size sub_sizes(Size, Size);
Size mul_sizes(Size, Size);
Size min_sizes(Size, Size);
Size max_sizes(Size, Size);

inline Size operator+(Size a, Size b) {
  std::int64_t r;
  return a.is_const() && b.is_const() && !__builtin_add_overflow(a.value(), b.value(), &r) ? Size(r) : add_sizes(a, b);
}
inline Size operator-(Size a, Size b) {
  std::int64_t r;
  return a.is_const() && b.is_const() && !__builtin_sub_overflow(a.value(), b.value(), &r) ? Size(r) : sub_sizes(a, b);
}
inline Size operator*(Size a, Size b) {
  std::int64_t r;
  return a.is_const() && b.is_const() && !__builtin_mul_overflow(a.value(), b.value(), &r) ? Size(r) : mul_sizes(a, b);
}
inline Size min(Size a, Size b) {
  return a.is_const() && b.is_const() ? Size(std::min(a.value(), b.value())) : min_sizes(a, b);
}
inline Size max(Size a, Size b) {
  return a.is_const() && b.is_const() ? Size(std::max(a.value(), b.value())) : max_sizes(a, b);
}
Size floordiv(Size, Size);    // Python's //
Size mod(Size, Size);         // Python's %
std::string to_string(Size);  // "4", "4*s0 + 1", "u0"

// The value under the environment's hints (a constant is its own hint). Throws InternalError for an unbacked symbol.
std::int64_t hint(Size);
// Decides under the hint and records the guard in the ShapeEnv; constants decide for free.
bool guard_eq(Size, Size);
bool guard_lt(Size, Size);
// The number `s` is under the hints, assumed from here on.
Size specialise(Size s);
// `s` if it is at least 2, which is assumed where it does not follow; else the number it is under the hints. Shape
// rules treat 0 and 1 (and what is negative) apart, so only settled sizes go into types. Unbacked symbols stay.
Size settle(Size s);

using SizeVec = SmallVector<Size, 4>;
using DimVec = SmallVector<std::int64_t, 5>;

}  // namespace md
