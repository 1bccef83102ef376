// Kernels that are ready before their machine code is, or that find out which engine is faster. Every engine computes
// the same bits, so a change of engine shows in nothing but time.
#pragma once

#include <functional>
#include <memory>

#include "backend/tiers/compile_queue.h"
#include "ir/compile/backend.h"

namespace md {

using KernelMaker = std::function<std::unique_ptr<Kernel>(std::shared_ptr<const Graph>, const Checkpoint&)>;

// Runs on block kernels. The first call that ends asks for machine code, which takes over as soon as there is some. If
// making it fails, a later call throws what was wrong; if memory does not suffice, block kernels stay.
std::unique_ptr<Kernel> tiered_kernel(std::shared_ptr<const Graph> functional, KernelMaker make);
// Its first calls alternate between machine code and block kernels; the rest goes to the faster.
std::unique_ptr<Kernel> measured_kernel(std::shared_ptr<const Graph> functional, std::unique_ptr<Kernel> compiled);

}  // namespace md
