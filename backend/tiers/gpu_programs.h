// Loop nests as programs for GPUs, shared by everything in the process that computes the same nest.
#pragma once

#include <memory>
#include <string>

#include "backend/llvm/gpu_kernel.h"

namespace md {

// Generates code unless that for an equal nest (backend/llvm/kernel_object.h) is there already; its entry is called
// after the first nest that asked, with a few digits that tell it from others. Thread-safe. Throws InternalError.
std::shared_ptr<const GpuKernel> gpu_program(const LoweredGroup& lowered, const Target& target,
                                             const std::string& name);

// What code for the device with this ordinal is made for. Throws OpError(Device) if there is none.
const Target& cuda_target(int device);

}  // namespace md
