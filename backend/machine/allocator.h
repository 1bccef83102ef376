// Memory of tensors: a cache of 64-byte aligned blocks. A fresh page costs more than most kernels, so freed blocks are
// kept and handed out again; blocks of several megabytes ask for huge pages.
#pragma once

#include <cstddef>

#include "ir/tensor/tensor.h"

namespace md {

// The function for set_allocator(). Thread-safe and fork-safe. Throws OpError(Memory).
Ref<Storage> allocate_cached_storage(std::size_t bytes, Device = kCpu);

// Gives every cached large block back to the system.
void release_cached_memory();

struct AllocatorStats {
  std::size_t cached_bytes;  // free large blocks kept for reuse
  std::size_t mapped_bytes;  // large blocks in use or cached
};
AllocatorStats allocator_stats();

}  // namespace md
