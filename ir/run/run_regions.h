// Running calls of regions: which region, how often, on what. How a region runs is the engine's own.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph/region_call.h"

namespace md {

// Runs region `which` on its inputs.
using RunRegion = std::function<std::vector<TensorRef>(std::size_t which, std::span<const TensorRef> inputs)>;

// The results of a call with these arguments. What the operators do between calls of regions (rows, stacks of rows,
// copies) is recorded where gradients are. Throws OpError, and what `run` throws.
std::vector<TensorRef> run_regions(RegionKind kind, std::span<Arg> args, const RunRegion& run);

}  // namespace md
