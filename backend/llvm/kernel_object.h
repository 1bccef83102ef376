// A loop nest as machine code that is not loaded yet: an object for a target, and the key under which equal ones are
// known. Neither depends on the process that made it.
#pragma once

#include <string>

#include "backend/nest/gpu_schedule.h"
#include "backend/nest/schedule.h"

namespace md {

// Equal for nests that give the same code, and for no others (as far as SHA-256 goes): made of the names of ops and
// dtypes, the schedule, which strides are 0, 1 or neither, the target and this build's identity. 64 hexadecimal digits.
std::string kernel_key(const LoopNest& nest, const Schedule& schedule, const Target& target);

// The same for GPUs.
std::string gpu_kernel_key(const LoopNest& nest, const GpuSchedule& schedule, const Target& target);

// The same text the key is a digest of.
std::string describe_kernel(const LoopNest& nest, const Schedule& schedule, const Target& target);

// The object (ELF) that defines kKernelName (backend/llvm/emit.h). Under a ForkGate. Thread-safe. Throws InternalError.
std::string generate_kernel(const LoopNest& nest, const Schedule& schedule, const Target& target);
// What it is generated from, as LLVM IR.
std::string kernel_ir(const LoopNest& nest, const Schedule& schedule, const Target& target);

}  // namespace md
