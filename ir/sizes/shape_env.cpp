#include "ir/sizes/shape_env.h"

#include <algorithm>

#include "ir/error.h"

namespace md {
namespace {

[[noreturn]] void overflow() { throw OpError(ErrorKind::Runtime, "size arithmetic does not fit 64 bits"); }

std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }

std::size_t hash_size(Size s) {
  return s.is_const() ? static_cast<std::size_t>(s.value()) * 31 : reinterpret_cast<std::size_t>(s.expr());
}

std::size_t hash_terms(const std::vector<SizeTerm>& terms) {
  std::size_t h = terms.size();
  for (const SizeTerm& t : terms) {
    h = mix(h, static_cast<std::size_t>(t.coefficient));
    for (const SizeAtom* a : t.factors) h = mix(h, static_cast<std::size_t>(a->id) + 1);
  }
  return h;
}

// Higher degree first, then by the factors' creation order; the constant comes last.
bool term_less(const SizeTerm& a, const SizeTerm& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size();
  return std::ranges::lexicographical_compare(a.factors, b.factors, {}, &SizeAtom::id, &SizeAtom::id);
}

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

// The first symbol inside `s` that `test` accepts.
template <class F>
std::optional<int> find_symbol(Size s, F&& test) {
  if (s.is_const()) return {};
  for (const SizeTerm& t : s.expr()->terms) {
    for (const SizeAtom* a : t.factors) {
      if (a->kind == AtomKind::Symbol) {
        if (test(a->symbol)) return a->symbol;
      } else if (auto found = find_symbol(a->a, test); found || (found = find_symbol(a->b, test))) {
        return found;
      }
    }
  }
  return {};
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
  if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0]->kind != AtomKind::Symbol) return {};
  return t.factors[0]->symbol;
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

// --- Building ---------------------------------------------------------------------------------------------------

// 6*(a//3) is 2*a where 3 is known to divide a.
void ShapeEnv::multiply_out(std::vector<SizeTerm>& terms) const {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].factors.size() != 1 || terms[i].factors[0]->kind != AtomKind::FloorDiv) continue;
    const SizeAtom& q = *terms[i].factors[0];
    if (!q.b.is_const() || terms[i].coefficient % q.b.value() != 0 || !divisible(q.a, q.b)) continue;
    const std::int64_t scale = terms[i].coefficient / q.b.value();
    terms[i].coefficient = 0;
    for (SizeTerm t : q.a.expr()->terms) {
      if (__builtin_mul_overflow(t.coefficient, scale, &t.coefficient)) overflow();
      terms.push_back(std::move(t));
    }
  }
}

Size ShapeEnv::make(std::vector<SizeTerm> terms) {
  if (!divisible_.empty()) multiply_out(terms);
  std::ranges::sort(terms, term_less);
  std::vector<SizeTerm> merged;
  for (SizeTerm& t : terms) {
    if (merged.empty() || merged.back().factors != t.factors) {
      merged.push_back(std::move(t));
    } else if (__builtin_add_overflow(merged.back().coefficient, t.coefficient, &merged.back().coefficient)) {
      overflow();
    }
  }
  std::erase_if(merged, [](const SizeTerm& t) { return t.coefficient == 0; });
  if (merged.empty()) return 0;
  if (merged.size() == 1 && merged[0].factors.empty()) return merged[0].coefficient;
  const std::size_t h = hash_terms(merged);
  const auto [first, last] = expr_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (it->second->terms == merged) return Size(it->second);
  }
  exprs_.push_back(std::make_unique<SizeExpr>(SizeExpr{this, std::move(merged)}));
  expr_index_.emplace(h, exprs_.back().get());
  return Size(exprs_.back().get());
}

const SizeAtom* ShapeEnv::intern(AtomKind kind, int symbol, Size a, Size b) {
  const std::size_t h =
      mix(mix(mix(static_cast<std::size_t>(kind), static_cast<std::size_t>(symbol)), hash_size(a)), hash_size(b));
  const auto [first, last] = atom_index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const SizeAtom& x = *it->second;
    if (x.kind == kind && x.symbol == symbol && x.a == a && x.b == b) return &x;
  }
  atoms_.push_back(std::make_unique<SizeAtom>(SizeAtom{kind, static_cast<int>(atoms_.size()), symbol, a, b}));
  atom_index_.emplace(h, atoms_.back().get());
  return atoms_.back().get();
}

Size ShapeEnv::of_atom(const SizeAtom* a) { return make({SizeTerm{{a}, 1}}); }

Size ShapeEnv::atom(AtomKind kind, Size a, Size b) {
  // min and max commute; constants go second so that both spellings meet.
  const bool commutes = kind == AtomKind::Min || kind == AtomKind::Max;
  if (commutes && (a.is_const() || (!b.is_const() && term_less(b.expr()->terms[0], a.expr()->terms[0])))) {
    std::swap(a, b);
  }
  return of_atom(intern(kind, 0, a, b));
}

Size ShapeEnv::symbol(int index) { return of_atom(intern(AtomKind::Symbol, index, 0, 0)); }

Size ShapeEnv::declare(SizeSymbol s) {
  symbols_.push_back(std::move(s));
  return symbol(static_cast<int>(symbols_.size()) - 1);
}

