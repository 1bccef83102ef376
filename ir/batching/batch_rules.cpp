// Which op has which rule, and the rules that many ops share.
#include "ir/batching/batch_rules.h"

#include <algorithm>

namespace md {

BatchRule batch_rule_of(OpId id) {
  switch (id) {
    case id::View:
      return batch_view;
    case id::Squeeze:
    case id::SqueezeDim:
      return batch_squeeze;
    case id::Unsqueeze:
      return batch_unsqueeze;
    case id::Expand:
      return batch_expand;
    case id::Permute:
      return batch_permute;
    case id::Transpose:
      return batch_transpose;
    case id::MatrixT:
      return batch_matrix_t;
    case id::ReversedT:
      return batch_reversed_t;
    case id::LastTwoT:
      return batch_last_two_t;
    case id::Select:
    case id::SelectAt:
    case id::Narrow:
    case id::Slice:
    case id::Unfold:
      return batch_dim_view;
    case id::Diagonal:
      return batch_diagonal;
    case id::AsStrided:
      return batch_as_strided;
    case id::WriteView:
      return batch_write_view;
    case id::Mm:
      return batch_mm;
    case id::Bmm:
      return batch_bmm;
    case id::Matmul:
      return batch_matmul;
    case id::Cat:
      return batch_cat;
    case id::Convolution:
      return batch_convolution;
    case id::Detach:
    case id::ErfInv:
    case id::LGamma:
    case id::Digamma:
    case id::OneHot:
    case id::MaxPool:
    case id::MaxPoolValues:
    case id::AvgPool:
    case id::AdaptiveAvgPool:
    case id::AdaptiveMaxPool:
    case id::Resample:
    case id::LeakyRelu:
    case id::Hardtanh:
    case id::Relu6:
    case id::Sinc:
      return batch_same_call;
    case id::Gcd:
    case id::Lcm:
    case id::NextAfter:
      return batch_pointwise;
    case id::BatchedMm:
      return batch_by_last_dims;
    case id::CumSum:
    case id::CumProd:
    case id::LogCumSumExp:
    case id::CumMax:
    case id::CumMin:
    case id::Sort:
    case id::Flip:
    case id::Mode:
    case id::LogSumExp:
    case id::Softmax:
    case id::SafeSoftmax:
    case id::LogSoftmax:
    case id::VectorNorm:
      return batch_along_dims;
    case id::Gather:
    case id::Scatter:
    case id::ScatterValue:
    case id::ScatterReduceSource:
    case id::ScatterReduceValue:
    case id::ScatterAdd:
    case id::ScatterReduce:
      return batch_along_whole;
    case id::IndexSelect:
      return batch_index_select;
    case id::IndexAdd:
    case id::IndexCopy:
    case id::IndexFill:
    case id::IndexFillTensor:
      return batch_index_write;
    case id::Take:
      return batch_take;
    case id::Put:
      return batch_put;
    case id::Index:
      return batch_index;
    case id::IndexPut:
      return batch_index_put;
    default:
      return nullptr;
  }
}

namespace {

bool is_tensor(const Arg& a) { return a.is<TensorRef>() || a.is<Node*>(); }

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
