// Computes small values that depend on nothing but numbers (zeros(3) + 1) while compiling.
#pragma once

#include "ir/graph/graph.h"

namespace md {

void fold_constants(Graph& functional);

}  // namespace md