Size ShapeEnv::backed(std::int64_t hint, const std::string& source, bool share) {
  if (hint == 0 || hint == 1) return hint;
  for (std::size_t i = 0; share && i < symbols_.size(); ++i) {
    if (symbols_[i].hint != hint || symbols_[i].range.lo < 2) continue;
    return symbol(static_cast<int>(i));
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

void ShapeEnv::assume_divisible(Size a, Size b) { divisible_.emplace_back(a, b); }

bool ShapeEnv::divisible(Size a, Size b) const {
  return std::ranges::any_of(divisible_, [&](const auto& fact) { return fact.first == a && fact.second == b; });
}

void ShapeEnv::assume_range(Size s, SizeRange range) {
  if (const auto index = symbol_index(s)) {
    SizeRange& known = symbols_[static_cast<std::size_t>(*index)].range;
    known = {std::max(known.lo, range.lo), std::min(known.hi, range.hi)};
  }
}

SizeRange ShapeEnv::atom_range(const SizeAtom& a) const {
  if (a.kind == AtomKind::Symbol) return symbols_[static_cast<std::size_t>(a.symbol)].range;
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
  SizeRange sum{0, 0};
  for (const SizeTerm& t : s.expr()->terms) {
    SizeRange product{t.coefficient, t.coefficient};
    for (const SizeAtom* a : t.factors) product = product * atom_range(*a);
    sum = {bound_add(sum.lo, product.lo), bound_add(sum.hi, product.hi)};
  }
  return sum;
}

Size ShapeEnv::simplify(Size s) {
  if (s.is_const()) return s;
  Size sum = 0;
  for (const SizeTerm& t : std::vector<SizeTerm>(s.expr()->terms)) {
    Size product = t.coefficient;
    for (const SizeAtom* a : t.factors) {
      Size factor;
      if (a->kind == AtomKind::Symbol) {
        const SizeSymbol& known = symbols_[static_cast<std::size_t>(a->symbol)];
        factor = known.equals ? simplify(*known.equals) : of_atom(a);
      } else {
        const Size x = simplify(a->a), y = simplify(a->b);
        factor = a->kind == AtomKind::FloorDiv ? floordiv(x, y)
                 : a->kind == AtomKind::Mod    ? mod(x, y)
                 : a->kind == AtomKind::Min    ? min(x, y)
                                               : max(x, y);
      }
      product = product * factor;
    }
    sum = sum + product;
  }
  return sum;
}

// --- Values -----------------------------------------------------------------------------------------------------

std::int64_t ShapeEnv::evaluate_atom(const SizeAtom& a, std::span<const std::int64_t> values) const {
  if (a.kind == AtomKind::Symbol) return values[static_cast<std::size_t>(a.symbol)];
  const Size x = evaluate(a.a, values), y = evaluate(a.b, values);
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
}

std::int64_t ShapeEnv::evaluate(Size s, std::span<const std::int64_t> values) const {
  if (s.is_const()) return s.value();
  // Partial sums may leave int64 although the value fits.
  __int128 sum = 0;
  for (const SizeTerm& t : s.expr()->terms) {
    std::int64_t product = t.coefficient;
    for (const SizeAtom* a : t.factors) {
      if (__builtin_mul_overflow(product, evaluate_atom(*a, values), &product)) overflow();
    }
    sum += product;
  }
  if (sum != saturate(sum)) overflow();
  return static_cast<std::int64_t>(sum);
}

bool ShapeEnv::is_backed(Size s) const {
  return !find_symbol(s, [&](int i) { return !symbols_[static_cast<std::size_t>(i)].hint; });
}

std::int64_t ShapeEnv::hint(Size s) const {
  if (const auto index = find_symbol(s, [&](int i) { return !symbols_[static_cast<std::size_t>(i)].hint; })) {
    const std::string& name = symbols_[static_cast<std::size_t>(*index)].name;
    throw DataDependent(DataDependent::What::Size, "the value of " + name + " is not known while tracing");
  }
  std::vector<std::int64_t> values;
  for (const SizeSymbol& symbol : symbols_) values.push_back(symbol.hint.value_or(0));
  return evaluate(s, values);
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
  if (terms.size() > 2 || (terms.size() == 2 && !terms[1].factors.empty()) || t.factors.size() != 1 ||
      t.factors[0]->kind != AtomKind::Symbol || (t.coefficient != 1 && t.coefficient != -1))
    return;
  const std::int64_t k = terms.size() == 2 ? terms[1].coefficient : 0;
  if (k == SizeRange::kMin || k == SizeRange::kMax) return;
  const Size s = symbol(t.factors[0]->symbol);
  const bool plus = t.coefficient == 1;
  if (relation == SizeRelation::Eq) {
    const std::int64_t value = plus ? -k : k;
    assume_range(s, {value, value});
    symbols_[static_cast<std::size_t>(t.factors[0]->symbol)].equals = Size(value);
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
      symbols_[static_cast<std::size_t>(*left)].equals = g.rhs;
      assume_range(g.lhs, range(g.rhs));
    } else if (right && !mentions(g.lhs, *right)) {
      symbols_[static_cast<std::size_t>(*right)].equals = g.lhs;
      assume_range(g.rhs, range(g.lhs));
    }
    if (!g.lhs.is_const() && g.rhs.is_const(0) && g.lhs.expr()->terms.size() == 1) {
      const SizeTerm& t = g.lhs.expr()->terms[0];
      if (t.factors.size() == 1 && t.factors[0]->kind == AtomKind::Mod) {
        assume_divisible(t.factors[0]->a, t.factors[0]->b);
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
  const bool truth = holds_for(relation, hint(a), hint(b));
  const SizeGuard g{truth ? relation : negated(relation), a, b};
  if (std::ranges::find(guards_, g) == guards_.end()) guards_.push_back(g);
  learn(g);
  return truth;
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
