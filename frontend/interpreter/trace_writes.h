// Writes in place, as a trace sees them: whether they fit, and what they make of the tensor that is written.
#pragma once

#include <string>

#include "frontend/values/tensor.h"

namespace md {

// A method or function of that name writes to its first operand.
bool is_inplace_method(const std::string& name);

// Before the result is known. Throws OpError(Runtime) for what autograd does not let anybody write to.
void check_writable(const TensorValue& self);
// self.op_(...), whose result would be `result`. Throws OpError(Runtime) if that does not fit.
void note_write(const Graph& g, TensorValue& self, const Op& op, const TensorType& result, const std::string& target);
// A tensor that what requires grad is written to requires it, too. Breaks where the program would see that of an input,
// or of another tensor that shows the same memory.
void take_on_grad(const Graph& g, TensorValue& self, bool gradient, const std::string& target);

}  // namespace md
