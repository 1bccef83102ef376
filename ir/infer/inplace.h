// What may be written in place: one set of checks for eager calls and for traces.
#pragma once

#include "ir/graph/op_table.h"

namespace md {

// Whether two indices may reach one element (an expanded tensor, a sliding window). The answer for symbolic sizes and
// strides is an assumption the guards check.
bool overlaps_itself(const TensorType& x);
// self.op_(...) whose result would be `result`. Throws OpError(Runtime) if it does not fit `self` or if elements of
// `self` share memory.
void check_inplace(const Op& op, const TensorType& self, const TensorType& result);

// A write to a tensor of this state. Throws OpError(Runtime) while gradients are on for leaves that require grad and
// their views, and for views that are not tracked: nobody could say what their gradient is.
void check_grad_write(bool requires_grad, GradHistory history);

// x[index] = value, where `part` is x[index] and `value` a tensor or a number. Leading dimensions of size 1 that `part`
// lacks are dropped from `value`: the result is how many.
int check_assignment(const TensorType& part, const Arg& value);
// Checks x[index] = value over types. True if x requires grad for it.
bool check_item_assignment(const Arg& x, const Arg& index, const Arg& value);

}  // namespace md
