// Asks the installed handlers, and gives their tensors the gradient state and the base that the op's results have.
#include "ir/run/handled_calls.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"
#include "ir/run/eager.h"

namespace md {

namespace {

constinit AnswerCall answer_call = nullptr;

bool holds_handled(std::span<const Arg> args) {
  return std::ranges::any_of(args, [](const Arg& a) {
    if (const auto* t = a.get_if<TensorRef>()) return *t && handled_of(**t) != nullptr;
    const auto* l = a.get_if<ListArg>();
    return l && holds_handled(l->items);
  });
}

bool is_among(std::span<const Arg> args, const TensorRef& t) {
  return std::ranges::any_of(args, [&](const Arg& a) {
    if (const auto* l = a.get_if<ListArg>()) return is_among(l->items, t);
    return a == Arg(t);
  });
}

// What the op's own rule says of the results; nothing where it cannot tell.
std::vector<TensorType> types_by_rule(const Op& op, std::span<const Arg> bound) {
  if (op.kind() == OpKind::Composite) return {};
  try {
    return infer(op, bound);
  } catch (const OpError&) {
    return {};
  }
}

void note_result(const Op& op, std::span<const Arg> bound, const TensorRef& made, const TensorType* type) {
  if (is_among(bound, made)) return;
  if (type && is_differentiable(made->dtype) && !made->requires_grad) made->set_grad_state(type->grad_state());
  if (op.kind() != OpKind::View || op.id == id::Detach) return;
  const TensorRef& of = bound[0].get<TensorRef>();
  made->base = of->base ? of->base : of;
}

[[noreturn]] void refuse(const Op& op) {
  throw OpError(ErrorKind::NotImplemented,
                op.public_name + "() of a tensor with __torch_dispatch__ has no operator that it could be asked about");
}

}  // namespace

void set_answer_call(AnswerCall answer) { answer_call = answer; }

bool is_for_handlers(std::span<const Arg> bound) {
  const HandlersHere& here = handlers_here();
  return here.modes != 0 || (here.tensors_off == 0 && holds_handled(bound));
}

std::optional<Arg> answered_call(const Op& op, std::span<const Arg> bound) {
  std::optional<Arg> answer = answer_call(op, bound, Asking::Call);
  if (!answer) {
    if (op.kind() != OpKind::Composite && holds_handled(bound)) refuse(op);
    return answer;
  }
  const std::vector<TensorType> types = types_by_rule(op, bound);
  if (const auto* t = answer->get_if<TensorRef>()) note_result(op, bound, *t, types.empty() ? nullptr : &types[0]);
  if (const auto* l = answer->get_if<ListArg>()) {
    for (std::size_t i = 0; i < l->items.size(); ++i)
      if (const auto* t = l->items[i].get_if<TensorRef>())
        note_result(op, bound, *t, i < types.size() ? &types[i] : nullptr);
  }
  return answer;
}

std::optional<Arg> answered_recorded(const Op& op, std::span<const Arg> bound) {
  return answer_call(op, bound, Asking::Recorded);
}

void show_saved(const Op& op, const Arg& result) {
  const auto* l = result.get_if<ListArg>();
  (void)answer_call(op, l ? std::span<const Arg>(l->items) : std::span<const Arg>(&result, 1), Asking::Saved);
}

bool answered_write(const Op& op, std::span<const Arg> bound) {
  if (answer_call(op, bound, Asking::Write)) return true;
  if (!holds_handled(bound.first(1))) return false;
  const Arg copied[] = {bound[0], call_op(op, bound)};
  if (op.id == id::Copy || !answer_call(md::op(id::Copy), std::span<const Arg>(copied), Asking::Write)) refuse(op);
  return true;
}

}  // namespace md
