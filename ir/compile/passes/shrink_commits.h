// An input changed through views is committed part by part instead of as a whole: x[1:-1] += 1 writes the inside of x
// and never copies the rest out and back.
#pragma once

#include "ir/graph/graph.h"

namespace md {

void shrink_commits(Graph& functional);

}  // namespace md
