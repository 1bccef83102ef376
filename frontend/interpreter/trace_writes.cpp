// In-place writes while tracing: what may be written to, and what a write makes of gradients.
#include "frontend/interpreter/trace_writes.h"

#include <algorithm>

#include "frontend/trace/breaks.h"
#include "ir/infer/inplace.h"

namespace md {

bool is_inplace_method(const std::string& name) {
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

void check_writable(const TensorValue& self) { check_grad_write(self.type.requires_grad, self.type.history); }

// Whether there are several tensors that show the memory. What is written in place goes on as a node of its own.
static bool has_views(const Graph& g, int storage) {
  return std::ranges::count_if(g.nodes, [&](const auto& n) {
           const bool shows = std::ranges::find(n->types, storage, &TensorType::storage) != n->types.end();
           return shows && !is_inplace(*n);
         }) > 1;
}

void take_on_grad(const Graph& g, TensorValue& self, bool gradient, const std::string& target) {
  if (!gradient || self.type.requires_grad) return;
  if (self.source) unmodelled(target, "a write of what requires grad to an input that does not");
  if (has_views(g, self.type.storage))
    unmodelled(target, "a write of what requires grad to a tensor that does not and has views");
  self.set_grad_state({true, GradHistory::Computed});
}

void note_write(const Graph& g, TensorValue& self, const Op& op, const TensorType& result, const std::string& target) {
  check_inplace(op, self.type, result);
  take_on_grad(g, self, result.requires_grad && is_differentiable(self.type.dtype), target);
}

}  // namespace md
