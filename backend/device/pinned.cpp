// Blocks of pinned memory by powers of two.
#include "backend/device/pinned.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/device/context.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

struct PinnedBlock {
  char* at = nullptr;
  std::size_t bytes = 0;
  std::vector<std::pair<int, StreamNumber>> users;  // copies since it was handed out
  int awaited = 0;
};

struct Pinned {
  std::mutex lock;
  std::map<const char*, PinnedBlock> blocks;
  std::map<std::size_t, std::vector<PinnedBlock*>> free;
  std::deque<std::pair<Handle, PinnedBlock*>> waiting;

  PinnedBlock* containing(const void* host) {
    const auto* const p = static_cast<const char*>(host);
    auto after = blocks.upper_bound(p);
    if (after == blocks.begin()) return nullptr;
    PinnedBlock& b = std::prev(after)->second;
    return p < b.at + b.bytes ? &b : nullptr;
  }

  void look_at_events() {
    std::erase_if(waiting, [&](const auto& w) {
      if (driver().event_query(w.first) != 0) return false;
      driver().event_destroy(w.first);
      if (!--w.second->awaited) free[w.second->bytes].push_back(w.second);
      return true;
    });
  }

  void give_to_driver() {
    for (auto& [bytes, list] : free) {
      for (PinnedBlock* const b : list)
        if (driver().free_host(b->at) == 0) blocks.erase(b->at);
    }
    free.clear();
  }
};
Pinned& pinned_memory() {
  static auto* const pinned = new Pinned;
  return *pinned;
}

// Behind each stream that has copied.
void release_pinned(void*, std::size_t, void* context) {
  if (!is_usable()) return;
  Pinned& p = pinned_memory();
  const std::lock_guard guard(p.lock);
  auto* const b = static_cast<PinnedBlock*>(context);
  for (const auto& [device, stream] : std::exchange(b->users, {})) {
    constexpr unsigned kUntimed = 2;
    Handle event = nullptr;
    ++b->awaited;
    DeviceState* const state = device_in_use(device);
    if (!state || driver().context_set(state->context) || driver().event_create(&event, kUntimed)) continue;
    if (driver().event_record(event, state->streams->at(stream).handle) == 0) p.waiting.emplace_back(event, b);
  }
  if (!b->awaited) p.free[b->bytes].push_back(b);
}

}  // namespace

Ref<Storage> allocate_pinned(std::size_t bytes, int device) {
  use_device(device);
  Pinned& p = pinned_memory();
  const std::lock_guard guard(p.lock);
  p.look_at_events();
  if (bytes > (std::size_t{1} << 46))
    throw OpError(ErrorKind::DeviceMemory, "CUDA error: out of memory: " + std::to_string(bytes) +
                                               " bytes of pinned "
                                               "memory");
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 512));
  std::vector<PinnedBlock*>& free = p.free[size];
  if (free.empty()) {
    constexpr unsigned kForAllContexts = 1, kMapped = 2;
    void* at = nullptr;
    Code code = driver().allocate_host(&at, size, kForAllContexts | kMapped);
    if (code == kOutOfMemory) {
      p.give_to_driver();
      code = driver().allocate_host(&at, size, kForAllContexts | kMapped);
    }
    check(code, "cuMemHostAlloc", device);
    auto* const start = static_cast<char*>(at);
    p.free[size].push_back(&(p.blocks[start] = PinnedBlock{start, size, {}, 0}));
  }
  PinnedBlock* const b = p.free[size].back();
  p.free[size].pop_back();
  return make_ref<Storage>(b->at, bytes, release_pinned, b);
}

bool is_pinned(const void* host) {
  if (!is_usable()) return false;
  {
    Pinned& p = pinned_memory();
    const std::lock_guard guard(p.lock);
    if (p.containing(host)) return true;
  }
  constexpr int kMemoryType = 2, kOfHost = 1;
  int type = 0;
  if (!device_in_use(current_device())) return false;  // asking would make a context
  use_device(current_device());
  return driver().pointer_attribute(&type, kMemoryType, reinterpret_cast<Address>(host)) == 0 && type == kOfHost;
}

bool note_pinned_copy(const void* host, int device, StreamNumber stream) {
  Pinned& p = pinned_memory();
  const std::lock_guard guard(p.lock);
  PinnedBlock* const b = p.containing(host);
  if (!b) return false;
  const std::pair<int, StreamNumber> user(device, stream);
  if (std::ranges::find(b->users, user) == b->users.end()) b->users.push_back(user);
  return true;
}

void empty_pinned_cache() {
  Pinned& p = pinned_memory();
  const std::lock_guard guard(p.lock);
  p.look_at_events();
  p.give_to_driver();
}

}  // namespace md::device
