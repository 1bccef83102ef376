// Composite calls on large tensors in eager mode: instead of one part after the other on the whole tensor, all parts on
// one row after the other, while the row is in the first-level cache. Bits are the same.
#pragma once

#include <memory>
#include <span>

#include "ir/graph/graph.h"

namespace md {

// Runs recorded pointwise ops and reductions, of which the last gives `out`; false if it cannot.
using SweepRunner = bool (*)(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out);
void set_sweep_runner(SweepRunner runner);

// Whether a composite call is large enough to gain from it.
bool worth_sweeping(std::span<const Arg> bound);
// Its result; parts that cannot be run so are run one after the other. With `into`, which no operand overlaps other
// than element by element, the result is that tensor where all parts are pointwise.
Arg run_swept(const Op& composite, std::span<const Arg> bound, TensorImpl* into = nullptr);

}  // namespace md
