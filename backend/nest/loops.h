// The axes of a nest put together into as few loops as its tensors allow: what every schedule starts from.
#pragma once

#include <vector>

#include "backend/nest/loop_nest.h"

namespace md {

// Axes that are walked as one loop: each tensor's stride of an outer axis is the inner extent times its inner stride.
struct Loop {
  SmallVector<int, 5> axes;  // slowest first; none: a single iteration
};

// Of the axes that stay, slowest in memory first; of those that are folded, in row-major order. Axes of extent 1 are
// left out.
std::vector<Loop> kept_loops(const LoopNest& nest);
std::vector<Loop> folded_loops(const LoopNest& nest);

Size extent(const LoopNest& nest, const Loop& loop);
Size stride(const Access& access, const Loop& loop);

}  // namespace md
