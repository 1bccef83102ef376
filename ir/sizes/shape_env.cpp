// Declaring symbols, interval arithmetic on their ranges, and deciding relations from hints and assumptions.
#include "ir/sizes/shape_env.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/sizes/assumptions.h"

namespace md {
namespace {

[[noreturn]] void refuse_overflow() { throw OpError(ErrorKind::Runtime, "size arithmetic does not fit 64 bits"); }

bool is_infinite(std::int64_t v) { return v == SizeRange::kMin || v == SizeRange::kMax; }

std::int64_t saturate(__int128 v) {
  return static_cast<std::int64_t>(std::clamp<__int128>(v, SizeRange::kMin, SizeRange::kMax));
}

std::int64_t bound_mul(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? SizeRange::kMax : SizeRange::kMin;
  return saturate(static_cast<__int128>(a) * b);
}

// Both lower or both upper bounds: an infinite one wins.
std::int64_t bound_add(std::int64_t a, std::int64_t b) {
  if (is_infinite(a)) return a;
  return is_infinite(b) ? b : saturate(static_cast<__int128>(a) + b);
}

SizeRange operator*(SizeRange x, SizeRange y) {
  const std::int64_t corners[] = {bound_mul(x.lo, y.lo), bound_mul(x.lo, y.hi), bound_mul(x.hi, y.lo),
                                  bound_mul(x.hi, y.hi)};
  return {std::ranges::min(corners), std::ranges::max(corners)};
}

std::int64_t bound_floordiv(std::int64_t a, std::int64_t positive) {
  if (is_infinite(a)) return a;
  if (positive == SizeRange::kMax) return a < 0 ? -1 : 0;
  return a / positive - (a % positive < 0);
}

// Only divisors known to be positive are bounded.
SizeRange floordiv_range(SizeRange a, SizeRange b) {
  if (b.lo < 1) return {};
  return {std::min(bound_floordiv(a.lo, b.lo), bound_floordiv(a.lo, b.hi)),
          std::max(bound_floordiv(a.hi, b.lo), bound_floordiv(a.hi, b.hi))};
}

SizeRange mod_range(SizeRange a, SizeRange b) {
  if (b.lo < 1) return {};
  const std::int64_t below = b.hi == SizeRange::kMax ? SizeRange::kMax : b.hi - 1;
  return {0, a.lo >= 0 ? std::min(a.hi, below) : below};
}

SizeRelation negated(SizeRelation r) {
  switch (r) {
    case SizeRelation::Eq:
      return SizeRelation::Ne;
    case SizeRelation::Ne:
      return SizeRelation::Eq;
    case SizeRelation::Lt:
      return SizeRelation::Ge;
    default:
      return SizeRelation::Lt;
  }
}

// The first symbol inside an expression that `test` accepts. Operands that several atoms share are searched once.
template <class F>
class SymbolSearch {
 public:
  explicit SymbolSearch(F& test) : test_(test) {}

  std::optional<int> run(Size s) {
    if (s.is_const() || (s.expr()->depth > 0 && !seen_.insert(s.expr()).second)) return {};
    for (const SizeTerm& t : s.expr()->terms) {
      for (const SizeAtom* a : t.factors()) {
        if (a->kind == AtomKind::Symbol) {
          if (test_(a->symbol)) return a->symbol;
        } else if (auto found = run(a->a); found || (found = run(a->b))) {
          return found;
        }
      }
    }
    return {};
  }

