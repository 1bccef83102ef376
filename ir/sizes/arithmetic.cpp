// Size arithmetic: polynomial normal form, and the rewrites of floordiv, mod, min and max that are exact for all
// integers.
#include <algorithm>
#include <optional>

#include "ir/error.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

[[noreturn]] void overflow() { throw OpError(ErrorKind::Runtime, "size arithmetic does not fit 64 bits"); }

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw OpError(ErrorKind::ZeroDivision, "integer division or modulo by zero");
  if (b == -1) return checked_mul(a, -1);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) throw OpError(ErrorKind::ZeroDivision, "integer division or modulo by zero");
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

ShapeEnv& env_of(Size a, Size b) {
  if (a.is_const() && b.is_const()) overflow();  // the inline path gave up
  ShapeEnv* ea = a.is_const() ? b.expr()->env : a.expr()->env;
  ShapeEnv* eb = b.is_const() ? ea : b.expr()->env;
  if (ea != eb) throw InternalError("sizes of two traces in one expression");
  return *ea;
}

std::vector<SizeTerm> terms_of(Size s) {
  if (!s.is_const()) return s.expr()->terms;
  if (s.value() == 0) return {};
  return {SizeTerm{{}, s.value()}};
}

// a + scale * b
Size combine(Size a, Size b, std::int64_t scale) {
  ShapeEnv& env = env_of(a, b);
  std::vector<SizeTerm> terms = terms_of(a);
  for (SizeTerm t : terms_of(b)) {
    t.coefficient = checked_mul(t.coefficient, scale);
    terms.push_back(std::move(t));
  }
  return env.make(std::move(terms));
}

// t / d if it is a polynomial term: d's factors are among t's and the coefficient divides.
std::optional<SizeTerm> divide_term(const SizeTerm& t, const SizeTerm& d) {
  if (floor_remainder(t.coefficient, d.coefficient) != 0) return {};
  if (!std::ranges::includes(t.factors, d.factors, {}, &SizeAtom::id, &SizeAtom::id)) return {};
  SizeTerm q{{}, floor_quotient(t.coefficient, d.coefficient)};
  std::ranges::set_difference(t.factors, d.factors, std::back_inserter(q.factors), {}, &SizeAtom::id, &SizeAtom::id);
  return q;
}

struct Split {
  Size quotient, rest;  // a == quotient * b + rest
};

// Takes the terms that `b` (one term, or the whole of a) divides out of `a`.
Split split(Size a, Size b, ShapeEnv& env) {
  if (a == b) return {1, 0};
  const std::vector<SizeTerm> divisor = terms_of(b);
  if (divisor.size() != 1) return {0, a};
  std::vector<SizeTerm> quotient, rest;
  for (const SizeTerm& t : terms_of(a)) {
    if (auto q = divide_term(t, divisor[0])) {
      quotient.push_back(std::move(*q));
      continue;
    }
    if (!b.is_const()) {
      rest.push_back(t);
      continue;
    }
    // 7 = 1 * 4 + 3; for symbols toward zero, since -s0 // 4 reads better than -s0 + 3*s0 // 4
    const std::int64_t q = t.factors.empty() ? floor_quotient(t.coefficient, b.value()) : t.coefficient / b.value();
    quotient.push_back({t.factors, q});
    rest.push_back({t.factors, t.coefficient - q * b.value()});
  }
  return {env.make(std::move(quotient)), env.make(std::move(rest))};
}

bool may_be_zero(Size s, const ShapeEnv& env) {
  const SizeRange r = env.range(s);
  return r.lo <= 0 && r.hi >= 0;
}

// 0 <= a < b by what is known of the symbols.
bool is_reduced(Size a, Size b, ShapeEnv& env) { return env.range(a).lo >= 0 && env.range(b - a).lo >= 1; }

}  // namespace

Size add_sizes(Size a, Size b) { return combine(a, b, 1); }

Size sub_sizes(Size a, Size b) { return combine(a, b, -1); }

Size mul_sizes(Size a, Size b) {
  ShapeEnv& env = env_of(a, b);
  std::vector<SizeTerm> product;
  for (const SizeTerm& x : terms_of(a)) {
    for (const SizeTerm& y : terms_of(b)) {
      SizeTerm t{{}, checked_mul(x.coefficient, y.coefficient)};
      std::ranges::merge(x.factors, y.factors, std::back_inserter(t.factors), {}, &SizeAtom::id, &SizeAtom::id);
      product.push_back(std::move(t));
    }
  }
  return env.make(std::move(product));
}

Size floordiv(Size a, Size b) {
  if (a.is_const() && b.is_const()) return floor_quotient(a.value(), b.value());
  ShapeEnv& env = env_of(a, b);
  if (b.is_const(1)) return a;
  if (b.is_const(0)) throw OpError(ErrorKind::ZeroDivision, "integer division or modulo by zero");
  if (!b.is_const() && may_be_zero(b, env)) return env.atom(AtomKind::FloorDiv, a, b);
  const auto [quotient, rest] = split(a, b, env);
  if (rest.is_const(0) || is_reduced(rest, b, env)) return quotient;
  // (x // m) // n == x // (m * n) for n > 0
  if (!rest.is_const() && b.is_const() && b.value() > 0 && rest.expr()->terms.size() == 1) {
    const SizeTerm& t = rest.expr()->terms[0];
    if (t.coefficient == 1 && t.factors.size() == 1 && t.factors[0]->kind == AtomKind::FloorDiv) {
      return quotient + floordiv(t.factors[0]->a, t.factors[0]->b * b);
    }
  }
  return quotient + env.atom(AtomKind::FloorDiv, rest, b);
}

Size mod(Size a, Size b) {
  if (a.is_const() && b.is_const()) return floor_remainder(a.value(), b.value());
  ShapeEnv& env = env_of(a, b);
  if (b.is_const(1) || b.is_const(-1)) return 0;
  if (b.is_const(0)) throw OpError(ErrorKind::ZeroDivision, "integer division or modulo by zero");
  if (!b.is_const() && may_be_zero(b, env)) return env.atom(AtomKind::Mod, a, b);
  Size rest = split(a, b, env).rest;
  if (b.is_const()) {  // coefficients modulo b
    std::vector<SizeTerm> terms = terms_of(rest);
    for (SizeTerm& t : terms) t.coefficient = floor_remainder(t.coefficient, b.value());
    rest = env.make(std::move(terms));
    if (rest.is_const()) return floor_remainder(rest.value(), b.value());
  }
  if (rest.is_const(0) || is_reduced(rest, b, env)) return rest;
  if (env.divisible(rest, b)) return 0;
  return env.atom(AtomKind::Mod, rest, b);
}

Size min_sizes(Size a, Size b) {
  ShapeEnv& env = env_of(a, b);
  const SizeRange d = env.range(a - b);
  if (d.hi <= 0) return a;
  return d.lo >= 0 ? b : env.atom(AtomKind::Min, a, b);
}

Size max_sizes(Size a, Size b) {
  ShapeEnv& env = env_of(a, b);
  const SizeRange d = env.range(a - b);
  if (d.lo >= 0) return a;
  return d.hi <= 0 ? b : env.atom(AtomKind::Max, a, b);
}

}  // namespace md
