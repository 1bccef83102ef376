// The memory of an emulated device: a range of addresses that are no addresses of this process, what is allocated of
// it, and which bytes somebody has written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cache_model.h"

namespace emulated {

using Address = std::uint64_t;

inline constexpr Address kDeviceBase = 0x7000'0000'0000;    // of device 0
inline constexpr Address kDeviceStride = 0x0080'0000'0000;  // from one device's range to the next one's: 512 GiB
inline constexpr std::size_t kAllocationAlignment = 512;

class CellPages;

struct Allocation {
  Address address = 0;
  std::size_t bytes = 0;
  bool freed = false;  // addresses stay unused for a while, so that uses after the end are seen
  bool contains(Address at, std::size_t size) const { return at >= address && at - address + size <= bytes; }
};

// Safe to use from several threads; what several of them do to the same bytes at once is theirs to order.
class DeviceMemory {
 public:
  DeviceMemory(Address base, std::size_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 0: the device has not that much left. `alignment` is a power of two.
  Address allocate(std::size_t bytes, std::size_t alignment = kAllocationAlignment);
  // False: no live allocation begins there.
  bool release(Address address);
  void set_capacity(std::size_t bytes) { capacity_ = bytes; }
  std::size_t capacity() const { return capacity_; }
  std::size_t used() const { return used_; }

  bool in_range(Address address) const { return address >= base_ && address < base_ + range_; }
  // The allocation, live or freed, that the address lies in.
  std::optional<Allocation> find(Address address) const;
  // The live or freed one nearest to it, for messages.
  std::optional<Allocation> nearest(Address address) const;
  // All the bytes lie in one live allocation.
  bool is_live(Address address, std::size_t bytes) const;
  std::vector<Allocation> live() const;
  // Counts releases: what a kernel remembers of allocations holds while this stays.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Copies and fills: false, and nothing done, unless all bytes lie in one live allocation.
  bool write(Address to, const void* from, std::size_t bytes);
  bool read(void* to, Address from, std::size_t bytes) const;
  bool copy(Address to, Address from, std::size_t bytes, DeviceMemory* of = nullptr);  // of: the memory `from` is of
  bool fill(Address to, std::uint32_t pattern, std::size_t width, std::size_t count);  // width: 1, 2 or 4 bytes
  bool is_written(Address address, std::size_t bytes) const;

  // Who accessed what, for the checks of races.
  CellPages& cells() { return *cells_; }
  CacheModel& cache() { return cache_; }
  std::size_t offset(Address address) const { return address - base_; }

  // Where the bytes lie in this process, and the byte for each that tells whether it was written (1) or not (0).
  std::byte* host(Address address) const { return data_ + (address - base_); }
  std::uint8_t* written(Address address) const { return written_ + (address - base_); }

 private:
  std::optional<Address> unused(std::size_t bytes, std::size_t alignment);
  void forget_oldest();

  Address base_;
  std::size_t capacity_, range_, used_ = 0;
  std::size_t next_ = 0, quarantined_ = 0;
  std::byte* data_ = nullptr;
  std::uint8_t* written_ = nullptr;
  std::map<Address, Allocation> allocations_;  // live and freed
  std::vector<Address> freed_;                 // oldest first
  std::map<Address, std::size_t> gaps_;        // ranges that may be used again
  std::unique_ptr<CellPages> cells_;
  CacheModel cache_{CacheModel::bytes_from_environment()};
  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace emulated
