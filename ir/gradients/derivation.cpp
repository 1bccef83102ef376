// From an op to its derivative, and what every derivative does: gradients take the sizes, the dtype and the
// device of their operand.
#include "ir/gradients/derivation.h"

#include "ir/core/error.h"
#include "ir/graph/op_visit.h"

namespace md {

// Declared for every op, defined for each that declares no other (a missing one does not link).
#define MD_OP(S) Gradients vjp_rule(ops::S, const Derivation& d);
#include "registry/ops.inc"
#undef MD_OP

namespace {

using Rule = Gradients (*)(const Derivation&);

// Results of these are bools or integers.
constexpr bool is_discrete(Promote p) {
  return p == Promote::Compare || p == Promote::Logical || p == Promote::Bitwise;
}

template <class O>
constexpr bool has_rule() {
  constexpr OpDecl d = O::decl;
  if (d.no_gradient || is_discrete(d.promote)) return false;
  switch (d.kind) {
    case OpKind::Composite:
      return d.own_gradient;
    case OpKind::Create:
    case OpKind::Random:
      return false;
    default:
      return true;
  }
}

template <class O>
constexpr Rule rule_of() {
  if constexpr (has_rule<O>()) return [](const Derivation& d) { return vjp_rule(O{}, d); };
  return nullptr;
}

constexpr Rule kRules[] = {
#define MD_OP(S) rule_of<ops::S>(),
#include "registry/ops.inc"
#undef MD_OP
};

// In the sizes and dtype of the operand it belongs to, where that is: a number on the CPU may meet tensors elsewhere.
Arg fitted(const Derivation& d, const Arg& operand, const Arg& gradient) {
  if (const auto* operands = operand.get_if<ListArg>()) {
    const auto* gradients = gradient.get_if<ListArg>();
    if (!gradients) return NoneArg{};
    ListArg out;
    for (std::size_t i = 0; i < operands->items.size(); ++i)
      out.items.push_back(fitted(d, operands->items[i], gradients->items.at(i)));
    return out;
  }
  if (!is_tensor(operand) || !is_tensor(gradient) || !is_differentiable(type_of(operand).dtype)) return NoneArg{};
  const Arg sum = converted(d, summed_to(d, gradient, type_of(operand).sizes), type_of(operand).dtype);
  return on_device(d, sum, device_of(operand));
}

}  // namespace

Arg summed_to(const Expansion& e, const Arg& gradient, const SizeVec& sizes) {
  const SizeVec have = type_of(gradient).sizes;
  const std::size_t extra = have.size() - sizes.size();
  ListArg leading, stretched;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (i < extra)
      leading.items.emplace_back(Size(static_cast<std::int64_t>(i)));
    else if (!(have[i] == sizes[i - extra]) && guard_eq(sizes[i - extra], 1) && !guard_eq(have[i], 1))
      stretched.items.emplace_back(Size(static_cast<std::int64_t>(i)));
  }
  Arg out = gradient;
  if (!stretched.items.empty()) out = e.call(id::Sum, {out, stretched, true});
  return leading.items.empty() ? out : e.call(id::Sum, {out, leading, false});
}

bool has_gradient(const Op& op) { return op.id < std::size(kRules) && kRules[op.id]; }

Gradients vjp(const Op& op, OpCaller& caller, std::span<const Arg> args, std::span<const Arg> results,
              std::span<const Arg> grads, std::uint64_t wanted_parameters) {
  if (!has_gradient(op))
    throw OpError(ErrorKind::NotImplemented, fmt::format("the derivative for '{}' is not implemented", op.public_name));
  const Derivation d{{{op, args}, caller, device_of_call(op, args)}, results, grads, wanted_parameters};
  Gradients out = kRules[op.id](d);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = d.wants(static_cast<int>(i)) ? fitted(d, args[i], out[i]) : Arg(NoneArg{});
  return out;
}

}  // namespace md
