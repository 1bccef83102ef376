// Finds accesses that nothing orders.
#include "races.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "memory_access.h"

namespace emulated {

struct CellPages::Page {
  static constexpr std::size_t kWords = (std::size_t{1} << kPageShift) / 4;
  Cell words[kWords];
  std::atomic<Cell*> bytes{nullptr};
  ~Page() { delete[] bytes.load(); }
};

CellPages::CellPages(std::size_t bytes)
    : count_((bytes >> kPageShift) + 1),
      pages_(static_cast<std::atomic<Page*>*>(std::calloc(count_, sizeof(std::atomic<Page*>)))) {  // zeros, untouched
  if (!pages_) throw std::bad_alloc();
}

CellPages::~CellPages() {
  for (std::size_t i = 0; i < count_; ++i) delete pages_[i].load();
  std::free(pages_);
}

// The pages stay: launches of other streams may be looking at them.
void CellPages::forget() {
  for (std::size_t i = 0; i < count_; ++i) {
    Page* page = pages_[i].load();
    if (!page) continue;
    std::fill(page->words, page->words + Page::kWords, Cell{});
    if (Cell* cells = page->bytes.load()) std::fill(cells, cells + Page::kWords * 4, Cell{});
  }
}

namespace {

// One that several threads may ask for at once: whoever is first makes it.
template <class T, class Make>
T* made_once(std::atomic<T*>& kept, Make make, void (*drop)(T*)) {
  T* found = kept.load(std::memory_order_acquire);
  if (found) return found;
  T* made = make();
  if (kept.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  drop(made);
  return found;
}

bool beside_others(const Launch& launch) {
  return launch.order && (!launch.alone || launch.memory.cells().crowd() != launch.crowd);
}

// Of two that put their tags down at the same time, each before it looks, one sees the other. Work that is alone need
// not wait for other processors.
Tag exchanged(Tag& at, Tag tag, bool alone) {
  return alone ? std::exchange(at, tag) : std::atomic_ref(at).exchange(tag);
}
Tag seen(Tag& at) { return std::atomic_ref(at).load(); }

Tag block_of(Tag tag) { return tag >> kBlockShift & kBlockBits; }

bool published(const Warp& warp, Tag earlier) {
  const auto& released = warp.launch->released;
  std::uint64_t block = block_of(earlier);
  return warp.block->acquired && !(earlier & kManyBlocks) && block < released.size() && released[block].load();
}

// Of another launch: true if the streams order the two, or nobody asks.
bool launches_ordered(const Warp& warp, Tag earlier, Space space) {
  if (space != Space::kGlobal || !beside_others(*warp.launch)) [[likely]]
    return true;
  return warp.launch->memory.cells().comes_before(earlier, *warp.launch->order);
}

// Whether an earlier access by `earlier` cannot be at the same time as one by `now`.
bool ordered(const Warp& warp, Tag earlier, Tag now, Space space) {
  Tag differs = earlier ^ now;
  if (earlier & now & kAtomicTag) return true;
  if (differs >> kLaunchShift) return launches_ordered(warp, earlier, space);
  if (differs >> kBlockShift & kBlockBits || earlier & kManyBlocks) return published(warp, earlier);
  if (differs >> kBarrierShift & kBarrierBits) return true;
  if (earlier & kManyWarps) return false;
  Tag threads = differs >> kThreadShift & kThreadBits;
  if (!threads && !((earlier | now) & kManyThreads)) return true;
  return threads < kLanes && (differs >> kSyncShift & kSyncBits);
}

Tag with_reader(Tag old, Tag now) {
  Tag differs = old ^ now;
  if (differs >> kLaunchShift) return now;
  Tag both = (now & ~kAtomicTag) | (old & now & kAtomicTag) | (old & (kManyBlocks | kManyWarps));
  if (differs >> kBlockShift & kBlockBits) return both | kManyBlocks;
  if (differs >> kBarrierShift & kBarrierBits) return now | (old & kManyBlocks);
  Tag threads = differs >> kThreadShift & kThreadBits;
  if (threads >= kLanes) return both | kManyWarps;
  if (differs >> kSyncShift & kSyncBits) return now | (old & (kManyBlocks | kManyWarps));
  return both | (threads || old & kManyThreads ? kManyThreads : 0);
}

[[noreturn]] void fail_race(Warp& warp, const RaceAccess& access, Tag earlier, bool earlier_writes) {
  std::string_view what = access.writes ? "a write" : "a read";
  std::string_view other = earlier_writes ? "written" : "read";
  if ((earlier ^ warp.tag) >> kLaunchShift && access.space == Space::kGlobal)
    warp.fail(kLaunchFailed, "race of streams",
              fmt::format("{} of bytes that were {} by {}, and stream {} does not wait for it, at {}", what, other,
                          warp.launch->memory.cells().work_of(earlier), warp.launch->order->stream,
                          described(warp, access.space, access.address)),
              access.lane);
  std::string who;
  if (earlier & kManyBlocks || (earlier ^ warp.tag) >> kBlockShift & kBlockBits)
    who = fmt::format("by another block (number {})", block_of(earlier));
  else
    who = fmt::format("by another thread of the block (number {})", earlier >> kThreadShift & kThreadBits);
  warp.fail(kLaunchFailed, "race",
            fmt::format("{} of bytes that were {} {} with nothing that orders the two, at {}", what, other, who,
                        described(warp, access.space, access.address)),
            access.lane);
}

void check_write(Warp& warp, Cell& cell, Tag now, const RaceAccess& access, bool keeps) {
  const bool alone = !beside_others(*warp.launch);
  const Tag writer = keeps ? exchanged(cell.writer, now, alone) : seen(cell.writer), reader = seen(cell.reader);
  if (!access.same_value && !ordered(warp, writer, now, access.space)) fail_race(warp, access, writer, true);
  if (!ordered(warp, reader, now, access.space)) fail_race(warp, access, reader, false);
}

void check_read(Warp& warp, Cell& cell, Tag now, const RaceAccess& access, bool keeps) {
  // A reader of another stream that may still be at it stays: it matters to who writes.
  const Tag reader = seen(cell.reader);
  const bool other = (reader ^ now) >> kLaunchShift;
  if (keeps && !(other && !launches_ordered(warp, reader, access.space)))
    exchanged(cell.reader, with_reader(reader, now), !beside_others(*warp.launch));
  const Tag writer = seen(cell.writer);
  if (!ordered(warp, writer, now, access.space)) fail_race(warp, access, writer, true);
}

void check_cell(Warp& warp, Cell& cell, Tag now, const RaceAccess& access, bool keeps) {
  if (access.writes)
    check_write(warp, cell, now, access, keeps);
  else
    check_read(warp, cell, now, access, keeps);
}

}  // namespace

CellPages::Found CellPages::at(std::size_t offset, bool bytes) {
  Page* page = made_once<Page>(pages_[offset >> kPageShift], [] { return new Page; }, [](Page* one) { delete one; });
  std::size_t within = offset & ((std::size_t{1} << kPageShift) - 1);
  Cell* cells = page->bytes.load(std::memory_order_acquire);
  if (bytes && !cells)
    cells = made_once<Cell>(page->bytes, [] { return new Cell[Page::kWords * 4]; }, [](Cell* all) { delete[] all; });
  return {&page->words[within / 4], cells ? cells + within : nullptr};
}

void check_races(Warp& warp, CellPages& pages, Tag launch, std::size_t offset, unsigned bytes,
                 const RaceAccess& access) {
  Tag own = warp.tag & ((Tag{1} << kLaunchShift) - 1);
  Tag now = (own | launch) + (static_cast<Tag>(access.lane) << kThreadShift) + (access.atomic ? kAtomicTag : 0) +
            (access.by_all ? kManyThreads : 0);
  if (bytes < 4) {
    CellPages::Found found = pages.at(offset, true);
    check_cell(warp, *found.word, now, access, false);
    for (unsigned byte = 0; byte < bytes; ++byte) check_cell(warp, found.bytes[byte], now, access, true);
    return;
  }
  for (unsigned word = 0; word < bytes; word += 4) {
    CellPages::Found found = pages.at(offset + word, false);
    check_cell(warp, *found.word, now, access, true);
    for (unsigned byte = 0; found.bytes && byte < 4; ++byte) check_cell(warp, found.bytes[byte], now, access, false);
  }
}

namespace {

// Of another launch, by the same thread, or with a barrier of the block between: what most accesses are.
bool plainly_ordered(Tag earlier, Tag now) {
  Tag differs = earlier ^ now;
  bool other_launch = differs >> kLaunchShift;
  bool same_block = !(differs >> kBlockShift & kBlockBits) && !(earlier & kManyBlocks);
  bool same_thread = !(differs >> kThreadShift & kThreadBits) && !(earlier & (kManyThreads | kManyWarps));
  bool of_launch = same_block & (same_thread | bool(differs >> kBarrierShift & kBarrierBits));
  return other_launch | of_launch;
}

}  // namespace

bool check_row(Warp& warp, CellPages& pages, Tag launch, std::size_t offset, unsigned words_per_lane, bool writes) {
  std::size_t count = std::size_t{kLanes} * words_per_lane;
  if ((offset ^ (offset + 4 * count - 1)) >> CellPages::kPageShift) return false;
  CellPages::Found found = pages.at(offset, false);
  if (found.bytes) return false;
  Tag own = (warp.tag & ((Tag{1} << kLaunchShift) - 1)) | launch, step = Tag{1} << kThreadShift;
  if (&pages == &warp.launch->memory.cells() && beside_others(*warp.launch)) return false;
  bool free = true;
  Tag now = own;
  for (std::size_t word = 0; word < count; now += step)
    for (std::size_t end = word + words_per_lane; word < end; ++word) {
      free &= plainly_ordered(found.word[word].writer, now);
      if (writes) free &= plainly_ordered(found.word[word].reader, now);
    }
  if (!free) return false;
  now = own;
  for (std::size_t word = 0; word < count; now += step)
    for (std::size_t end = word + words_per_lane; word < end; ++word) {
      if (writes)
        found.word[word].writer = now;
      else
        found.word[word].reader = with_reader(found.word[word].reader, now);
    }
  return true;
}

void publish(Warp& warp, bool releases) {
  Block& block = *warp.block;
  block.fenced |= releases;
  if (block.fenced && block.number < warp.launch->released.size()) warp.launch->released[block.number] = 1;
  block.acquired = true;
}

Tag next_launch_tag(DeviceMemory& memory, Tag like) { return memory.cells().next_launch(like); }

Tag CellPages::next_launch(Tag like) {
  std::lock_guard lock(mutex_);
  if (++launch_ >> (64 - kLaunchShift)) {
    forget();
    launch_ = 1;
  }
  launched_[launch_] = launched_[like >> kLaunchShift];
  return launch_ << kLaunchShift;
}

CellPages::Begun CellPages::begin(const StreamOrder& order, const std::string& what, bool wants_tag) {
  Begun made;
  if (wants_tag) made.tag = next_launch();
  const std::lock_guard lock(mutex_);
  if (begun_.size() <= order.stream) begun_.resize(order.stream + 1);
  for (std::size_t s = 0; s < begun_.size(); ++s) made.alone = made.alone && order.comes_after(s, begun_[s]);
  if (!made.alone) ++crowd_;
  made.crowd = crowd_;
  begun_[order.stream] = std::max(begun_[order.stream], order.count);
  if (wants_tag) launched_[made.tag >> kLaunchShift] = {order.stream, order.count, what};
  return made;
}

bool CellPages::comes_before(Tag earlier, const StreamOrder& order) const {
  if (!earlier) return true;
  const std::lock_guard lock(mutex_);
  const Launched& one = launched_[earlier >> kLaunchShift];
  return !one.count || order.comes_after(one.stream, one.count);
}

std::string CellPages::work_of(Tag tag) const {
  const std::lock_guard lock(mutex_);
  const Launched& one = launched_[tag >> kLaunchShift];
  return fmt::format("{} of stream {}", one.what, one.stream);
}

bool CellPages::touch(std::size_t offset, std::size_t bytes, bool writes, const Begun& begun, const StreamOrder& order,
                      bool marks, std::string& other) {
  const auto is_alone = [&] { return begun.alone && crowd() == begun.crowd; };
  const auto is_before = [&](Tag earlier) {
    return is_alone() || earlier == begun.tag || comes_before(earlier, order);
  };
  const auto look = [&](Cell& cell, bool keeps) {
    Tag reader = seen(cell.reader);
    // Another reader that may still be at it matters more.
    if (marks && keeps && !writes && is_before(reader)) exchanged(cell.reader, begun.tag, is_alone());
    const Tag writer = marks && keeps && writes ? exchanged(cell.writer, begun.tag, is_alone()) : seen(cell.writer);
    if (writes) reader = seen(cell.reader);
    for (const Tag earlier : {writer, writes ? reader : 0}) {
      if (is_before(earlier)) continue;
      other = work_of(earlier);
      return false;
    }
    return true;
  };
  for (std::size_t at = offset & ~std::size_t{3}; at < offset + bytes; at += 4) {
    const bool whole = at >= offset && at + 4 <= offset + bytes;
    const Found found = this->at(at, !whole);
    if (!look(*found.word, whole)) return false;
    for (std::size_t byte = 0; found.bytes && byte < 4; ++byte)
      if (at + byte >= offset && at + byte < offset + bytes && !look(found.bytes[byte], true)) return false;
  }
  return true;
}

}  // namespace emulated
