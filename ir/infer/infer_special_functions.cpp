// Inference rules of registry/ops/special_functions.h: floats of the operands' sizes.
#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"
#include "registry/ops/special_functions.h"

namespace md {
namespace {

bool is_given_tensor(const Arg& a) { return a.is<TensorRef>() || a.is<Node*>(); }

// Those that have float16 and bfloat16 in torch.
template <class O>
constexpr bool kTakesHalves = std::is_same_v<O, ops::I0> || std::is_same_v<O, ops::I0e> || std::is_same_v<O, ops::I1> ||
                              std::is_same_v<O, ops::I1e> || std::is_same_v<O, ops::Igamma> ||
                              std::is_same_v<O, ops::Igammac> || std::is_same_v<O, ops::Polygamma>;

template <class O>
void need_wide(const InferCall& c, DType t) {
  if (!kTakesHalves<O> && (t == DType::Float16 || t == DType::BFloat16))
    c.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
}

// Of one operand; or of two, of which one may be a number.
template <class O>
TensorType special_result(const InferCall& c) {
  if (c.args.size() == 1 || std::is_same_v<O, ops::Polygamma>) {
    if constexpr (std::is_same_v<O, ops::Polygamma>) {
      if (guard_lt(c.size(1), 0)) c.fail(ErrorKind::Runtime, "n has to be at least 0");
    }
    const TensorType x = c.tensor(0);
    need_wide<O>(c, x.dtype);
    TensorType t = fresh_type(c, is_floating(x.dtype) ? x.dtype : default_dtype(), x.sizes);
    t.requires_grad = !O::decl.no_gradient && x.requires_grad && grad_enabled();
    return t;
  }
  const bool first = is_given_tensor(c.arg(0)), second = is_given_tensor(c.arg(1));
  if (!first && !second) c.fail(ErrorKind::Type, "one of the two arguments has to be a tensor");
  const Arg args[] = {c.arg(0), c.arg(1)};
  DType t = compute_types(op(id::Mul), args).result;
  if constexpr (std::is_same_v<O, ops::Igamma> || std::is_same_v<O, ops::Igammac>) {
    if (!is_floating(t)) c.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  }
  need_wide<O>(c, t);
  if (!is_floating(t)) t = default_dtype();
  const SizeVec sizes = !second  ? c.tensor(0).sizes
                        : !first ? c.tensor(1).sizes
                                 : broadcast(c, c.tensor(0).sizes, c.tensor(1).sizes);
  TensorType result = fresh_type(c, t, sizes);
  const auto differentiable = [&](int i) { return is_given_tensor(c.arg(i)) && c.tensor(i).requires_grad; };
  result.requires_grad = !O::decl.no_gradient && grad_enabled() && (differentiable(0) || differentiable(1));
  return result;
}

}  // namespace

#define MD_OP(S) \
  TensorType infer_rule(ops::S, const InferCall& c) { return special_result<ops::S>(c); }
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md
