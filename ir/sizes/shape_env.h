// The symbols of one trace, what is known of them, and the expressions made of them.
//
// An expression is a polynomial in normal form: a sum of terms, each an int64 coefficient times a sorted product of
// atoms; an atom is a symbol or an irreducible floordiv, mod, min or max of two expressions. Polynomials, products and
// atoms are hash-consed, so that equal normal forms are equal pointers. An expression of n terms costs n steps once:
// what is known of it is kept with it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/sizes/size.h"

namespace md {

class ShapeEnv;

enum class AtomKind : std::uint8_t { Symbol, FloorDiv, Mod, Min, Max };

struct SizeAtom {
  AtomKind kind;
  int id;          // order of creation in the environment: the canonical order of factors
  int symbol = 0;  // Symbol: index
  Size a, b;       // the operands of the others
  int depth = 0;   // of operands inside operands; Symbol: 0
  bool backed = true;
};

struct SizeProduct {
  std::vector<const SizeAtom*> factors;  // sorted by id, repeated for powers
  std::size_t hash = 0;
  int depth = 0;
  bool backed = true;
};
inline const SizeProduct kNoFactors;  // of the constant term, in every environment

struct SizeTerm {
  const SizeProduct* product;
  std::int64_t coefficient;
  const std::vector<const SizeAtom*>& factors() const { return product->factors; }
  bool is_constant() const { return product == &kNoFactors; }
  bool operator==(const SizeTerm&) const = default;
};

// Closed interval; the extremes of int64 stand for "no bound".
struct SizeRange {
  static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t lo = kMin, hi = kMax;
  bool operator==(const SizeRange&) const = default;
};

// Never constant; terms sorted, none zero.
class SizeExpr {
 public:
  explicit SizeExpr(ShapeEnv& env) : env(&env) {}

  ShapeEnv* env;
  std::vector<SizeTerm> terms;
  int depth = 0;  // 0: of symbols alone
  bool backed = true;

 private:
  friend ShapeEnv;
  // Found when first asked for; what depends on facts, again when there are new ones.
  mutable std::optional<std::int64_t> hint_;
  mutable std::uint64_t range_facts_ = 0, simple_facts_ = 0;
  mutable SizeRange range_;
  mutable Size simple_;
};

struct SizeSymbol {
  std::string name;                  // "s0" backed, "u0" unbacked
  std::optional<std::int64_t> hint;  // value while tracing
  std::string source;                // "L['x'].size()[0]"; empty for unbacked
  SizeRange range;
  std::optional<Size> equals;  // learnt from an equality guard
};

enum class SizeRelation : std::uint8_t { Eq, Ne, Lt, Ge };

// What a branch on a size assumed; true under the hints.
struct SizeGuard {
  SizeRelation relation;
  Size lhs, rhs;
  bool operator==(const SizeGuard&) const = default;
};
struct SizeHash {
  std::size_t operator()(const SizeGuard& g) const;
  std::size_t operator()(const std::pair<Size, Size>& p) const;
};
bool holds_for(SizeRelation relation, std::int64_t a, std::int64_t b);
std::string to_string(const SizeGuard& g);  // "s0 == 4*s1"
// With other names for the symbols.
std::string to_string(Size s, const std::function<std::string(int)>& name);

// The symbol, if `s` is just one.
std::optional<int> symbol_index(Size s);
// Calls f(index) for every symbol inside `s`, perhaps repeatedly for one that occurs several times.
void for_each_symbol(Size s, const std::function<void(int)>& f);
// Fills values[i] of every symbol i that is an input's size.
void bind_symbols(const ShapeEnv& env, std::span<const SizeVec* const> declared, std::span<const DimVec* const> actual,
                  std::vector<std::int64_t>& values);

class ShapeEnv {
 public:
  ShapeEnv() = default;
  ShapeEnv(const ShapeEnv&) = delete;
  ShapeEnv& operator=(const ShapeEnv&) = delete;

