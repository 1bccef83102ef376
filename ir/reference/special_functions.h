// The kernels of registry/ops/special_functions.h, a range of elements at a time.
#pragma once

#include "ir/reference/reference.h"
#include "registry/ops/special_functions.h"

namespace md {

// Elements [first, last) of the result, which is contiguous, in row-major order.
#define MD_OP(S) void run_elements(ops::S, const KernelCall& c, std::int64_t first, std::int64_t last);
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md
