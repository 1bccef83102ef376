// Sizes known only at run time, and where inference gets names for them.
#pragma once

#include "ir/infer/infer.h"
#include "ir/sizes/shape_env.h"

namespace md {

// Gives out unbacked symbols while types are inferred.
class UnbackedSupply {
 public:
  virtual ~UnbackedSupply() = default;
  // `op` is what needs it. Throws DataDependent if there shall be none.
  virtual Size next(const Op& op, SizeRange range) = 0;
};

// The thread's supply for as long as this lives; without one, inference throws DataDependent.
class SupplyScope {
 public:
  explicit SupplyScope(UnbackedSupply& supply);
  ~SupplyScope();
  SupplyScope(const SupplyScope&) = delete;
  SupplyScope& operator=(const SupplyScope&) = delete;

 private:
  UnbackedSupply* before_;
};

// Hands out the symbols a traced node got when it was traced, in the same order.
class ReplayedSymbols final : public UnbackedSupply {
 public:
  explicit ReplayedSymbols(const std::vector<Size>& symbols) : symbols_(symbols) {}
  Size next(const Op& op, SizeRange range) override;
  std::size_t used() const { return at_; }
  Size at(std::size_t i) const { return symbols_[i]; }

 private:
  const std::vector<Size>& symbols_;
  std::size_t at_ = 0;
};

// The data-dependent size of a call of an op with dynamic sizes: what its `count` says, or a fresh symbol.
Size dynamic_size(const InferCall& c, SizeRange range = {0, SizeRange::kMax});
bool has_supply();
// Whether the value of `s` is known only at run time.
bool is_unbacked(Size s);
// Whether `s` is an unbacked symbol. It counts as a size from here on: allocating checks that it is not negative.
bool assumed_size(Size s);
// Notes the values of the unbacked symbols that are sizes of a result.
void bind_unbacked(const TensorType& type, const DimVec& sizes, std::vector<std::int64_t>& values);
// `s` under the hints, unbacked symbols guessed, each differently: for choices that change no result.
std::int64_t hint_or_guess(Size s);
// As guard_eq and guard_lt, for choices of layout: with unbacked symbols they go by what is true of almost all sizes,
// which holds for all that have more than one element to lay out.
bool layout_eq(Size a, Size b);
bool layout_lt(Size a, Size b);

}  // namespace md