  // The size of an input: 0 and 1 become constants, an equal earlier hint gives that symbol (duck sizing; the guard
  // that they are equal is the shared symbol itself) unless `share` is off, anything else a new symbol
  // of at least 2.
  Size backed(std::int64_t hint, const std::string& source, bool share = true);
  // A Python int: any value, 0 and 1 included, and a symbol of its own.
  Size integer(std::int64_t hint, const std::string& source);
  // A value known only at run time: the result of item(), the length of nonzero().
  Size unbacked(SizeRange range = {0, SizeRange::kMax});
  // As parsed from text.
  Size declare(SizeSymbol symbol);

  void assume_divisible(Size a, Size b);  // a % b == 0 from now on
  void assume_range(Size symbol, SizeRange range);

  SizeRange range(Size s) const;
  bool divisible(Size a, Size b) const;
  // Rewrites with what equality guards have taught since `s` was built.
  Size simplify(Size s);
  // The value with `values[i]` for symbol i. Throws OpError(Runtime) on overflow, OpError(ZeroDivision).
  std::int64_t evaluate(Size s, std::span<const std::int64_t> values) const;
  std::int64_t hint(Size s) const;
  bool is_backed(Size s) const;  // hint() knows it
  // Truth of the relation: proven, or decided by the hints and recorded. InternalError if it depends on unbacked
  // symbols.
  bool decide(SizeRelation relation, Size a, Size b);
  // Follows from the ranges of the symbols alone.
  bool proven(const SizeGuard& g) const;

  const std::vector<SizeSymbol>& symbols() const { return symbols_; }
  const std::vector<SizeGuard>& guards() const { return guards_; }
  const std::vector<std::pair<Size, Size>>& divisibility() const { return divisible_; }

  // Builders of ir/sizes/arithmetic.cpp.
  Size make(std::vector<SizeTerm> terms);  // any order, like terms not yet merged
  Size make_sorted(std::vector<SizeTerm> terms);
  const SizeProduct* product(std::vector<const SizeAtom*> factors);
  Size atom(AtomKind kind, Size a, Size b);
  Size symbol(int index);

 private:
  const SizeAtom* intern(AtomKind kind, int symbol, Size a, Size b);
  Size of_atom(const SizeAtom* a);
  bool multiply_out(std::vector<SizeTerm>& terms) const;
  SizeRange atom_range(const SizeAtom& a) const;
  Size simplify_atom(const SizeAtom& a);
  const SizeSymbol& known(const SizeAtom& symbol) const { return symbols_[static_cast<std::size_t>(symbol.symbol)]; }
  void set_equal(int symbol, Size value);
  std::optional<bool> prove(SizeRelation relation, Size difference) const;
  void learn(const SizeGuard& g);
  void learn_bound(SizeRelation relation, Size difference);

  std::vector<SizeSymbol> symbols_;
  std::unordered_map<std::int64_t, std::vector<int>> symbols_by_hint_;
  std::vector<SizeGuard> guards_;
  std::unordered_set<SizeGuard, SizeHash> guard_index_;
  std::vector<std::pair<Size, Size>> divisible_;
  std::unordered_set<std::pair<Size, Size>, SizeHash> divisible_index_;
  std::uint64_t facts_ = 1;  // grows with each that changes a range or a spelling
  bool equalities_ = false;  // some symbol is another expression
  std::vector<std::unique_ptr<SizeAtom>> atoms_;
  std::unordered_multimap<std::size_t, const SizeAtom*> atom_index_;
  std::vector<std::unique_ptr<SizeProduct>> products_;
  std::unordered_multimap<std::size_t, const SizeProduct*> product_index_;
  std::vector<std::unique_ptr<SizeExpr>> exprs_;
  std::unordered_multimap<std::size_t, const SizeExpr*> expr_index_;
  int next_unbacked_ = 0, next_backed_ = 0;
};

}  // namespace md
