// While the backward of an autograd function is looked at, its gradients may not be asked for what eager mode decides.
#pragma once

#include "frontend/values/tensor.h"

namespace md {

// From its making to its end the backward of a function is looked at, whose own tensors are in the current graph.
class StrictBackward {
 public:
  StrictBackward();
  ~StrictBackward();
  StrictBackward(const StrictBackward&) = delete;
  StrictBackward& operator=(const StrictBackward&) = delete;
};

// A tensor that does not come from the forward, and one of the names that are forbidden then.
bool is_forbidden_in_backward(const Tracer& t, const TensorValue& v, const std::string& name);

}  // namespace md
