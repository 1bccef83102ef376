// Allocations, copies and fills of an emulated device's memory.
#include "device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "races.h"

namespace emulated {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

void* reserve(std::size_t bytes) {
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  return made;
}

// Gives whole pages back, which then read as zeros; zeros the rest.
void clear(void* begin, std::size_t bytes) {
  auto first = reinterpret_cast<std::uintptr_t>(begin), last = first + bytes;
  auto from = rounded_up(first, kPage), to = last / kPage * kPage;
  if (from >= to) {
    std::memset(begin, 0, bytes);
    return;
  }
  std::memset(begin, 0, from - first);
  madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(to), 0, last - to);
}

}  // namespace

DeviceMemory::DeviceMemory(Address base, std::size_t capacity)
    : base_(base), capacity_(capacity), range_(rounded_up(2 * capacity + (std::size_t{1} << 30), kPage)) {
  data_ = static_cast<std::byte*>(reserve(range_));
  written_ = static_cast<std::uint8_t*>(reserve(range_));
  cells_ = std::make_unique<CellPages>(range_);
}

DeviceMemory::~DeviceMemory() {
  munmap(data_, range_);
  munmap(written_, range_);
}

// A place for `bytes` with a gap behind it that nothing is ever in.
std::optional<Address> DeviceMemory::unused(std::size_t bytes, std::size_t alignment) {
  std::size_t taken = rounded_up(bytes, kAllocationAlignment) + kAllocationAlignment;
  std::size_t begin = rounded_up(next_, alignment);
  if (begin + taken <= range_) {
    next_ = begin + taken;
    return base_ + begin;
  }
  for (auto& [address, size] : gaps_) {
    Address at = rounded_up(address, alignment);
    if (at + taken > address + size) continue;
    std::size_t behind = address + size - (at + taken), before = at - address;
    Address gap = address;
    gaps_.erase(gap);
    if (before) gaps_[gap] = before;
    if (behind) gaps_[at + taken] = behind;
    return at;
  }
  return std::nullopt;
}

// The oldest of the freed allocations leaves quarantine.
void DeviceMemory::forget_oldest() {
  auto found = allocations_.find(freed_.front());
  std::size_t taken = rounded_up(found->second.bytes, kAllocationAlignment) + kAllocationAlignment;
  Address begin = found->first;
  quarantined_ -= taken;
  freed_.erase(freed_.begin());
  allocations_.erase(found);
  auto next = gaps_.lower_bound(begin);
  if (next != gaps_.end() && next->first == begin + taken) {
    taken += next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin() && std::prev(next)->first + std::prev(next)->second == begin)
    std::prev(next)->second += taken;
  else
    gaps_[begin] = taken;
}

Address DeviceMemory::allocate(std::size_t bytes, std::size_t alignment) {
  std::lock_guard lock(mutex_);
  if (bytes > capacity_ || used_ > capacity_ - bytes) return 0;
  auto place = unused(bytes, std::max(alignment, kAllocationAlignment));
  while (!place && !freed_.empty()) {
    forget_oldest();
    place = unused(bytes, std::max(alignment, kAllocationAlignment));
  }
  if (!place) return 0;
  allocations_[*place] = {*place, bytes, false};
  used_ += bytes;
  return *place;
}

bool DeviceMemory::release(Address address) {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.freed) return false;
  found->second.freed = true;
  used_ -= found->second.bytes;
  generation_.fetch_add(1, std::memory_order_release);
  freed_.push_back(address);
  quarantined_ += rounded_up(found->second.bytes, kAllocationAlignment) + kAllocationAlignment;
  clear(host(address), found->second.bytes);
  clear(written(address), found->second.bytes);
  while (freed_.size() > 4096) forget_oldest();
  return true;
}

std::optional<Allocation> DeviceMemory::find(Address address) const {
  std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return std::nullopt;
  const Allocation& before = std::prev(after)->second;
  if (!before.contains(address, 1)) return std::nullopt;
  return before;
}

std::optional<Allocation> DeviceMemory::nearest(Address address) const {
  std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (allocations_.empty()) return std::nullopt;
  if (after == allocations_.begin()) return after->second;
  const Allocation& before = std::prev(after)->second;
  if (after == allocations_.end() || before.contains(address, 1)) return before;
  Address end = before.address + before.bytes;
  return address - std::min(address, end) <= after->first - address ? before : after->second;
}

bool DeviceMemory::is_live(Address address, std::size_t bytes) const {
  auto found = find(address);
  return found && !found->freed && found->contains(address, bytes);
}

std::vector<Allocation> DeviceMemory::live() const {
  std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  for (const auto& [address, allocation] : allocations_)
    if (!allocation.freed) all.push_back(allocation);
  return all;
}

bool DeviceMemory::write(Address to, const void* from, std::size_t bytes) {
  if (!bytes) return true;
  if (!is_live(to, bytes)) return false;
  std::memcpy(host(to), from, bytes);
  std::memset(written(to), 1, bytes);
  return true;
}

bool DeviceMemory::read(void* to, Address from, std::size_t bytes) const {
  if (!bytes) return true;
  if (!is_live(from, bytes)) return false;
  std::memcpy(to, host(from), bytes);
  return true;
}

bool DeviceMemory::copy(Address to, Address from, std::size_t bytes, DeviceMemory* of) {
  const DeviceMemory& source = of ? *of : *this;
  if (!bytes) return true;
  if (!is_live(to, bytes) || !source.is_live(from, bytes)) return false;
  std::memmove(host(to), source.host(from), bytes);
  std::memmove(written(to), source.written(from), bytes);
  return true;
}

bool DeviceMemory::fill(Address to, std::uint32_t pattern, std::size_t width, std::size_t count) {
  if (!count) return true;
  if (!is_live(to, width * count)) return false;
  std::byte* at = host(to);
  std::size_t bytes = width * count, done = std::min(bytes, width * 1024);
  for (std::size_t i = 0; i < done; i += width) std::memcpy(at + i, &pattern, width);
  for (std::size_t more; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    std::memcpy(at + done, at, more);
  }
  std::memset(written(to), 1, bytes);
  return true;
}

bool DeviceMemory::is_written(Address address, std::size_t bytes) const {
  const std::uint8_t* first = written(address);
  return std::all_of(first, first + bytes, [](std::uint8_t byte) { return byte != 0; });
}

}  // namespace emulated
