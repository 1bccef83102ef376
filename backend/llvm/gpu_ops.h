// What a GPU's threads can ask and do beside arithmetic: who they are, waiting for each other, exchanging values. One
// class for both kinds of GPUs; everything that emits for them goes through it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "backend/machine/target.h"

namespace md {

// Threads exchange values within segments of this many neighbours, whatever the hardware's own group is.
inline constexpr int kSegmentThreads = 32;
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

class GpuOps {
 public:
  GpuOps(llvm::IRBuilder<>& ir, const Target& target) : ir_(ir), nvidia_(target.device == DeviceType::Cuda) {}

  // i32, of axis 0, 1 or 2.
  llvm::Value* thread(int axis) const;
  llvm::Value* block(int axis) const;
  // All threads of the block have come here, and see what the others wrote.
  void barrier() const;
  // Of the thread `distance` further within each group of `width` threads (a power of two, at most 32): the value
  // itself where there is none. Every thread of the segment takes part. Scalars of 1, 32 or 64 bits.
  llvm::Value* from_later(llvm::Value* v, int distance, int width) const;
  // Of the first thread of each such group.
  llvm::Value* from_first(llvm::Value* v, int width) const;
  // Makes `function` an entry for blocks of x * y threads.
  void mark_entry(llvm::Function& function, int x, int y) const;

 private:
  llvm::Value* exchange(llvm::Value* v, int distance, int width) const;  // distance -1: the first
  llvm::Value* exchange_word(llvm::Value* v, int distance, int width) const;

  llvm::IRBuilder<>& ir_;
  const bool nvidia_;
};

}  // namespace md
