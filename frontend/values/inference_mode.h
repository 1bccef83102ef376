// Inference mode in a trace: where it is on, and which tensors were made there.
#pragma once

#include <memory>
#include <span>

#include "frontend/trace/tracer.h"
#include "frontend/values/tensor.h"
#include "ir/compile/backend.h"

namespace md {

bool is_inference_on(const Tracer& t);
void switch_inference(Tracer& t, bool inference, bool grad);
// Throws OpError where an inference tensor that the graph is given is written to outside of the mode; of one that the
// graph makes, the run raises.
void check_inference_write(Tracer& t, const TensorValue& self);
bool switches_inference(const Graph& g);
// The kernel itself, or one whose outputs are inference tensors where the traced graph makes them in the mode.
std::shared_ptr<Kernel> with_inference_outputs(std::shared_ptr<Kernel> kernel, const Graph& traced);

}  // namespace md
