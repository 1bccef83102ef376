// In-place writes while tracing: what may be written to, and what a write makes of gradients.
#include "frontend/interpreter/trace_writes.h"

#include "frontend/trace/breaks.h"
#include "ir/infer/inplace.h"

namespace md {

bool is_inplace_method(const std::string& name) {
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

void check_writable(const TensorValue& self) { check_grad_write(self.type.requires_grad, self.type.history); }

void take_on_grad(TensorValue& self, bool gradient, const std::string& target) {
  if (!gradient || self.type.requires_grad) return;
  if (self.source) unmodelled(target, "a write of what requires grad to an input that does not");
  self.set_grad_state({true, GradHistory::Computed});
}

void note_write(TensorValue& self, const Op& op, const TensorType& result, const std::string& target) {
  check_inplace(op, self.type, result);
  take_on_grad(self, result.requires_grad && is_differentiable(self.type.dtype), target);
}

}  // namespace md
