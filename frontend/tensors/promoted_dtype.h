// torch.result_type, for tensors and for what a trace knows of them.
#pragma once

#include "ir/graph/arg.h"
#include "registry/dtype.h"

namespace md {

// The dtype arithmetic on both would have. Each is a tensor, a node of a graph or a number.
DType promoted_dtype(const Arg& a, const Arg& b);

}  // namespace md
