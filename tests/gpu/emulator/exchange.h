// Where the lanes of a warp have to come together.
#pragma once

#include "warp.h"

namespace emulated {

// Each lane that runs names those it acts with. False where some are still to come: the instruction is run again then.
// Throws a Fault where a lane does not name itself. Accesses before and after are ordered.
bool meet(Warp& warp, const std::uint32_t (&members)[kLanes]);

}  // namespace emulated
