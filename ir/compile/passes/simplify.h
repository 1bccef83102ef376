// Rewrites that keep every bit: x * 1, neg of neg, copies and conversions that change nothing. A node is only replaced
// by one of the same dtype, sizes and strides. x + 0 is not here: it turns -0.0 into 0.0.
#pragma once

#include "ir/graph/graph.h"

namespace md {

void simplify(Graph& functional);

}  // namespace md
