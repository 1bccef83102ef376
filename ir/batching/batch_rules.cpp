// Which op has which rule, and the rules that many ops share.
#include "ir/batching/batch_rules.h"

#include <algorithm>
#include <array>

#include "ir/graph/op_ids.h"

namespace md {

namespace {

struct RuleRow {
  OpId op;
  BatchRule rule;
};
constexpr RuleRow kRows[] = {
    {id::View, batch_view},
    {id::Squeeze, batch_squeeze},
    {id::SqueezeDim, batch_squeeze},
    {id::Unsqueeze, batch_unsqueeze},
    {id::Expand, batch_expand},
    {id::Permute, batch_permute},
    {id::Transpose, batch_transpose},
    {id::MatrixT, batch_matrix_t},
    {id::ReversedT, batch_reversed_t},
    {id::LastTwoT, batch_last_two_t},
    {id::Select, batch_dim_view},
    {id::SelectAt, batch_dim_view},
    {id::Narrow, batch_dim_view},
    {id::Slice, batch_dim_view},
    {id::Unfold, batch_dim_view},
    {id::Diagonal, batch_diagonal},
    {id::AsStrided, batch_as_strided},
    {id::WriteView, batch_write_view},
    {id::Mm, batch_mm},
    {id::Bmm, batch_bmm},
    {id::Matmul, batch_matmul},
    {id::Cat, batch_cat},
    {id::Convolution, batch_convolution},
    {id::Detach, batch_same_call},
    {id::ConjView, batch_same_call},
    {id::NegView, batch_same_call},
    {id::ViewAsReal, batch_same_call},
    {id::ViewAsComplex, batch_same_call},
    {id::ViewDType, batch_same_call},
    {id::FourierPairs, batch_along_dims},
    {id::ErfInv, batch_same_call},
    {id::LGamma, batch_same_call},
    {id::Digamma, batch_same_call},
    {id::OneHot, batch_same_call},
    {id::MaxPool, batch_same_call},
    {id::MaxPoolValues, batch_same_call},
    {id::AvgPool, batch_same_call},
    {id::AdaptiveAvgPool, batch_same_call},
    {id::AdaptiveMaxPool, batch_same_call},
    {id::Resample, batch_same_call},
    {id::LeakyRelu, batch_same_call},
    {id::Hardtanh, batch_same_call},
    {id::Relu6, batch_same_call},
    {id::Sinc, batch_same_call},
    {id::Gcd, batch_pointwise},
    {id::Lcm, batch_pointwise},
    {id::NextAfter, batch_pointwise},
    {id::BatchedMm, batch_by_last_dims},
    {id::CumSum, batch_along_dims},
    {id::CumProd, batch_along_dims},
    {id::LogCumSumExp, batch_along_dims},
    {id::CumMax, batch_along_dims},
    {id::CumMin, batch_along_dims},
    {id::Sort, batch_along_dims},
    {id::Flip, batch_along_dims},
    {id::Mode, batch_along_dims},
    {id::LogSumExp, batch_along_dims},
    {id::Softmax, batch_along_dims},
    {id::SafeSoftmax, batch_along_dims},
    {id::LogSoftmax, batch_along_dims},
    {id::VectorNorm, batch_along_dims},
    {id::Gather, batch_along_whole},
    {id::Scatter, batch_along_whole},
    {id::ScatterValue, batch_along_whole},
    {id::ScatterReduceSource, batch_along_whole},
    {id::ScatterReduceValue, batch_along_whole},
    {id::ScatterAdd, batch_along_whole},
    {id::ScatterReduce, batch_along_whole},
    {id::IndexSelect, batch_index_select},
    {id::IndexAdd, batch_index_write},
    {id::IndexCopy, batch_index_write},
    {id::IndexFill, batch_index_write},
    {id::IndexFillTensor, batch_index_write},
    {id::Take, batch_take},
    {id::Put, batch_put},
    {id::Index, batch_index},
    {id::IndexPut, batch_index_put},
};

constexpr auto kRules = [] {
  std::array<BatchRule, id::kCount> rules{};
  for (const RuleRow& row : kRows) rules[row.op] = row.rule;
  // Of one operand or two, an element at a time.
#define MD_OP(S) rules[id::S] = batch_pointwise;
#include "registry/special_functions.inc"
#undef MD_OP
  return rules;
}();

}  // namespace

BatchRule batch_rule_of(OpId id) { return id < kRules.size() ? kRules[id] : nullptr; }

namespace {

// Operands with as many dimensions as the largest example.
std::vector<Arg> aligned(const Batching& b) {
  std::vector<Arg> args = b.copied();
  int rank = 0;
  for (int i = 0; i < b.op.operands; ++i)
    if (is_tensor(b.arg(i))) rank = std::max(rank, b.rank_of_one(i));
  for (int i = 0; i < b.op.operands; ++i)
    if (b.is_batched(i)) args[static_cast<std::size_t>(i)] = padded(b, b.arg(i), b.rank_of_one(i), rank);
  return args;
}

bool same_types(const ComputeTypes& a, const ComputeTypes& b) { return a.compute == b.compute && a.result == b.result; }

}  // namespace

// An example without dimensions counts less for the dtype than what has some; all examples together have one.
Arg batch_pointwise(const Batching& b) {
  std::vector<Arg> args = aligned(b);
  if (b.op.kind() != OpKind::Pointwise) return b.again(std::move(args));
  const ComputeTypes wanted = compute_types(b.op, b.logical);
  if (!same_types(wanted, compute_types(b.op, args))) {
    for (int i = 0; i < b.op.operands; ++i) {
      if (!b.is_batched(i) || b.rank_of_one(i) != 0) continue;
      Arg& a = args[static_cast<std::size_t>(i)];
      const bool mask = b.op.decl->promote == Promote::Select && i == 0;
      if (!mask) a = converted(b, a, wanted.compute);
    }
  }
  return b.again(std::move(args));
}

Arg batch_same_call(const Batching& b) { return b.again(b.copied()); }

Arg batch_by_last_dims(const Batching& b) {
  std::vector<Arg> args = b.copied();
  for (int i = 0; i < b.op.operands; ++i) args[static_cast<std::size_t>(i)] = b.whole(i);
  return b.again(std::move(args));
}

namespace {

// Over all elements of each example, and in the sizes of the result.
Arg over_everything(const Batching& b, std::vector<Arg> args, bool list) {
  const SizeVec sizes = b.one(0).sizes;
  args[0] = reshaped(b, args[0], SizeVec{b.batch, product(sizes)});
  args[static_cast<std::size_t>(b.op.dim)] = list ? Arg(ListArg{{Arg(1)}}) : Arg(1);
  if (b.op.keepdim >= 0) args[static_cast<std::size_t>(b.op.keepdim)] = false;
  const std::vector<TensorType> types = infer(b.op, b.logical);
  std::size_t i = 0;
  return each_result(b.again(std::move(args)),
                     [&](const Arg& a) { return reshaped(b, a, b.behind_batch(types.at(i++).sizes)); });
}

}  // namespace

Arg batch_along_dims(const Batching& b) {
  std::vector<Arg> args = b.copied();
  const int rank = b.rank_of_one(0), at = b.op.dim >= 0 ? b.op.dim : 1;
  const Arg dims = b.arg(at);
  const ParamType type = b.op.schema.params[static_cast<std::size_t>(at)].type;
  const bool list = type == ParamType::IntList || type == ParamType::IntListOpt;
  const auto* several = dims.get_if<ListArg>();
  const bool everything = dims.is_none() || (several && several->items.empty() && b.op.id != id::Flip);
  if (everything && b.op.dim >= 0) return over_everything(b, std::move(args), list);
  Arg shifted;
  if (several) {
    ListArg out;
    for (const Arg& d : several->items) out.items.push_back(shifted_dim(d, rank));
    if (rank == 0 && !out.items.empty()) out.items.resize(1);
    shifted = out;
  } else {
    shifted = shifted_dim(dims, rank);
  }
  args[static_cast<std::size_t>(at)] = shifted;
  if (rank > 0) return b.again(std::move(args));
  args[0] = b.call(id::Unsqueeze, {args[0], 1});
  return each_result(b.again(std::move(args)), [&](const Arg& a) { return reshaped(b, a, SizeVec{b.batch}); });
}

}  // namespace md
