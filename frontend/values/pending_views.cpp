// Views know nothing of this by their types: it is read off the graph when a program asks.
#include "frontend/values/pending_views.h"

#include <vector>

#include "ir/graph/mutation.h"
#include "ir/graph/op_ids.h"
#include "ir/run/lazy_calls.h"

namespace md {

namespace {

const Node* operand_in_same_memory(const Node& n) {
  auto* const* from = n.args.empty() ? nullptr : n.args[0].get_if<Node*>();
  if (!from) return nullptr;
  if (n.kind == NodeKind::GetItem) return *from;
  if (n.kind != NodeKind::Op || n.op == kNoOp) return nullptr;
  if (is_inplace(n) || n.multi) return *from;
  const bool shares = !n.types.empty() && !(*from)->types.empty() && n.types[0].storage == (*from)->types[0].storage;
  return shares ? *from : nullptr;
}

}  // namespace

Pending pending_of(const Node& n) {
  std::vector<const Node*> steps;
  for (const Node* at = &n; at; at = operand_in_same_memory(*at)) steps.push_back(at);
  Pending p;
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    const Node& step = **at;
    if (step.kind != NodeKind::Op || is_inplace(step) || !operand_in_same_memory(step)) continue;
    const bool of_complex = is_complex((*step.args[0].get_if<Node*>())->types[0].dtype);
    if (of_complex && (step.op == id::Conj || step.op == id::ConjView)) p.conjugate = !p.conjugate;
    if (step.op == id::NegView) p.negative = !p.negative;
    if (of_complex && step.op == id::ImagPart) p.negative = p.negative != p.conjugate;
    if (of_complex && (step.op == id::ImagPart || step.op == id::RealPart)) p.conjugate = false;
  }
  return p;
}

void check_pending(const Node& view) {
  if (view.op != id::ViewAsReal && view.op != id::ViewDType) return;
  if (auto* const* of = view.args.empty() ? nullptr : view.args[0].get_if<Node*>())
    pending_of_view(op(view.op), pending_of(**of));
}

}  // namespace md