 private:
  F& test_;
  std::unordered_set<const SizeExpr*> seen_;
};

template <class F>
std::optional<int> find_symbol(Size s, F&& test) {
  return SymbolSearch<F>(test).run(s);
}

bool mentions(Size s, int symbol) {
  return find_symbol(s, [&](int i) { return i == symbol; }).has_value();
}

}  // namespace

bool holds_for(SizeRelation relation, std::int64_t a, std::int64_t b) {
  switch (relation) {
    case SizeRelation::Eq:
      return a == b;
    case SizeRelation::Ne:
      return a != b;
    case SizeRelation::Lt:
      return a < b;
    case SizeRelation::Ge:
      return a >= b;
  }
  return false;
}

std::optional<int> symbol_index(Size s) {
  if (s.is_const() || s.expr()->terms.size() != 1) return {};
  const SizeTerm& t = s.expr()->terms[0];
  if (t.coefficient != 1 || t.factors().size() != 1 || t.factors()[0]->kind != AtomKind::Symbol) return {};
  return t.factors()[0]->symbol;
}

void for_each_symbol(Size s, const std::function<void(int)>& f) {
  find_symbol(s, [&](int i) {
    f(i);
    return false;
  });
}

void bind_symbols(const ShapeEnv& env, std::span<const SizeVec* const> declared, std::span<const DimVec* const> actual,
                  std::vector<std::int64_t>& values) {
  values.assign(env.symbols().size(), 0);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    for (std::size_t d = 0; d < declared[i]->size(); ++d) {
      if (const auto symbol = symbol_index((*declared[i])[d])) {
        values[static_cast<std::size_t>(*symbol)] = (*actual[i])[d];
      }
    }
  }
}

// --- Symbols ----------------------------------------------------------------------------------------------------

Size ShapeEnv::declare(SizeSymbol s) {
  const int index = static_cast<int>(symbols_.size());
  if (s.hint) symbols_by_hint_[*s.hint].push_back(index);
  equalities_ |= s.equals.has_value();
  symbols_.push_back(std::move(s));
  return symbol(index);
}

Size ShapeEnv::backed(std::int64_t hint, const std::string& source, bool share) {
  if (hint == 0 || hint == 1) return hint;
  if (const auto same = symbols_by_hint_.find(hint); share && same != symbols_by_hint_.end()) {
    for (int i : same->second) {
      if (symbols_[static_cast<std::size_t>(i)].range.lo >= 2) return symbol(i);
    }
  }
  return declare({"s" + std::to_string(next_backed_++), hint, source, {2, SizeRange::kMax}, {}});
}

Size ShapeEnv::integer(std::int64_t hint, const std::string& source) {
  return declare({"s" + std::to_string(next_backed_++), hint, source, {}, {}});
}

Size ShapeEnv::unbacked(SizeRange range) {
  return declare({"u" + std::to_string(next_unbacked_++), {}, {}, range, {}});
}

// --- Facts ------------------------------------------------------------------------------------------------------

void ShapeEnv::assume_divisible(Size a, Size b) {
  divisible_.emplace_back(a, b);
  if (divisible_index_.emplace(a, b).second) ++facts_;
}

bool ShapeEnv::divisible(Size a, Size b) const { return divisible_index_.contains({a, b}); }

void ShapeEnv::assume_range(Size s, SizeRange range) {
  if (const auto index = symbol_index(s)) {
    SizeRange& now = symbols_[static_cast<std::size_t>(*index)].range;
    const SizeRange both{std::max(now.lo, range.lo), std::min(now.hi, range.hi)};
    if (both == now) return;
    now = both;
    ++facts_;
  }
}

void ShapeEnv::set_equal(int symbol, Size value) {
  symbols_[static_cast<std::size_t>(symbol)].equals = value;
  equalities_ = true;
  ++facts_;
}

SizeRange ShapeEnv::atom_range(const SizeAtom& a) const {
  if (a.kind == AtomKind::Symbol) return known(a).range;
  const SizeRange x = range(a.a), y = range(a.b);
  switch (a.kind) {
    case AtomKind::FloorDiv:
      return floordiv_range(x, y);
    case AtomKind::Mod:
      return mod_range(x, y);
    case AtomKind::Min:
      return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
    default:
      return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
  }
}

SizeRange ShapeEnv::range(Size s) const {
  if (s.is_const()) return {s.value(), s.value()};
  const SizeExpr& e = *s.expr();
  if (e.range_facts_ == facts_) return e.range_;
  SizeRange sum{0, 0};
  for (const SizeTerm& t : e.terms) {
    SizeRange product{t.coefficient, t.coefficient};
    for (const SizeAtom* a : t.factors()) product = product * atom_range(*a);
    sum = {bound_add(sum.lo, product.lo), bound_add(sum.hi, product.hi)};
  }
  e.range_ = sum, e.range_facts_ = facts_;
  return sum;
}

