// Results of the program's own functions that show memory of an argument: no write goes back through their backward().
#pragma once

#include "ir/gradients/tape.h"

namespace md {

// Whether that result of the node is one. Set once; null: nobody makes such nodes.
using IsFunctionView = bool (*)(const GradNode& node, int result);
void set_is_function_view(IsFunctionView asked);

}  // namespace md
