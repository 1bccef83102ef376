// Calls with operands of which a conjugation or negation is pending (ir/tensor/lazy_view.h).
#pragma once

#include <span>
#include <vector>

#include "ir/graph/op_table.h"
#include "ir/tensor/lazy_view.h"

namespace md {

bool holds_pending(std::span<const Arg> args);
// What `t` shows in memory of its own; `t` itself where nothing is pending.
TensorRef resolved(const TensorRef& t);
// The arguments with tensors of their own in the place of such operands.
std::vector<Arg> resolved(std::span<const Arg> args);
// A view of `t` that shows the memory as it is.
TensorRef as_in_memory(const TensorRef& t);
// `value` as memory has to hold it for `self` to show it, in the dtype of `self`.
Arg turned_round(const TensorImpl& self, Arg value);
// What is pending of the view that `op` makes of a tensor of which `p` is. Throws OpError for one that would show
// memory as something else.
Pending pending_of_view(const Op& op, Pending p);

}  // namespace md
