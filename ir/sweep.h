// Composite calls on large tensors in eager mode: instead of one part after the other on the whole tensor, all parts on
// one row after the other, while the row is in the first-level cache. Bits are the same.
#pragma once

#include <memory>
#include <span>

#include "ir/graph.h"

namespace md {

// Runs recorded pointwise ops and reductions, of which the last gives `out`; false if it cannot.
using SweepRunner = bool (*)(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out);
void set_sweep_runner(SweepRunner runner);

// The result of a composite call, or null if its parts are not of this kind or too small to gain from it.
TensorRef swept(const Op& composite, std::span<const Arg> bound);

}  // namespace md
