// Merges nodes that compute the same value, and views that show the same memory the same way. Without it every `x.T` or
// `x * 2` written twice is computed and stored twice. Values that leave the graph stay tensors of their own.
#pragma once

#include "ir/graph/graph.h"

namespace md {

void merge_common_subexpressions(Graph& functional);

}  // namespace md
