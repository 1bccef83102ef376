// From a call to its rule: one rule for each kind of op, one of their own for some.
#include "ir/batching/batching.h"

#include "ir/batching/batch_rules.h"
#include "ir/graph/dynamic.h"

namespace md {

SizeVec Batching::result_sizes(std::size_t i) const { return infer(op, logical).at(i).sizes; }

SizeVec Batching::behind_batch(const SizeVec& sizes) const {
  SizeVec out{batch};
  for (const Size s : sizes) out.push_back(s);
  return out;
}

Arg repeated(const Expansion& e, const Arg& x, Size batch) {
  SizeVec sizes{batch};
  for (const Size s : type_of(x).sizes) sizes.push_back(s);
  return e.caller.call(id::Expand, {x, sizes_arg(sizes)});
}

Arg Batching::whole(int i) const { return is_batched(i) ? arg(i) : repeated(*this, arg(i), batch); }

Arg shifted_dim(const Arg& dim, int rank_of_one) {
  const std::int64_t d = hint(dim.get<Size>());
  if (rank_of_one == 0) return Arg(1);
  return Arg(d < 0 ? d + rank_of_one + 1 : d + 1);
}

Arg padded(const Expansion& e, const Arg& x, int rank_of_one, int rank) {
  Arg out = x;
  for (int i = rank_of_one; i < rank; ++i) out = e.caller.call(id::Unsqueeze, {out, 1});
  return out;
}

namespace {}  // namespace

Arg batch_one_by_one(const Batching& b) {
  const std::int64_t n = fixed_size(b.batch);
  const auto picked = [&](const Arg& a, std::int64_t k) {
    return is_tensor(a) ? b.caller.call(id::Select, {a, 0, k}) : a;
  };
  std::vector<std::vector<Arg>> results;
  bool several = false;
  for (std::int64_t k = 0; k < n; ++k) {
    std::vector<Arg> args = b.copied();
    for (std::size_t i = 0; i < args.size(); ++i)
      if (b.is_batched(static_cast<int>(i))) args[i] = each_result(args[i], [&](const Arg& a) { return picked(a, k); });
    const Arg made = b.again(std::move(args));
    several = made.is<ListArg>();
    results.push_back(several ? made.get<ListArg>().items : std::vector<Arg>{made});
  }
  if (n == 0) {
    const std::vector<TensorType> types = infer(b.op, b.logical);
    ListArg none{{}, true};
    for (const TensorType& t : types)
      none.items.push_back(b.call(id::Empty, {sizes_arg(b.behind_batch(t.sizes)), t.dtype}));
    return b.op.schema.results == 1 ? none.items[0] : Arg(none);
  }
  ListArg stacked{{}, true};
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    ListArg column;
    for (const std::vector<Arg>& row : results) column.items.push_back(row.at(i));
    stacked.items.push_back(b.caller.call(id::Stack, {column, 0}));
  }
  return several ? Arg(stacked) : stacked.items[0];
}

namespace {

// A tensor of the sizes and dtype of another one.
Arg made_like(const Batching& b) {
  std::vector<Arg> args = b.copied();
  const int format = b.op.schema.find("memory_format");
  // Formats speak of the dimensions of one example.
  if (format >= 0) args[static_cast<std::size_t>(format)] = NoneArg{};
  return b.again(std::move(args));
}

}  // namespace

Arg batch(const Batching& b) {
  if (const BatchRule rule = batch_rule_of(b.op.id)) return rule(b);
  switch (b.op.kind()) {
    case OpKind::Pointwise:
      return batch_pointwise(b);
    case OpKind::Reduction:
      return batch_along_dims(b);
    case OpKind::Composite:
      return NoneArg{};
    case OpKind::Create:
      return made_like(b);
    default:
      return batch_one_by_one(b);
  }
}

bool has_sizes_by_example(const Batching& b) {
  if (!is_dynamic(b.op, b.logical)) return false;
  if (b.op.id != id::Index) return true;
  return b.is_batched(1);  // the examples themselves may differ
}

}  // namespace md
