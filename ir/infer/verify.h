// Whether a graph is well-formed.
#pragma once

#include "ir/graph/graph.h"

namespace md {

// Throws InternalError naming the first violated rule and node.
void verify(const Graph& g);

}  // namespace md
