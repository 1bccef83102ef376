// Memory of the host that the driver knows: pinned by allocating it here, or registered.
#pragma once

#include <atomic>
#include <memory>

#include "devices.h"

namespace emulated {

// What is allocated here lies in its device's range, too: at another address, as devices may have it.
struct PinnedBlock {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  unsigned flags = 0;
  Device* device = nullptr;
  Address mapped = 0;  // 0: the device does not reach it
  bool registered = false;
  const Context* owner = nullptr;
  std::atomic<int> in_flight = 0;  // copies queued that read or write it
};

// The block that all the bytes lie in; null for memory the driver knows nothing of.
std::shared_ptr<PinnedBlock> pinned_block(const void* address, std::size_t bytes);
// The block that begins at the device's address; null if none.
std::shared_ptr<PinnedBlock> mapped_block(Address address);
void free_all_pinned_of(const Context* owner);

}  // namespace emulated
