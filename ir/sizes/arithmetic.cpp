// Size arithmetic: polynomial normal form, and the rewrites of floordiv, mod, min and max that are exact for all
// integers.
#include <algorithm>
#include <optional>

#include "ir/core/error.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

[[noreturn]] void overflow() { throw OpError(ErrorKind::Runtime, "size arithmetic does not fit 64 bits"); }

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) overflow();
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
  return {SizeTerm{&kNoFactors, s.value()}};
}

std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }

std::size_t hash_size(Size s) {
  return s.is_const() ? static_cast<std::size_t>(s.value()) * 31 : reinterpret_cast<std::size_t>(s.expr());
}

using Factors = std::vector<const SizeAtom*>;

// Higher degree first, then by the factors' creation order; the constant comes last.
bool term_less(const SizeTerm& a, const SizeTerm& b) {
  if (a.product == b.product) return false;
  const Factors &x = a.factors(), &y = b.factors();
  if (x.size() != y.size()) return x.size() > y.size();
  return std::ranges::lexicographical_compare(x, y, {}, &SizeAtom::id, &SizeAtom::id);
}

using TermIt = std::vector<SizeTerm>::const_iterator;

// As lower_bound, in steps of the logarithm of how far away it is.
TermIt gallop(TermIt at, TermIt end, const SizeTerm& t) {
  std::ptrdiff_t step = 1;
  while (step <= end - at && term_less(at[step - 1], t)) {
    at += step;
    step *= 2;
  }
  return std::lower_bound(at, at + std::min(step - 1, end - at), t, term_less);
}

// Sums of sorted terms. The shorter is looked up in the longer: a term more is a copy and one search.
std::vector<SizeTerm> merge_terms(std::vector<SizeTerm> longer, std::vector<SizeTerm> shorter) {
  if (longer.size() < shorter.size()) longer.swap(shorter);
  std::vector<SizeTerm> out;
  out.reserve(longer.size() + shorter.size());
  TermIt at = longer.begin();
  const TermIt end = longer.end();
  for (SizeTerm t : shorter) {
    const TermIt next = gallop(at, end, t);
    out.insert(out.end(), at, next);
    at = next;
    if (at != end && at->product == t.product) t.coefficient = checked_add(t.coefficient, at++->coefficient);
    if (t.coefficient != 0) out.push_back(t);
  }
  out.insert(out.end(), at, end);
  return out;
}

// a + scale * b
Size combine(Size a, Size b, std::int64_t scale) {
  ShapeEnv& env = env_of(a, b);
  std::vector<SizeTerm> scaled = terms_of(b);
  if (scale != 1) {
    for (SizeTerm& t : scaled) t.coefficient = checked_mul(t.coefficient, scale);
  }
  return env.make_sorted(merge_terms(terms_of(a), std::move(scaled)));
}

