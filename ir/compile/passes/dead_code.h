// Removes nodes nobody uses, but for those that may fail or draw random numbers. Without it fused loops would compute
// and store values that are thrown away.
#pragma once

#include "ir/graph/graph.h"

namespace md {

void remove_dead_code(Graph& functional);

}  // namespace md
