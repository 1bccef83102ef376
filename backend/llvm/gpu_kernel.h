// Loop nest -> program for a GPU. The entry takes 64-bit words: the address of every buffer, or the bits of its one
// element (Access::by_value), each of `params`, how many rows and columns there are, and the address of a status word
// of 32 bits, to which 1 is or-ed if an op of the body failed (integer division by zero).
#pragma once

#include <string>
#include <vector>

#include "backend/nest/gpu_schedule.h"
#include "backend/nest/lower_group.h"

namespace md {

struct GpuKernel {
  std::string entry;  // also the kernel's name in profiles
  std::string code;   // PTX; LLVM IR for AMD's, whose code generator is not part of this library
  GpuSchedule schedule;
  std::vector<Size> params;
  Size rows = 1, cols = 1, folded = 1;
  int buffers = 0;
  std::vector<std::size_t> value_bytes;  // per buffer: 0 for an address, else the size of the element handed over
  bool can_fail = false;                 // it may write the status word
};

// Names of the targets there are: "sm_75", ..., "gfx90a", ...
const std::vector<std::string>& gpu_targets();
// Throws InternalError for an unknown name. For sm_86, sm_89 and sm_100 the code is that of the nearest architecture
// below that the code generator knows; the driver takes it.
Target gpu_target(const std::string& name);

// All but code and entry. Of `lowered`, a nest, `part` and its scratch matter as well. Throws InternalError.
GpuKernel plan_gpu_kernel(const LoweredGroup& lowered, const Target& target);
// Thread-safe. Throws InternalError.
std::string gpu_kernel_code(const LoweredGroup& lowered, const GpuSchedule& schedule, const Target& target,
                            const std::string& entry);

}  // namespace md