// t / d if it is a polynomial term: d's factors are among t's and the coefficient divides.
std::optional<SizeTerm> divide_term(const SizeTerm& t, const SizeTerm& d, ShapeEnv& env) {
  if (floor_remainder(t.coefficient, d.coefficient) != 0) return {};
  const std::int64_t quotient = floor_quotient(t.coefficient, d.coefficient);
  if (d.is_constant()) return SizeTerm{t.product, quotient};
  if (!std::ranges::includes(t.factors(), d.factors(), {}, &SizeAtom::id, &SizeAtom::id)) return {};
  Factors left;
  std::ranges::set_difference(t.factors(), d.factors(), std::back_inserter(left), {}, &SizeAtom::id, &SizeAtom::id);
  return SizeTerm{env.product(std::move(left)), quotient};
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
    if (auto q = divide_term(t, divisor[0], env)) {
      quotient.push_back(std::move(*q));
      continue;
    }
    if (!b.is_const()) {
      rest.push_back(t);
      continue;
    }
    // 7 = 1 * 4 + 3; for symbols toward zero, since -s0 // 4 reads better than -s0 + 3*s0 // 4
    const std::int64_t q = t.is_constant() ? floor_quotient(t.coefficient, b.value()) : t.coefficient / b.value();
    quotient.push_back({t.product, q});
    rest.push_back({t.product, t.coefficient - q * b.value()});
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
  const auto multiply = [&](const SizeProduct* x, const SizeProduct* y) {
    if (x == &kNoFactors) return y;
    if (y == &kNoFactors) return x;
    Factors both;
    std::ranges::merge(x->factors, y->factors, std::back_inserter(both), {}, &SizeAtom::id, &SizeAtom::id);
    return env.product(std::move(both));
  };
  std::vector<SizeTerm> sum;
  const std::vector<SizeTerm> right = terms_of(b);
  for (const SizeTerm& x : terms_of(a)) {
    for (const SizeTerm& y : right) {
      sum.push_back({multiply(x.product, y.product), checked_mul(x.coefficient, y.coefficient)});
    }
  }
  return env.make(std::move(sum));
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
    if (t.coefficient == 1 && t.factors().size() == 1 && t.factors()[0]->kind == AtomKind::FloorDiv) {
      return quotient + floordiv(t.factors()[0]->a, t.factors()[0]->b * b);
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

// --- Interning --------------------------------------------------------------------------------------------------

std::size_t SizeHash::operator()(const SizeGuard& g) const {
  return mix(mix(static_cast<std::size_t>(g.relation), hash_size(g.lhs)), hash_size(g.rhs));
}

std::size_t SizeHash::operator()(const std::pair<Size, Size>& p) const {
  return mix(hash_size(p.first), hash_size(p.second));
}

// 6*(a//3) is 2*a where 3 is known to divide a.
bool ShapeEnv::multiply_out(std::vector<SizeTerm>& terms) const {
  const std::size_t count = terms.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (terms[i].factors().size() != 1 || terms[i].factors()[0]->kind != AtomKind::FloorDiv) continue;
    const SizeAtom& q = *terms[i].factors()[0];
    if (!q.b.is_const() || terms[i].coefficient % q.b.value() != 0 || !divisible(q.a, q.b)) continue;
    const std::int64_t scale = terms[i].coefficient / q.b.value();
    terms[i].coefficient = 0;
    for (SizeTerm t : q.a.expr()->terms) {
      t.coefficient = checked_mul(t.coefficient, scale);
      terms.push_back(t);
    }
  }
  return terms.size() > count;
}

Size ShapeEnv::make(std::vector<SizeTerm> terms) {
  if (!std::ranges::is_sorted(terms, term_less)) std::ranges::sort(terms, term_less);
  std::size_t merged = 0;
  for (const SizeTerm& t : terms) {
    if (merged > 0 && terms[merged - 1].product == t.product)
      terms[merged - 1].coefficient = checked_add(terms[merged - 1].coefficient, t.coefficient);
    else
      terms[merged++] = t;
  }
  terms.resize(merged);
  return make_sorted(std::move(terms));
}

// Each product occurs once.
Size ShapeEnv::make_sorted(std::vector<SizeTerm> terms) {
  std::erase_if(terms, [](const SizeTerm& t) { return t.coefficient == 0; });
  if (terms.empty()) return 0;
  if (terms[0].is_constant()) return terms[0].coefficient;
  if (!divisible_.empty() && multiply_out(terms)) return make(std::move(terms));
  SizeExpr made(*this);
  std::size_t h = terms.size();
  for (const SizeTerm& t : terms) {
    h = mix(mix(h, static_cast<std::size_t>(t.coefficient)), t.product->hash);
    made.depth = std::max(made.depth, t.product->depth);
    made.backed &= t.product->backed;
  }
  const auto [first, last] = expr_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (it->second->terms == terms) return Size(it->second);
  }
  terms.shrink_to_fit();
  made.terms = std::move(terms);
  exprs_.push_back(std::make_unique<SizeExpr>(std::move(made)));
  expr_index_.emplace(h, exprs_.back().get());
  return Size(exprs_.back().get());
}

const SizeProduct* ShapeEnv::product(Factors factors) {
  if (factors.empty()) return &kNoFactors;
  SizeProduct made;
  for (const SizeAtom* a : factors) {
    made.hash = mix(made.hash, static_cast<std::size_t>(a->id) + 1);
    made.depth = std::max(made.depth, a->depth);
    made.backed &= a->backed;
  }
  const auto [first, last] = product_index_.equal_range(made.hash);
  for (auto it = first; it != last; ++it) {
    if (it->second->factors == factors) return it->second;
  }
  made.factors = std::move(factors);
  products_.push_back(std::make_unique<SizeProduct>(std::move(made)));
  product_index_.emplace(products_.back()->hash, products_.back().get());
  return products_.back().get();
}

const SizeAtom* ShapeEnv::intern(AtomKind kind, int symbol, Size a, Size b) {
  const std::size_t h =
      mix(mix(mix(static_cast<std::size_t>(kind), static_cast<std::size_t>(symbol)), hash_size(a)), hash_size(b));
  const auto [first, last] = atom_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const SizeAtom& x = *it->second;
    if (x.kind == kind && x.symbol == symbol && x.a == a && x.b == b) return &x;
  }
  SizeAtom made{kind, static_cast<int>(atoms_.size()), symbol, a, b};
  if (kind == AtomKind::Symbol) {
    made.backed = symbols_[static_cast<std::size_t>(symbol)].hint.has_value();
  } else {
    const auto depth = [](Size s) { return s.is_const() ? 0 : s.expr()->depth; };
    made.depth = std::max(depth(a), depth(b)) + 1;
    made.backed = is_backed(a) && is_backed(b);
  }
  atoms_.push_back(std::make_unique<SizeAtom>(made));
  atom_index_.emplace(h, atoms_.back().get());
  return atoms_.back().get();
}

Size ShapeEnv::of_atom(const SizeAtom* a) { return make_sorted({SizeTerm{product({a}), 1}}); }

Size ShapeEnv::atom(AtomKind kind, Size a, Size b) {
  // min and max commute; constants go second so that both spellings meet.
  const bool commutes = kind == AtomKind::Min || kind == AtomKind::Max;
  if (commutes && (a.is_const() || (!b.is_const() && term_less(b.expr()->terms[0], a.expr()->terms[0])))) {
    std::swap(a, b);
  }
  return of_atom(intern(kind, 0, a, b));
}

Size ShapeEnv::symbol(int index) { return of_atom(intern(AtomKind::Symbol, index, 0, 0)); }

}  // namespace md
