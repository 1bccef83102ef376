// What in-place writes to tensors that require grad mean in eager code.
#include "frontend/tensors/written_tensors.h"

#include <algorithm>

#include "ir/infer/inplace.h"

namespace md {

namespace {

bool concerns_autograd(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) return *t && ((*t)->requires_grad || (*t)->history != GradHistory::Leaf);
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::any_of(l->items, concerns_autograd);
}

void take_on_grad(TensorImpl& x, bool gradient) {
  if (gradient && !x.requires_grad) x.set_grad_state({true, GradHistory::Computed});
}

}  // namespace

void check_grad_write(const TensorImpl& self) { check_grad_write(self.requires_grad, self.history); }

void write_inplace(const Op& op, std::span<const Arg> bound) {
  if (!grad_enabled() || std::ranges::none_of(bound, concerns_autograd)) {
    call_inplace(op, bound);
    return;
  }
  TensorImpl& self = *bound[0].get<TensorRef>();
  check_grad_write(self);
  const bool gradient = is_differentiable(self.dtype) && infer(op, bound).at(0).requires_grad;
  call_inplace(op, bound);
  take_on_grad(self, gradient);
}

void write_item(const TensorRef& x, const Arg& index, const Arg& value) {
  if (!grad_enabled() || (!concerns_autograd(x) && !concerns_autograd(value))) return assign_index(x, index, value);
  const bool gradient = check_item_assignment(x, index, value);
  assign_index(x, index, value);
  take_on_grad(*x, gradient);
}

}  // namespace md
