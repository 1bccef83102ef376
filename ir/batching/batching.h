// What vmap makes of a call: one call, or a few, for all examples at once. A rule is
// `Arg batch_rule(ops::X, const Batching&)`, written as calls of other ops through an OpCaller as derivatives are.
#pragma once

#include "ir/infer/expansion.h"

namespace md {

// A call some of whose tensors hold one example for each place of dimension 0.
struct Batching : Expansion {
  std::span<const Arg> logical;  // the call of one example, as the program wrote it
  std::uint64_t batched = 0;     // parameters whose tensors, all that are in them, have the examples in dimension 0
  Size batch;                    // how many examples there are

  bool is_batched(int i) const { return batched >> i & 1; }
  TensorType one(int i) const { return type_of(logical[static_cast<std::size_t>(i)]); }  // of one example
  int rank_of_one(int i) const { return one(i).dim(); }
  // Sizes of one result for one example.
  SizeVec result_sizes(std::size_t i = 0) const;
  // These sizes behind the batch.
  SizeVec behind_batch(const SizeVec& sizes) const;
  // The argument with the examples in dimension 0, repeated without a copy if it is the same for all.
  Arg whole(int i) const;
  // The same call with other arguments.
  Arg again(std::vector<Arg> changed) const { return caller.call(op, std::move(changed)); }
  std::vector<Arg> copied() const { return {args.begin(), args.end()}; }
};

// `x`, the same for all examples, with `batch` of them in front.
Arg repeated(const Expansion& e, const Arg& x, Size batch);

// All results with the examples in dimension 0. None: the call has to be opened, being a composite without a rule for
// this case. Ops without a rule are called once for each example.
Arg batch(const Batching& b);
// Whether the sizes of the results depend on the values of an operand that differs from example to example.
bool has_sizes_by_example(const Batching& b);

// --- Shared by rules -------------------------------------------------------------------------------------------------

// f for the tensor, or for each of a list.
template <class F>
Arg each_result(const Arg& result, F&& f) {
  const auto* list = result.get_if<ListArg>();
  if (!list) return f(result);
  ListArg out{{}, list->tuple};
  for (const Arg& a : list->items) out.items.push_back(f(a));
  return out;
}
// A dimension of one example, counted among those behind the batch.
Arg shifted_dim(const Arg& dim, int rank_of_one);
// Dimensions of size 1 behind the batch, so that an example has `rank` dimensions.
Arg padded(const Expansion& e, const Arg& x, int rank_of_one, int rank);

}  // namespace md
