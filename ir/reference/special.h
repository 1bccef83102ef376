// The elementwise kernels of registry/ops/special.h, a range of elements at a time.
#pragma once

#include "ir/reference/reference.h"
#include "registry/ops/special.h"

namespace md {

// Elements [first, last) of the result, which is contiguous, in row-major order.
void run_elements(ops::ErfInv, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_elements(ops::LGamma, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_elements(ops::Digamma, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_elements(ops::Gcd, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_elements(ops::Lcm, const KernelCall& c, std::int64_t first, std::int64_t last);
void run_elements(ops::NextAfter, const KernelCall& c, std::int64_t first, std::int64_t last);

}  // namespace md
