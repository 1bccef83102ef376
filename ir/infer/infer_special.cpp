// Inference rules of the elementwise kernels and of mode.
#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"
#include "registry/ops/special.h"

namespace md {
namespace {

TensorType floating_result(const InferCall& c) {
  const TensorType x = c.tensor(0);
  TensorType t = fresh_type(c, is_floating(x.dtype) ? x.dtype : default_dtype(), x.sizes);
  t.requires_grad = x.requires_grad && grad_enabled();
  return t;
}

TensorType binary_result(const InferCall& c, bool floats) {
  const TensorType x = c.tensor(0), y = c.tensor(1);
  const Arg args[] = {c.arg(0), c.arg(1)};
  const DType t = compute_types(op(id::Mul), args).result;
  if (floats ? !is_floating(t) : !is_integral(t)) c.fail(ErrorKind::NotImplemented, "not defined for {}", info(t).name);
  return fresh_type(c, t, broadcast(c, x.sizes, y.sizes));
}

}  // namespace

TensorType infer_rule(ops::ErfInv, const InferCall& c) { return floating_result(c); }
TensorType infer_rule(ops::LGamma, const InferCall& c) { return floating_result(c); }
TensorType infer_rule(ops::Digamma, const InferCall& c) { return floating_result(c); }
TensorType infer_rule(ops::Gcd, const InferCall& c) { return binary_result(c, false); }
TensorType infer_rule(ops::Lcm, const InferCall& c) { return binary_result(c, false); }
TensorType infer_rule(ops::NextAfter, const InferCall& c) { return binary_result(c, true); }

std::vector<TensorType> infer_results(ops::Mode, const InferCall& c) {
  const TensorType x = c.tensor(0);
  const int d = checked_dim(c, c.size(1), x.dim());
  SizeVec sizes = x.sizes;
  if (x.dim() > 0) {
    if (guard_eq(x.sizes[d], 0)) {
      c.fail(ErrorKind::Index, "dim {} of sizes {} has no elements to choose from", d, sizes_text(x.sizes));
    }
    sizes[d] = 1;
    if (!c.flag(2)) sizes.erase(sizes.begin() + d);
  }
  TensorType values = fresh_type(c, x.dtype, sizes);
  values.requires_grad = x.requires_grad && grad_enabled() && is_floating(x.dtype);
  return {values, fresh_type(c, DType::Int64, sizes)};
}

}  // namespace md
