// Inputs and results of functions whose gradients are asked for.
#include "ir/run/transforms.h"

#include <algorithm>
#include <unordered_set>

#include "ir/batching/levels.h"
#include "ir/core/error.h"
#include "ir/gradients/tape.h"
#include "ir/run/batched_call.h"
#include "ir/run/eager.h"

namespace md {

namespace {

const TensorRef& whole(const TensorRef& t) {
  const Batch* b = batch_of(*t);
  return b ? b->all : t;
}

bool are_gradients_asked() {
  return std::ranges::any_of(transform_levels(), [](const TransformLevel& l) { return l.asks_gradients(); });
}

}  // namespace

LevelInput input_of_level(const TensorRef& x, std::uint32_t number) {
  if (!is_differentiable(x->dtype))
    throw OpError(ErrorKind::Runtime, "only Tensors of floating point dtype can require gradients");
  const std::vector<std::uint32_t> levels = vmap_levels();
  const TensorRef all = without_levels(x, levels);
  TensorRef reached;
  if (all->requires_grad && grad_enabled()) {
    ListArg sizes;
    for (const std::int64_t s : all->sizes) sizes.items.emplace_back(s);
    reached = eager_caller().call(id::View, {all, sizes}).get<TensorRef>();
  } else {
    reached = eager_caller().call(id::Detach, {all}).get<TensorRef>();
    reached->set_grad_state({true, GradHistory::Leaf});
  }
  reached->made_after = number;
  TensorRef seen = with_levels(reached, levels);
  seen->made_after = number;
  return {seen, reached};
}

bool reaches_others(const TensorRef& t) {
  const GradEdge e = grad_edge(t);
  std::vector<GradNode*> open;
  std::unordered_set<GradNode*> seen;
  const auto add = [&](GradNode* n) {
    if (n && seen.insert(n).second) open.push_back(n);
  };
  add(e.node.get());
  while (!open.empty()) {
    GradNode* n = open.back();
    open.pop_back();
    if (const TensorRef leaf = accumulated_leaf(*n)) {
      if (leaf->made_after == 0) return true;
      continue;
    }
    for (const GradEdge& next : n->edges) add(next.node.get());
  }
  return false;
}

TensorRef outside_transform(const TensorRef& t) {
  const TensorRef& all = whole(t);
  if (!all->requires_grad) return t;
  if (grad_enabled() && (are_gradients_asked() || reaches_others(all))) return t;
  return eager_caller().call(id::Detach, {t}).get<TensorRef>();
}

bool is_differentiated(const TensorRef& t) {
  if (!grad_enabled()) return false;
  const TensorRef& all = whole(t);
  return are_gradients_asked() || (all->requires_grad && reaches_others(all));
}

}  // namespace md