Size ShapeEnv::simplify_atom(const SizeAtom& a) {
  if (a.kind == AtomKind::Symbol) return known(a).equals ? simplify(*known(a).equals) : of_atom(&a);
  const Size x = simplify(a.a), y = simplify(a.b);
  switch (a.kind) {
    case AtomKind::FloorDiv:
      return floordiv(x, y);
    case AtomKind::Mod:
      return mod(x, y);
    case AtomKind::Min:
      return min(x, y);
    default:
      return max(x, y);
  }
}

Size ShapeEnv::simplify(Size s) {
  if (s.is_const()) return s;
  const SizeExpr& e = *s.expr();
  if (e.depth == 0 && !equalities_) return s;
  if (e.simple_facts_ == facts_) return e.simple_;
  const auto stays = [&](const SizeAtom* a) { return a->kind == AtomKind::Symbol && !known(*a).equals; };
  std::vector<SizeTerm> sum;
  for (const SizeTerm& t : e.terms) {
    if (std::ranges::all_of(t.factors(), stays)) {
      sum.push_back(t);
      continue;
    }
    Size product = t.coefficient;
    for (const SizeAtom* a : t.factors()) product = product * simplify_atom(*a);
    if (product.is_const())
      sum.push_back({&kNoFactors, product.value()});
    else
      sum.insert(sum.end(), product.expr()->terms.begin(), product.expr()->terms.end());
  }
  e.simple_ = make(std::move(sum)), e.simple_facts_ = facts_;
  return e.simple_;
}

// --- Values -----------------------------------------------------------------------------------------------------

namespace {

// The value of `e`, given those of symbols and of the operands of atoms.
template <class SymbolValue, class OperandValue>
std::int64_t value_of(const SizeExpr& e, SymbolValue&& symbol, OperandValue&& operand) {
  const auto value = [&](const SizeAtom& a) -> std::int64_t {
    if (a.kind == AtomKind::Symbol) return symbol(static_cast<std::size_t>(a.symbol));
    const Size x = operand(a.a), y = operand(a.b);
    switch (a.kind) {
      case AtomKind::FloorDiv:
        return floordiv(x, y).value();
      case AtomKind::Mod:
        return mod(x, y).value();
      case AtomKind::Min:
        return min(x, y).value();
      default:
        return max(x, y).value();
    }
  };
  // Partial sums may leave int64 although the value fits.
  __int128 sum = 0;
  for (const SizeTerm& t : e.terms) {
    std::int64_t product = t.coefficient;
    for (const SizeAtom* a : t.factors()) {
      if (__builtin_mul_overflow(product, value(*a), &product)) refuse_overflow();
    }
    sum += product;
  }
  if (sum != saturate(sum)) refuse_overflow();
  return static_cast<std::int64_t>(sum);
}

// Operands that several atoms share are evaluated once.
class DeepEvaluation {
 public:
  explicit DeepEvaluation(std::span<const std::int64_t> values) : values_(values) {}

  std::int64_t run(Size s) {
    if (s.is_const()) return s.value();
    if (const auto found = known_.find(s.expr()); found != known_.end()) return found->second;
    const auto symbol = [&](std::size_t i) { return values_[i]; };
    const std::int64_t value = value_of(*s.expr(), symbol, [&](Size x) { return run(x); });
    known_.emplace(s.expr(), value);
    return value;
  }

 private:
  std::span<const std::int64_t> values_;
  std::unordered_map<const SizeExpr*, std::int64_t> known_;
};

constexpr int kDeep = 4;  // from here on it pays to remember operands

}  // namespace

std::int64_t ShapeEnv::evaluate(Size s, std::span<const std::int64_t> values) const {
  if (s.is_const()) return s.value();
  if (s.expr()->depth >= kDeep) return DeepEvaluation(values).run(s);
  const auto symbol = [&](std::size_t i) { return values[i]; };
  return value_of(*s.expr(), symbol, [&](Size x) { return evaluate(x, values); });
}

