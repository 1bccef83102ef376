// Memory of one device, kept when tensors let go of it and handed out again in the order of streams: what was freed on
// a stream may be used by later work of that stream at once, since it runs after all that used it.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/device/driver.h"
#include "ir/tensor/device_runtime.h"

namespace md::device {

struct MemoryPool;

// A part of what the driver has given in one piece, its neighbours in order.
struct MemoryBlock {
  Address at = 0;
  std::size_t bytes = 0;
  StreamNumber stream = 0;
  MemoryPool* pool = nullptr;
  MemoryBlock *before = nullptr, *after = nullptr;
  bool taken = false;
  bool small = false;               // part of a piece for small blocks
  int awaited = 0;                  // events of other streams that still use it
  std::vector<StreamNumber> users;  // beside its own stream
};

struct BlockOrder {
  bool operator()(const MemoryBlock* a, const MemoryBlock* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->bytes != b->bytes) return a->bytes < b->bytes;
    return a->at < b->at;
  }
};
using FreeBlocks = std::set<MemoryBlock*, BlockOrder>;

// Of a captured graph, or (one for each device) of everything else.
struct MemoryPool {
  FreeBlocks small, large;
  int holders = 0;  // graphs that may still write to its blocks
};

class MemoryCache {
 public:
  MemoryCache(int device, std::size_t total) : device_(device), total_(total) {}
  MemoryCache(const MemoryCache&) = delete;

  // Throws OpError(DeviceMemory) with the sizes. The device is in use by the thread.
  MemoryBlock* allocate(std::size_t bytes, StreamNumber stream);
  void free(MemoryBlock* block) noexcept;
  void record_stream(Address at, StreamNumber stream);  // nothing if no block begins there

  void empty();  // waits for the device
  void set_fraction(double fraction);
  DeviceMemory statistics();
  void reset_peaks();

  // Until the end, what is allocated on the stream comes from a pool of its own, whose memory nobody else gets while
  // it is held. A pool made before may be given.
  MemoryPool* begin_capture(StreamNumber stream, MemoryPool* shared);
  MemoryPool* end_capture();                     // null: there was none
  void release_pool(MemoryPool* pool) noexcept;  // the graph does not run any more

  // For tests: throws InternalError if blocks overlap, or numbers do not add up.
  void verify();

 private:
  struct Waiting {
    Handle event;
    MemoryBlock* block;
  };
  FreeBlocks& free_blocks(MemoryBlock& b);
  MemoryBlock* take_free(MemoryPool& pool, std::size_t bytes, StreamNumber stream);
  MemoryBlock* take_fresh(MemoryPool& pool, std::size_t bytes, StreamNumber stream);
  void split(MemoryBlock* b, std::size_t bytes);
  MemoryBlock* merged(MemoryBlock* b);
  void put_back(MemoryBlock* b);
  void give_back(MemoryBlock* b);
  void wait_for_users(MemoryBlock* b);
  void look_at_events();
  void give_to_driver(MemoryPool& pool);
  void empty_locked();
  [[noreturn]] void refuse(std::size_t bytes);

  const int device_;
  const std::size_t total_;
  double fraction_ = 1;
  std::mutex lock_;
  MemoryPool usual_;
  std::list<MemoryPool> of_graphs_;
  MemoryPool* captured_ = nullptr;
  StreamNumber captured_stream_ = -1;
  std::vector<MemoryBlock*> freed_in_capture_;  // while events of a stream cannot be asked for
  std::unordered_map<Address, std::unique_ptr<MemoryBlock>> blocks_;
  std::unordered_map<Address, std::size_t> segments_;
  std::map<StreamNumber, std::deque<Waiting>> waiting_;
  std::vector<Handle> spare_events_;
  DeviceMemory numbers_;
};

// "20.00 GiB", "512 bytes"
std::string bytes_in_words(std::size_t bytes);

}  // namespace md::device
