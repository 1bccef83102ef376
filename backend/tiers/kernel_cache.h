// Compiled loop nests, shared by everything in the process that computes the same nest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/llvm/loader.h"
#include "backend/nest/schedule.h"

namespace md {

// The ABI of generated code: see backend/llvm/emit.h.
using NestFunction = std::int64_t (*)(void* const* buffers, const std::int64_t* params, std::int64_t row_begin,
                                      std::int64_t row_end, std::int64_t col_begin, std::int64_t col_end);

// A nest ready to run once its sizes are known.
struct CompiledNest {
  std::shared_ptr<const LoadedCode> code;
  NestFunction function = nullptr;
  Schedule schedule;
  std::vector<Size> params;
  Size rows = 1, cols = 1, folded = 1;
  double cost = 0;  // estimated nanoseconds per element of rows * cols * folded
};

// Generates code unless an equal nest (sizes and strides other than 0 and 1 do not count) is loaded already. `target`
// is one this process can run. Thread-safe. Throws InternalError, and bad_alloc.
CompiledNest compile_nest(const LoopNest& nest, const Target& target);
// The LLVM IR of the nest.
std::string print_nest(const LoopNest& nest, const Target& target);

}  // namespace md
