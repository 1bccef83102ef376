// Functions that kernels for GPUs call seldom and that no hardware has: what the C library or the processor's own code
// serves elsewhere.
#pragma once

#include <llvm/IR/Module.h>

namespace md {

// double(double, double): C's fmod, exact.
inline constexpr const char* kFmodFunction = "minidynamo_fmod";

// Gives a body to each such function that the module names.
void define_gpu_functions(llvm::Module& module);

}  // namespace md
