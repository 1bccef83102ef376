// The supply of the current thread, and questions about sizes that have no hint.
#include "ir/infer/unbacked.h"

#include "ir/core/error.h"

namespace md {
namespace {

thread_local UnbackedSupply* current = nullptr;

}  // namespace

SupplyScope::SupplyScope(UnbackedSupply& supply) : before_(current) { current = &supply; }
SupplyScope::~SupplyScope() { current = before_; }

Size ReplayedSymbols::next(const Op& op, SizeRange) {
  if (at_ >= symbols_.size())
    throw InternalError(std::string(op.name()) + " asks for more symbols than it was traced with");
  return symbols_[at_++];
}

Size dynamic_size(const InferCall& c, SizeRange range) {
  const int at = c.op.schema.find("count");
  if (at >= 0 && !c.arg(at).is_none()) return c.size(at);
  if (current) return current->next(c.op, range);
  throw DataDependent(DataDependent::What::Shape, std::string(c.op.public_name));
}

bool assumed_size(Size s) {
  if (s.is_const() || !symbol_index(s)) return false;
  ShapeEnv& env = *s.expr()->env;
  if (env.is_backed(s)) return false;
  env.assume_range(s, {0, SizeRange::kMax});
  return true;
}

void bind_unbacked(const TensorType& type, const DimVec& sizes, std::vector<std::int64_t>& values) {
  for (std::size_t d = 0; d < type.sizes.size(); ++d) {
    const auto symbol = symbol_index(type.sizes[d]);
    if (!symbol || type.sizes[d].expr()->env->is_backed(type.sizes[d])) continue;
    values.at(static_cast<std::size_t>(*symbol)) = sizes[d];
  }
}

bool has_supply() { return current != nullptr; }

std::int64_t hint_or_guess(Size s) {
  if (s.is_const() || s.expr()->env->is_backed(s)) return hint(s);
  constexpr std::int64_t kGuess = 101, kStep = 1009;
  std::vector<std::int64_t> values;
  for (const SizeSymbol& symbol : s.expr()->env->symbols()) {
    values.push_back(symbol.hint.value_or(kGuess + kStep * static_cast<std::int64_t>(values.size())));
  }
  return s.expr()->env->evaluate(s, values);
}

bool is_unbacked(Size s) { return !s.is_const() && !s.expr()->env->is_backed(s); }

static bool is_open(Size a, Size b) { return is_unbacked(a) || is_unbacked(b); }

bool layout_eq(Size a, Size b) { return is_open(a, b) ? hint_or_guess(a) == hint_or_guess(b) : guard_eq(a, b); }
bool layout_lt(Size a, Size b) { return is_open(a, b) ? hint_or_guess(a) < hint_or_guess(b) : guard_lt(a, b); }

}  // namespace md