bool ShapeEnv::is_backed(Size s) const { return s.is_const() || s.expr()->backed; }

std::int64_t ShapeEnv::hint(Size s) const {
  if (s.is_const()) return s.value();
  const SizeExpr& e = *s.expr();
  if (e.hint_) return *e.hint_;
  if (!e.backed) {
    const auto found = find_symbol(s, [&](int i) { return !symbols_[static_cast<std::size_t>(i)].hint; });
    const std::string& name = symbols_[static_cast<std::size_t>(*found)].name;
    throw DataDependent(DataDependent::What::Size, "the value of " + name + " is not known while tracing");
  }
  const auto symbol = [&](std::size_t i) { return *symbols_[i].hint; };
  e.hint_ = value_of(e, symbol, [&](Size x) { return hint(x); });
  return *e.hint_;
}

// --- Guards -----------------------------------------------------------------------------------------------------

// Whether `difference <relation> 0` follows from ranges alone.
std::optional<bool> ShapeEnv::prove(SizeRelation relation, Size difference) const {
  const SizeRange r = range(difference);
  switch (relation) {
    case SizeRelation::Eq:
      if (r.lo > 0 || r.hi < 0) return false;
      return r.lo == 0 && r.hi == 0 ? std::optional(true) : std::nullopt;
    case SizeRelation::Lt:
      if (r.hi < 0) return true;
      return r.lo >= 0 ? std::optional(false) : std::nullopt;
    default: {
      const auto opposite = prove(negated(relation), difference);
      return opposite ? std::optional(!*opposite) : std::nullopt;
    }
  }
}

// symbol + k or k - symbol against zero: a bound of the symbol.
void ShapeEnv::learn_bound(SizeRelation relation, Size difference) {
  if (difference.is_const() || relation == SizeRelation::Ne) return;
  const std::vector<SizeTerm>& terms = difference.expr()->terms;
  const SizeTerm& t = terms[0];
  if (terms.size() > 2 || (terms.size() == 2 && !terms[1].is_constant()) || t.factors().size() != 1 ||
      t.factors()[0]->kind != AtomKind::Symbol || (t.coefficient != 1 && t.coefficient != -1))
    return;
  const std::int64_t k = terms.size() == 2 ? terms[1].coefficient : 0;
  if (k == SizeRange::kMin || k == SizeRange::kMax) return;
  const Size s = symbol(t.factors()[0]->symbol);
  const bool plus = t.coefficient == 1;
  if (relation == SizeRelation::Eq) {
    const std::int64_t value = plus ? -k : k;
    assume_range(s, {value, value});
    set_equal(t.factors()[0]->symbol, value);
  } else if (relation == SizeRelation::Ge) {
    assume_range(s, plus ? SizeRange{-k, SizeRange::kMax} : SizeRange{SizeRange::kMin, k});
  } else {
    assume_range(s, plus ? SizeRange{SizeRange::kMin, -k - 1} : SizeRange{k + 1, SizeRange::kMax});
  }
}

void ShapeEnv::learn(const SizeGuard& g) {
  learn_bound(g.relation, g.lhs - g.rhs);
  const auto left = symbol_index(g.lhs), right = symbol_index(g.rhs);
  if (g.relation == SizeRelation::Eq) {
    if (left && !mentions(g.rhs, *left)) {
      set_equal(*left, g.rhs);
      assume_range(g.lhs, range(g.rhs));
    } else if (right && !mentions(g.lhs, *right)) {
      set_equal(*right, g.lhs);
      assume_range(g.rhs, range(g.lhs));
    }
    if (!g.lhs.is_const() && g.rhs.is_const(0) && g.lhs.expr()->terms.size() == 1) {
      const SizeTerm& t = g.lhs.expr()->terms[0];
      if (t.factors().size() == 1 && t.factors()[0]->kind == AtomKind::Mod) {
        assume_divisible(t.factors()[0]->a, t.factors()[0]->b);
      }
    }
    return;
  }
  if (g.relation == SizeRelation::Ne) return;
  const bool less = g.relation == SizeRelation::Lt;
  if (g.rhs.is_const()) {
    assume_range(g.lhs,
                 less ? SizeRange{SizeRange::kMin, g.rhs.value() - 1} : SizeRange{g.rhs.value(), SizeRange::kMax});
  } else if (g.lhs.is_const()) {
    assume_range(g.rhs,
                 less ? SizeRange{g.lhs.value() + 1, SizeRange::kMax} : SizeRange{SizeRange::kMin, g.lhs.value()});
  }
}

