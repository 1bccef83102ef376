// Pinned memory of the host, and what the driver tells of pointers.
#include "host_memory.h"

#include <map>

#include "graphs.h"
#include "record.h"
#include "streams.h"

namespace emulated {
namespace {

std::mutex& blocks_lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

std::map<const std::byte*, std::shared_ptr<PinnedBlock>>& blocks() {
  static auto& all = *new std::map<const std::byte*, std::shared_ptr<PinnedBlock>>;
  return all;
}

std::shared_ptr<PinnedBlock> block_around(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  const std::lock_guard guard(blocks_lock());
  const auto after = blocks().upper_bound(at);
  if (after == blocks().begin()) return nullptr;
  const auto& block = std::prev(after)->second;
  return at < block->begin + block->bytes ? block : nullptr;
}

CUresult allocate_pinned(void** to, std::size_t bytes, unsigned flags) {
  check(to && bytes > 0 && (flags & ~7u) == 0);
  refuse_while_capturing();
  const auto context = current_context();
  auto made = std::make_shared<PinnedBlock>();
  made->device = &context->device;
  made->mapped = context->device.allocate(bytes, nullptr, nullptr, true);
  made->begin = context->device.memory->host(made->mapped);
  made->bytes = bytes;
  made->flags = flags;
  made->owner = context.get();
  *to = made->begin;
  const std::lock_guard guard(blocks_lock());
  blocks()[made->begin] = std::move(made);
  return CUDA_SUCCESS;
}

// Takes the block that begins there out of the list; the wrong kind of block is refused.
std::shared_ptr<PinnedBlock> take_block(const void* address, bool registered, CUresult otherwise) {
  const std::lock_guard guard(blocks_lock());
  const auto found = blocks().find(static_cast<const std::byte*>(address));
  check(found != blocks().end() && found->second->registered == registered, otherwise);
  auto block = std::move(found->second);
  blocks().erase(found);
  return block;
}

// Hardware would read or write what somebody else has by then.
void report_copies(const PinnedBlock& block, const char* done) {
  if (const int copies = block.in_flight) {
    add_finding("pinned memory freed",
                std::string(done) + " of " + std::to_string(block.bytes) + " bytes of pinned memory while " +
                    std::to_string(copies) + (copies == 1 ? " copy that uses it is" : " copies that use it are") +
                    " queued or running",
                CUDA_ERROR_ILLEGAL_ADDRESS);
  }
}

}  // namespace

std::shared_ptr<PinnedBlock> pinned_block(const void* address, std::size_t bytes) {
  auto block = block_around(address);
  if (!block || static_cast<const std::byte*>(address) + bytes > block->begin + block->bytes) return nullptr;
  return block;
}

std::shared_ptr<PinnedBlock> mapped_block(Address address) {
  const std::lock_guard guard(blocks_lock());
  for (const auto& [begin, block] : blocks()) {
    if (block->mapped && address >= block->mapped && address < block->mapped + block->bytes) return block;
  }
  return nullptr;
}

void free_all_pinned_of(const Context* owner) {
  std::vector<std::shared_ptr<PinnedBlock>> mine;
  {
    const std::lock_guard guard(blocks_lock());
    std::erase_if(blocks(), [&](const auto& entry) {
      if (entry.second->owner != owner) return false;
      mine.push_back(entry.second);
      return true;
    });
  }
  for (const auto& block : mine) {
    if (block->mapped) block->device->release(block->mapped);
  }
}

namespace {

enum PointerAttribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kSyncMemops = 6,
  kBufferId = 7,
  kManaged = 8,
  kOrdinal = 9,
  kLegacyIpc = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
  kAllowedHandles = 14,
  kPool = 17
};

struct Pointer {
  Device* device = nullptr;
  Address address = 0;   // of the device
  void* host = nullptr;  // of pinned memory
  Allocation range;
  const Context* owner = nullptr;
  Pool* pool = nullptr;
};

// Null device: nothing of the driver's.
Pointer look_at(Address address) {
  Pointer found;
  std::shared_ptr<PinnedBlock> block;
  if (Device* device = device_of(address)) {
    const auto allocation = device->memory->find(address);
    if (!allocation || allocation->freed) return found;
    found.device = device;
    found.address = address;
    found.range = *allocation;
    block = mapped_block(address);
    const std::lock_guard guard(device->lock);
    if (const auto holding = device->holdings.find(allocation->address); holding != device->holdings.end()) {
      found.owner = holding->second.owner;
      found.pool = holding->second.pool;
    }
    if (block) found.host = block->begin + (address - block->mapped);
  } else if ((block = block_around(reinterpret_cast<const void*>(address)))) {
    found.device = block->device;
    found.host = reinterpret_cast<void*>(address);
    found.address = block->mapped ? block->mapped + (address - reinterpret_cast<Address>(block->begin)) : 0;
    found.range = {reinterpret_cast<Address>(block->begin), block->bytes, false};
  }
  if (block) found.owner = block->owner;
  return found;
}

template <class T>
CUresult put(void* to, T value) {
  *static_cast<T*>(to) = value;
  return CUDA_SUCCESS;
}

CUresult attribute_of(void* to, int attribute, const Pointer& pointer) {
  switch (attribute) {
    case kContext:
      return put(to, static_cast<const void*>(pointer.owner));
    case kMemoryType:
      return put(to, pointer.host ? 1u : 2u);
    case kDevicePointer:
      return put(to, CUdeviceptr{pointer.address});
    case kHostPointer:
      return pointer.host ? put(to, pointer.host) : CUDA_ERROR_INVALID_VALUE;
    case kSyncMemops:
      return put(to, 0u);
    case kBufferId:
      return put(to, static_cast<unsigned long long>(pointer.range.address));
    case kManaged:
      return put(to, 0u);
    case kOrdinal:
      return put(to, pointer.device->ordinal);
    case kLegacyIpc:
      return put(to, 0u);
    case kRangeStart:
      return put(to, CUdeviceptr{pointer.range.address});
    case kRangeSize:
      return put(to, pointer.range.bytes);
    case kMapped:
      return put(to, pointer.address ? 1u : 0u);
    case kAllowedHandles:
      return put(to, std::uint64_t{0});
    case kPool:
      return put(to, static_cast<void*>(pointer.pool));
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace emulated

EMULATED_API(cuMemAllocHost_v2, Context, void** to, std::size_t bytes) { return allocate_pinned(to, bytes, 0); }

EMULATED_API(cuMemHostAlloc, Context, void** to, std::size_t bytes, unsigned flags) {
  return allocate_pinned(to, bytes, flags);
}

EMULATED_API(cuMemFreeHost, Context, void* address) {
  refuse_while_capturing();
  const auto block = take_block(address, false, CUDA_ERROR_INVALID_VALUE);
  report_copies(*block, "cuMemFreeHost");
  current_context()->synchronize();
  while (block->in_flight) std::this_thread::yield();  // copies of other contexts
  block->device->release(block->mapped);
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemHostRegister_v2, Context, void* address, std::size_t bytes, unsigned flags) {
  check(address && bytes > 0 && (flags & ~15u) == 0);
  check(!device_of(reinterpret_cast<Address>(address)));
  const auto context = current_context();
  auto made = std::make_shared<PinnedBlock>();
  made->begin = static_cast<std::byte*>(address);
  made->bytes = bytes;
  made->flags = flags;
  made->device = &context->device;
  made->registered = true;
  made->owner = context.get();
  const std::lock_guard guard(blocks_lock());
  const auto after = blocks().lower_bound(made->begin);
  const bool overlaps =
      (after != blocks().end() && after->first < made->begin + bytes) ||
      (after != blocks().begin() && std::prev(after)->second->begin + std::prev(after)->second->bytes > made->begin);
  check(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  blocks()[made->begin] = std::move(made);
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemHostUnregister, Context, void* address) {
  const auto block = take_block(address, true, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  report_copies(*block, "cuMemHostUnregister");
  while (block->in_flight) std::this_thread::yield();
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemHostGetDevicePointer_v2, Context, CUdeviceptr* to, void* address, unsigned flags) {
  check(to && address && flags == 0);
  const auto block = block_around(address);
  check(block != nullptr);
  check(block->mapped != 0, CUDA_ERROR_NOT_SUPPORTED);
  check(block->device == &current_context()->device);
  *to = block->mapped + static_cast<Address>(static_cast<std::byte*>(address) - block->begin);
  return CUDA_SUCCESS;
}

EMULATED_API(cuMemHostGetFlags, Context, unsigned* flags, void* address) {
  check(flags && address);
  const auto block = block_around(address);
  check(block != nullptr);
  *flags = block->flags;
  return CUDA_SUCCESS;
}

EMULATED_API(cuPointerGetAttribute, Context, void* to, int attribute, CUdeviceptr address) {
  check(to);
  const Pointer pointer = look_at(address);
  check(pointer.device != nullptr);
  return attribute_of(to, attribute, pointer);
}

// Of memory that the driver knows nothing of all attributes are zero.
EMULATED_API(cuPointerGetAttributes, Context, unsigned count, int* attributes, void** to, CUdeviceptr address) {
  check(count && attributes && to);
  const Pointer pointer = look_at(address);
  for (unsigned i = 0; i < count; ++i) {
    if (pointer.device && attribute_of(to[i], attributes[i], pointer) == CUDA_SUCCESS) continue;
    const bool wide = attributes[i] == kContext || attributes[i] == kDevicePointer || attributes[i] == kHostPointer ||
                      attributes[i] == kBufferId || attributes[i] >= kRangeStart;
    if (attributes[i] == kOrdinal) {
      put(to[i], -2);
    } else if (wide && attributes[i] != kMapped) {
      put(to[i], std::uint64_t{0});
    } else {
      put(to[i], 0u);
    }
  }
  return CUDA_SUCCESS;
}
