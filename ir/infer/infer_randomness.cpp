// Inference rules of the random ops beyond rand, randn and randint.
#include "ir/infer/infer.h"
#include "registry/ops/randomness.h"

namespace md {
namespace {

TensorType like_self(const InferCall& c) {
  const TensorType x = c.tensor(0);
  TensorType t = fresh_type(c, x.dtype, x.sizes);
  t.requires_grad = false;
  return t;
}

void need_floats(const InferCall& c, const TensorType& x) {
  if (!is_floating(x.dtype)) c.fail(ErrorKind::NotImplemented, "not defined for {}", info(x.dtype).name);
}

}  // namespace

TensorType infer_rule(ops::Bernoulli, const InferCall& c) {
  need_floats(c, c.tensor(0));
  return like_self(c);
}

TensorType infer_rule(ops::BernoulliP, const InferCall& c) {
  const double p = c.arg(1).get<double>();
  if (!(p >= 0 && p <= 1)) c.fail(ErrorKind::Runtime, "expects p to be in [0, 1], but got p={}", p);
  return like_self(c);
}

TensorType infer_rule(ops::BernoulliTensor, const InferCall& c) {
  const TensorType x = c.tensor(0), p = c.tensor(1);
  need_floats(c, p);
  if (!(broadcast(c, x.sizes, p.sizes) == x.sizes)) {
    c.fail(ErrorKind::Runtime, "probabilities of sizes {} do not broadcast to {}", sizes_text(p.sizes),
           sizes_text(x.sizes));
  }
  return like_self(c);
}

TensorType infer_rule(ops::Multinomial, const InferCall& c) {
  const TensorType x = c.tensor(0);
  const Size n = c.size(1);
  if (x.dim() != 1 && x.dim() != 2) {
    c.fail(ErrorKind::Runtime, "weights must be a vector or rows of a matrix, not of sizes {}", sizes_text(x.sizes));
  }
  if (!is_floating(x.dtype)) {
    c.fail(ErrorKind::Runtime, "only supports floating-point dtypes for input, got: {}", info(x.dtype).name);
  }
  if (guard_lt(n, 1)) c.fail(ErrorKind::Runtime, "cannot sample {} positions: at least 1 is needed", to_string(n));
  if (!c.flag(2) && guard_lt(x.sizes.back(), n)) {
    c.fail(ErrorKind::Runtime, "cannot sample {} of {} positions without replacement", to_string(n),
           to_string(x.sizes.back()));
  }
  SizeVec sizes(x.sizes.begin(), x.sizes.end() - 1);
  sizes.push_back(n);
  return fresh_type(c, DType::Int64, sizes);
}

TensorType infer_rule(ops::Randperm, const InferCall& c) {
  const Size n = c.size(0);
  if (guard_lt(n, 0)) c.fail(ErrorKind::Runtime, "n must be non-negative, got {}", to_string(n));
  const DType t = chosen_dtype(c, DType::Int64);
  if (t == DType::Bool) c.fail(ErrorKind::NotImplemented, "not defined for bool");
  if (is_integral(t) && t != DType::Int64 && guard_lt(integer_max(t), n - 1)) {
    c.fail(ErrorKind::Runtime, "n = {} is more than {} holds", to_string(n), info(t).name);
  }
  return fresh_type(c, t, SizeVec{n});
}

}  // namespace md
