// Derivatives of ops, written once as calls of other ops through an OpCaller: eager code runs them, a differentiated
// graph gets nodes from them, and they are differentiable themselves. A rule is
// `Gradients vjp_rule(ops::X, const Derivation&)`: from the gradients of a call's results those of its operands.
#pragma once

#include "ir/infer/expansion.h"

namespace md {

// One for each parameter of the op: a tensor, a ListArg of them (and of None) for a Tensor[], None where none is wanted
// or nothing flows.
using Gradients = std::vector<Arg>;

// A finished call and what is asked of it. Results and gradients are tensors, or None where a result takes no part.
struct Derivation : Expansion {
  std::span<const Arg> results;
  std::span<const Arg> grads;  // of the results, in their sizes and dtypes
  std::uint64_t wanted_parameters = 0;

  bool wants(int i) const { return wanted_parameters >> i & 1; }
  const Arg& g() const { return grads[0]; }
  const Arg& y() const { return results[0]; }
  SizeVec sizes_of(int i) const { return tensor(i).sizes; }

  // Numbers stand for constants: `mul(g(), 2.0)`.
  Arg add(const Arg& a, const Arg& b) const { return call(id::Add, {a, b}); }
  Arg sub(const Arg& a, const Arg& b) const { return call(id::Sub, {a, b}); }
  Arg mul(const Arg& a, const Arg& b) const { return call(id::Mul, {a, b}); }
  Arg div(const Arg& a, const Arg& b) const { return call(id::Div, {a, b}); }
  Arg neg(const Arg& a) const { return call(id::Neg, {a}); }
  Arg where(const Arg& mask, const Arg& a, const Arg& b) const { return call(id::Where, {mask, a, b}); }
  Arg zeros_like(const Arg& x) const { return call(id::FullLike, {x, 0.0}); }

  // Of parameter `i` alone; `all` of the first ones in order.
  Gradients only(int i, Arg gradient) const {
    Gradients out(args.size());
    out[static_cast<std::size_t>(i)] = std::move(gradient);
    return out;
  }
  Gradients all(std::initializer_list<Arg> first) const {
    Gradients out(first);
    out.resize(args.size());
    return out;
  }
};

// The sum of `gradient` over the dimensions along which a tensor of `sizes` was broadcast.
Arg summed_to(const Expansion& e, const Arg& gradient, const SizeVec& sizes);

// Whether backward() goes through calls of the op: by a rule of its own, not by its parts.
bool has_gradient(const Op& op);

// Whether the gradient of the op's first operand counts as a function of that operand, by 0 alone, though the rule
// reads nothing but positions: so it does for windows' largest values, not for those of sorts and folds.
bool follows_operand(const Op& op);

// The gradients of the wanted parameters. Throws OpError(NotImplemented) for an op without a derivative.
Gradients vjp(const Op& op, OpCaller& caller, std::span<const Arg> args, std::span<const Arg> results,
              std::span<const Arg> grads, std::uint64_t wanted_parameters);

}  // namespace md
