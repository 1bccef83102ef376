// The ops of a functional graph as calls, for who records backward() (ir/gradients/backward_recorder.h).
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/infer/composite.h"

namespace md {

// Whether there is nothing in it but ops of the table and constants, with sizes that the inputs tell.
bool has_only_ops(const Graph& functional);
// Calls them in order: the graph's outputs.
std::vector<TensorRef> call_ops_of(const Graph& functional, std::span<const TensorRef> inputs, OpCaller& caller);

}  // namespace md
