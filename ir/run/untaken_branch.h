// What only the branch of a choice that was not taken reads has a gradient too: zero.
#pragma once

#include <span>

#include "ir/graph/graph.h"
#include "ir/tensor/tensor.h"

namespace md {

// `results` are those of the branch that was taken, `inputs` what both branches are given. While gradients are
// recorded, results depend on what `untaken` computes its own from.
void depend_on_untaken(const Graph& untaken, std::span<const TensorRef> inputs, std::span<TensorRef> results);

}  // namespace md
