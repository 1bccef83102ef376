// Histories that are written down later than the call, or that nobody wrote down.
#pragma once

#include "ir/gradients/tape.h"

namespace md {

// Raises when gradients reach it.
Ref<GradNode> unrecorded_node();
// The view that `t` shows of `base`, as a call that is recorded now.
void record_view_of(const TensorRef& base, const TensorRef& t);

}  // namespace md
