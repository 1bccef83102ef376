// What rand, randn and randint draw: element i depends on the call's numbers and i alone.
#pragma once

#include "ir/reference/reference.h"
#include "ir/tensor/philox.h"
#include "registry/ops/kernels.h"

namespace md {

// Counters the call takes.
std::uint64_t random_blocks(ops::Rand, const KernelCall& c);
std::uint64_t random_blocks(ops::Randn, const KernelCall& c);
std::uint64_t random_blocks(ops::Randint, const KernelCall& c);

// The elements of the result, which is contiguous.
void fill_random(ops::Rand, const KernelCall& c, const RandomRange& r);
void fill_random(ops::Randn, const KernelCall& c, const RandomRange& r);
void fill_random(ops::Randint, const KernelCall& c, const RandomRange& r);

}  // namespace md
