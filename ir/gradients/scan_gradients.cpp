// Derivatives of kernels along one dimension: running sums and products, running extremes, order.
#include "ir/gradients/derivation.h"
#include "registry/ops/scans.h"
#include "registry/ops/special.h"

namespace md {

namespace {

Arg flipped(const Derivation& d, const Arg& x, std::int64_t dim) {
  return d.call(id::Flip, {x, ListArg{{Arg(Size(dim))}}});
}

// The op from the last position to the first.
Arg backwards(const Derivation& d, OpId scan, const Arg& x, std::int64_t dim) {
  return flipped(d, d.call(scan, {flipped(d, x, dim), dim}), dim);
}

// The gradient in the dtype of the first operand.
Arg operand_gradient(const Derivation& d) {
  const DType t = d.tensor(0).dtype;
  return is_floating(t) ? converted(d, d.g(), t) : d.g();
}

Arg zeros(const Derivation& d) { return d.call(id::Zeros, {sizes_arg(d.sizes_of(0)), type_of(d.g()).dtype}); }

}  // namespace

// --- Running ---------------------------------------------------------------------------------------------------------

Gradients vjp_rule(ops::CumSum, const Derivation& d) {
  const Arg g = operand_gradient(d);
  if (d.rank(0) == 0) return d.all({g});
  return d.all({backwards(d, id::CumSum, g, checked_dim(d, d.size(1), d.rank(0)))});
}

namespace {

// In O(n). The masks depend on where zeros are, so this is not differentiable there.
//   before the first zero: sum of y_j g_j over j >= k, divided by x_k
//   at the first zero: what comes before it times the sum of g_j and the product between it and j, before the next zero
//   after it: 0
Arg gradient_of_products(const Derivation& d, const Arg& x, const Arg& g, std::int64_t dim) {
  const Arg is_zero = d.call(id::Eq, {x, 0});
  const Arg zeros_so_far = d.call(id::CumSum, {is_zero, dim});
  const Arg before = d.call(id::Eq, {zeros_so_far, 0}), one_zero = d.call(id::Eq, {zeros_so_far, 1});
  const Arg first = d.call(id::LogicalAnd, {one_zero, is_zero});
  const Arg after = d.call(id::LogicalAnd, {one_zero, d.call(id::LogicalNot, {is_zero})});
  const Arg flow = d.where(before, d.mul(d.y(), g), 0.0);
  const Arg of_first = d.mul(d.call(id::CumProd, {d.where(after, x, 1.0), dim}), d.where(one_zero, g, 0.0));
  const Arg total = d.call(id::Sum, {of_first, ListArg{{Arg(Size(dim))}}, true});
  const Arg leading = d.call(id::Prod, {d.where(before, x, 1.0), dim, true});
  const Arg past = d.where(first, d.mul(total, leading), 0.0);
  return d.where(before, d.div(backwards(d, id::CumSum, flow, dim), x), past);
}

// In O(n^2), for a gradient that is differentiated again: the sum over j >= k of g_j and the product of the x_i up to j
// without x_k.
Arg gradient_of_products_again(const Derivation& d, const Arg& x, const Arg& g, std::int64_t dim) {
  const auto line = [&](const Arg& a) {  // j is the last dimension, k the one before
    return d.call(id::Unsqueeze, {d.call(id::Transpose, {a, dim, -1}), -2});
  };
  const Size n = d.sizes_of(0)[static_cast<std::size_t>(dim)];
  const Arg j = d.call(id::Arange, {0, n, 1, DType::Int64}), k = d.call(id::Unsqueeze, {j, 1});
  const Arg others = d.where(d.call(id::Eq, {j, k}), 1.0, line(x));
  const Arg terms = d.mul(d.call(id::CumProd, {others, -1}), line(g));
  const Arg sums = d.call(id::Sum, {d.where(d.call(id::Ge, {j, k}), terms, 0.0), ListArg{{Arg(-1)}}, false});
  return d.call(id::Transpose, {sums, dim, -1});
}

}  // namespace

Gradients vjp_rule(ops::CumProd, const Derivation& d) {
  const Arg g = operand_gradient(d);
  if (d.rank(0) == 0) return d.all({g});
  const int dim = checked_dim(d, d.size(1), d.rank(0));
  if (d.sizes_of(0)[static_cast<std::size_t>(dim)].is_const(1)) return d.all({g});
  const Arg x = converted(d, d.arg(0), type_of(d.y()).dtype);
  return d.all({grad_enabled() ? gradient_of_products_again(d, x, g, dim) : gradient_of_products(d, x, g, dim)});
}

// exp(x_k) times the sum of g_j exp(-y_j) over j >= k, taken in logarithms, of positive and negative g_j apart.
Gradients vjp_rule(ops::LogCumSumExp, const Derivation& d) {
  if (d.rank(0) == 0) return d.all({d.g()});
  const int dim = checked_dim(d, d.size(1), d.rank(0));
  const double lowest = -floating_max(type_of(d.g()).dtype);
  const Arg size = d.call(id::Log, {d.call(id::Abs, {d.g()})});
  const auto part = [&](OpId sign) {
    const Arg logarithms = d.sub(d.where(d.call(sign, {d.g(), 0}), size, lowest), d.y());
    return d.call(id::Exp, {d.add(backwards(d, id::LogCumSumExp, logarithms, dim), d.arg(0))});
  };
  return d.all({d.sub(part(id::Gt), part(id::Lt))});
}

namespace {
Gradients added_by_position(const Derivation& d) {
  return d.all({d.call(id::ScatterAdd, {zeros(d), d.arg(1), d.results[1], d.g()})});
}
}  // namespace

Gradients vjp_rule(ops::CumMax, const Derivation& d) { return added_by_position(d); }
Gradients vjp_rule(ops::CumMin, const Derivation& d) { return added_by_position(d); }

// --- Order -----------------------------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Sort, const Derivation& d) {
  return d.all({d.call(id::Scatter, {zeros(d), d.arg(1), d.results[1], d.g()})});
}

// The element at the position found gets the gradient.
Gradients vjp_rule(ops::Mode, const Derivation& d) {
  if (d.rank(0) == 0) return d.all({d.g()});
  const int dim = checked_dim(d, d.size(1), d.rank(0));
  const auto kept = [&](const Arg& a) { return d.flag(2) ? a : d.call(id::Unsqueeze, {a, dim}); };
  return d.all({d.call(id::Scatter, {zeros(d), dim, kept(d.results[1]), kept(d.g())})});
}

Gradients vjp_rule(ops::Flip, const Derivation& d) { return d.all({d.call(id::Flip, {d.g(), d.arg(1)})}); }

}  // namespace md
