// Who touched which bytes last: finds two threads that do so without anything that orders them, one of them writing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "stream_order.h"
#include "warp.h"

namespace emulated {

// A tag says who: launch, block, thread, and how many barriers of the block and of the warp came before. Of readers it
// may stand for several lanes of a warp, several warps, several blocks.
using Tag = std::uint64_t;
inline constexpr Tag kAtomicTag = 1, kManyThreads = 2, kManyWarps = 4, kManyBlocks = 8;
inline constexpr int kSyncShift = 4, kBarrierShift = 12, kThreadShift = 24, kBlockShift = 34, kLaunchShift = 54;
inline constexpr Tag kSyncBits = 0xff, kBarrierBits = 0xfff, kThreadBits = 0x3ff, kBlockBits = 0xfffff;

inline Tag with_bits(Tag tag, int shift, Tag bits, Tag value) {
  return (tag & ~(bits << shift)) | ((value & bits) << shift);
}
inline Tag next_sync(Tag tag) { return with_bits(tag, kSyncShift, kSyncBits, (tag >> kSyncShift) + 1); }

struct Cell {
  Tag writer = 0, reader = 0;
};

// Cells for words of 4 bytes, and for bytes where smaller pieces are accessed; made as they are needed.
class CellPages {
 public:
  static constexpr int kPageShift = 16;
  explicit CellPages(std::size_t bytes);
  ~CellPages();
  struct Found {
    Cell* word;
    Cell* bytes;  // from the byte on; null where no small pieces near it were ever accessed
  };
  Found at(std::size_t offset, bool bytes);
  Tag next_launch(Tag like = 0);  // the tag's bits of a new launch, or of more of that one

  // The same for work of a stream. `alone`: all that other streams have begun comes before it.
  struct Begun {
    Tag tag = 0;
    bool alone = true;
    std::uint64_t crowd = 0;
  };
  Begun begin(const StreamOrder& order, const std::string& what, bool wants_tag = true);
  // How often work began beside that of another stream: if it has become more, work that began alone no longer is.
  std::uint64_t crowd() const { return crowd_.load(std::memory_order_relaxed); }
  // Whether what has left the tag comes before the work, and what it was.
  bool comes_before(Tag earlier, const StreamOrder& order) const;
  std::string work_of(Tag tag) const;
  // A copy or a fill: false where nothing orders it and `other`, which touched the bytes before. `marks` them.
  bool touch(std::size_t offset, std::size_t bytes, bool writes, const Begun& begun, const StreamOrder& order,
             bool marks, std::string& other);

 private:
  struct Page;
  void forget();
  std::size_t count_;
  std::atomic<Page*>* pages_;
  struct Launched {
    std::size_t stream = 0;
    std::uint64_t count = 0;  // 0: of no stream
    std::string what;
  };
  Tag launch_ = 0;
  std::atomic<std::uint64_t> crowd_{0};
  std::vector<Launched> launched_{std::size_t{1} << (64 - kLaunchShift)};  // by the bits of a launch
  std::vector<std::uint64_t> begun_;                                       // by stream: the work begun last
  mutable std::mutex mutex_;
};

struct RaceAccess {
  Space space;
  Address address;
  int lane;
  bool writes, atomic;
  bool by_all;      // the lanes that run all read these bytes at once
  bool same_value;  // what is written is there already: that others write it as well does no harm
};

// Throws a Fault. `launch`: the tag's bits of the launch, or of the block for memory of its own.
void check_races(Warp& warp, CellPages& pages, Tag launch, std::size_t offset, unsigned bytes,
                 const RaceAccess& access);
// For lanes that all run and whose words lie one behind the other: whether there is nothing to find, and then it is
// done; else each lane is to be looked at.
bool check_row(Warp& warp, CellPages& pages, Tag launch, std::size_t offset, unsigned words_per_lane, bool writes);
// After a fence, or with one of its own, a strong access tells other blocks that all before is done; it may learn the
// same of them.
void publish(Warp& warp, bool releases);
Tag next_launch_tag(DeviceMemory& memory, Tag like = 0);

}  // namespace emulated
