// What is pending of tensors in a trace: whether their memory holds the conjugates or the negatives of what they show.
#pragma once

#include "ir/graph/graph.h"
#include "ir/tensor/lazy_view.h"

namespace md {

// By the calls of the graph that led from one view to the next.
Pending pending_of(const Node& n);
// Throws OpError for a call that would show such memory as elements of another dtype.
void check_pending(const Node& view);

}  // namespace md
