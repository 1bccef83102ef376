// The emulated devices: what they can do, their memory, and who holds what of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../device_memory.h"
#include "api.h"
#include "settings.h"

namespace emulated {

class Context;

// What differs between generations.
struct Generation {
  int capability;  // 75, 80, ...; a device is of the last row that is not above it
  int multiprocessors, threads_per_multiprocessor, blocks_per_multiprocessor;
  int shared_per_multiprocessor, shared_per_block_optin, shared_reserved;  // bytes
  int l2_bytes, clock_khz, memory_clock_khz, memory_bus_bits;
};

const Generation& generation_of(int capability);

struct Pool;

// One piece of a device's memory that the driver has given out.
struct Holding {
  std::size_t bytes = 0;
  const Context* owner = nullptr;
  Pool* pool = nullptr;  // of memory allocated in the order of a stream
  bool pinned = false;   // memory of the host, which the device reaches at this address
  bool freeing = false;  // its end is in a stream's queue
};

// Memory of streams' order. Nothing is kept back: what the attributes say is remembered, and the peaks are counted.
struct Pool {
  int device = 0;
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};
  std::uint64_t used = 0, most_used = 0, most_reserved = 0;
};

struct Device {
  int ordinal = 0;
  DeviceSetting setting;
  const Generation* generation = nullptr;
  std::string name;
  CUuuid uuid{};
  std::unique_ptr<DeviceMemory> memory;
  Pool pool;           // the default one
  Pool* current_pool;  // of cuMemAllocAsync

  std::mutex lock;  // for what follows
  std::map<Address, Holding> holdings;
  std::size_t pinned_bytes = 0;
  std::shared_ptr<Context> primary;
  int retained = 0;
  unsigned primary_flags = 0;

  int capability() const { return setting.major * 10 + setting.minor; }
  Address allocate(std::size_t bytes, const Context* owner, Pool* pool, bool pinned);  // throws if there is no room
  void release(Address address);
  void release_all_of(const Context* owner);
  std::size_t free_bytes();
};

// All there are. Made by the first cuInit.
std::vector<std::unique_ptr<Device>>& devices();
void make_devices();
Device& device_at(CUdevice ordinal);
// The device whose range of addresses this is in; null for addresses of the host.
Device* device_of(Address address);

}  // namespace emulated
