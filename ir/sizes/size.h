// A tensor extent: an int64 or a hash-consed symbolic expression of one ShapeEnv. Trivially copyable;
// arithmetic on two constants stays inline and allocates nothing. Expressions live as long as their ShapeEnv.
#pragma once

#include <cstdint>
#include <string>

#include "ir/small_vector.h"

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

Size operator+(Size, Size);
Size operator-(Size, Size);
Size operator*(Size, Size);
Size floordiv(Size, Size);  // Python's //
Size mod(Size, Size);       // Python's %
Size min(Size, Size);
Size max(Size, Size);
std::string to_string(Size);  // "4", "s0*4 + 1", "u0"

// The value under the environment's hints (a constant is its own hint). Throws InternalError for an unbacked symbol.
std::int64_t hint(Size);
// Decides under the hint and records the guard in the ShapeEnv; constants decide for free.
bool guard_eq(Size, Size);
bool guard_lt(Size, Size);

using SizeVec = SmallVector<Size, 5>;
using DimVec = SmallVector<std::int64_t, 5>;

}  // namespace md
