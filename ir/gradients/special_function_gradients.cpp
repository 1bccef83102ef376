// Derivatives of registry/ops/special_functions.h, made of its own ops.
#include <cmath>
#include <numbers>

#include "ir/gradients/derivation.h"
#include "registry/ops/special_functions.h"

namespace md {

namespace {

Arg exp_of(const Derivation& d, const Arg& x) { return d.call(id::Exp, {x}); }

// i1e / x, which is 1/2 at 0.
Arg first_order_over_x(const Derivation& d, const Arg& x, const Arg& i1) {
  const Arg zero = d.call(id::Eq, {x, 0.0});
  return d.where(zero, 0.5, d.div(i1, d.where(zero, 1.0, x)));
}

// The derivative of igamma by its second operand: the density of the gamma distribution.
Arg gamma_density(const Derivation& d) {
  const Arg &a = d.arg(0), &x = d.arg(1);
  const Arg logarithm = d.call(id::Log, {x});
  const Arg power = d.sub(d.sub(d.mul(d.sub(a, 1.0), logarithm), x), d.call(id::LGamma, {a}));
  return d.mul(d.g(), exp_of(d, power));
}

[[noreturn]] void by_first_operand(const Derivation& d) {
  d.fail(ErrorKind::NotImplemented, "has no derivative by its first argument, only by the second one");
}

}  // namespace

Gradients vjp_rule(ops::I0, const Derivation& d) { return d.all({d.mul(d.g(), d.call(id::I1, {d.arg(0)}))}); }
Gradients vjp_rule(ops::I0e, const Derivation& d) {
  const Arg &x = d.arg(0), sign = d.call(id::Sign, {x});
  return d.all({d.mul(d.g(), d.sub(d.call(id::I1e, {x}), d.mul(sign, d.y())))});
}
Gradients vjp_rule(ops::I1, const Derivation& d) {
  const Arg& x = d.arg(0);
  return d.all({d.mul(d.g(), d.sub(d.call(id::I0, {x}), first_order_over_x(d, x, d.y())))});
}
Gradients vjp_rule(ops::I1e, const Derivation& d) {
  const Arg &x = d.arg(0), sign = d.call(id::Sign, {x});
  const Arg slope = d.sub(d.call(id::I0e, {x}), first_order_over_x(d, x, d.y()));
  return d.all({d.mul(d.g(), d.sub(slope, d.mul(sign, d.y())))});
}
Gradients vjp_rule(ops::Erfcx, const Derivation& d) {
  const Arg slope = d.sub(d.mul(d.mul(d.arg(0), d.y()), 2.0), 2 * std::numbers::inv_sqrtpi);
  return d.all({d.mul(d.g(), slope)});
}
Gradients vjp_rule(ops::LogNdtr, const Derivation& d) {
  const Arg scaled = d.call(id::Erfcx, {d.mul(d.arg(0), -1 / std::numbers::sqrt2)});
  return d.all({d.mul(d.g(), d.div(std::sqrt(2 * std::numbers::inv_pi), scaled))});
}
Gradients vjp_rule(ops::Ndtri, const Derivation& d) {
  const Arg square = d.mul(d.mul(d.y(), d.y()), 0.5);
  return d.all({d.mul(d.g(), d.mul(exp_of(d, square), std::sqrt(2 * std::numbers::pi)))});
}
Gradients vjp_rule(ops::Igamma, const Derivation& d) {
  if (d.wants(0)) by_first_operand(d);
  return d.only(1, gamma_density(d));
}
Gradients vjp_rule(ops::Igammac, const Derivation& d) {
  if (d.wants(0)) by_first_operand(d);
  return d.only(1, d.neg(gamma_density(d)));
}
Gradients vjp_rule(ops::Zeta, const Derivation& d) {
  if (d.wants(0)) by_first_operand(d);
  const Arg& s = d.arg(0);
  const bool number = !s.is<TensorRef>() && !s.is<Node*>();
  const Arg tensor = number ? d.call(id::FullLike, {d.y(), s}) : s;
  const Arg next = d.call(id::Zeta, {d.add(tensor, 1.0), d.arg(1)});
  return d.only(1, d.neg(d.mul(d.g(), d.mul(tensor, next))));
}
Gradients vjp_rule(ops::Polygamma, const Derivation& d) {
  const Size n = d.size(1);
  return d.all({d.mul(d.g(), d.call(id::Polygamma, {d.arg(0), Arg(n + Size(1))}))});
}

}  // namespace md