bool ShapeEnv::decide(SizeRelation relation, Size a, Size b) {
  a = simplify(a), b = simplify(b);
  if (a.is_const() && b.is_const()) return holds_for(relation, a.value(), b.value());
  if (const auto known = prove(relation, simplify(a - b))) return *known;
  const bool open = !is_backed(a) || !is_backed(b);
  if (open && guard_index_.contains({relation, a, b})) return true;
  if (open && guard_index_.contains({negated(relation), a, b})) return false;
  SizeAssumptions* const assumed = open ? SizeAssumptions::current() : nullptr;
  const bool truth = assumed ? is_likely(relation, a, b) : holds_for(relation, hint(a), hint(b));
  const SizeGuard g{truth ? relation : negated(relation), a, b};
  if (assumed) {
    assumed->note(g);
    guard_index_.insert(g);
    learn(g);
    return truth;
  }
  if (guard_index_.insert(g).second) guards_.push_back(g);
  learn(g);
  return truth;
}

// a % b of what is to be divided without a rest.
static bool is_rest(Size s) {
  if (s.is_const() || s.expr()->terms.size() != 1) return false;
  const auto& factors = s.expr()->terms[0].factors();
  return factors.size() == 1 && factors[0]->kind == AtomKind::Mod;
}

bool is_likely(SizeRelation relation, Size a, Size b) {
  if (is_rest(a) && b.is_const(0)) return relation == SizeRelation::Eq || relation == SizeRelation::Ge;
  if (relation == SizeRelation::Eq || relation == SizeRelation::Ne) {
    const bool small = (a.is_const() && a.value() < 2) || (b.is_const() && b.value() < 2);
    return small == (relation == SizeRelation::Ne);
  }
  constexpr std::int64_t kSmall = 2;
  std::vector<std::int64_t> values;
  ShapeEnv& env = *(a.is_const() ? b : a).expr()->env;
  for (const SizeSymbol& symbol : env.symbols())
    values.push_back(symbol.hint.value_or(std::clamp(kSmall, symbol.range.lo, symbol.range.hi)));
  return holds_for(relation, env.evaluate(a, values), env.evaluate(b, values));
}

bool ShapeEnv::proven(const SizeGuard& g) const {
  const Size difference = g.lhs - g.rhs;
  return difference.is_const() ? holds_for(g.relation, difference.value(), 0) : prove(g.relation, difference) == true;
}

std::int64_t hint(Size s) { return s.is_const() ? s.value() : s.expr()->env->hint(s); }

bool guard_eq(Size a, Size b) {
  if (a == b) return true;
  if (a.is_const() && b.is_const()) return false;
  return (a.is_const() ? b : a).expr()->env->decide(SizeRelation::Eq, a, b);
}

bool guard_lt(Size a, Size b) {
  if (a.is_const() && b.is_const()) return a.value() < b.value();
  return (a.is_const() ? b : a).expr()->env->decide(SizeRelation::Lt, a, b);
}

Size specialise(Size s) {
  if (s.is_const()) return s;
  const std::int64_t value = hint(s);
  guard_eq(s, value);
  return value;
}

Size settle(Size s) {
  if (s.is_const()) return s;
  ShapeEnv& env = *s.expr()->env;
  s = env.simplify(s);
  if (s.is_const() || env.range(s).lo >= 2 || !env.is_backed(s)) return s;
  if (hint(s) < 2) return specialise(s);
  env.decide(SizeRelation::Ge, s, 2);
  return s;
}

}  // namespace md
