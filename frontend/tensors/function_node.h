// Calls of the program's own functions (autograd.Function) in the record of gradients.
#pragma once

#include <span>

#include "frontend/tensors/op_function.h"

namespace md {

std::span<const NativeRow> function_node_functions();

}  // namespace md
