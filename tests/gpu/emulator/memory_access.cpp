// Bounds, alignment, bytes never written, and counts of the accesses of a warp.
#include "memory_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace emulated {
namespace {

constexpr unsigned kSector = kSectorBytes, kBanks = 32;

// The least and the greatest address of the lanes that run, and whether these lie one behind the other.
struct Bounds {
  Address low = ~Address{0}, high = 0, misaligned = 0;
  bool contiguous = false;
};

Bounds bounds_of(const Warp& warp, const Addresses& at, unsigned bytes) {
  Bounds found;
  if (warp.full()) {
    std::uint64_t differs = 0;
    for (int lane = 0; lane < kLanes; ++lane) differs |= at[lane] ^ (at[0] + static_cast<unsigned>(lane) * bytes);
    if (!differs) {
      found.low = at[0];
      found.high = at[kLanes - 1];
      found.misaligned = at[0] & (bytes - 1);
      found.contiguous = true;
      return found;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    found.low = std::min(found.low, at[lane]);
    found.high = std::max(found.high, at[lane]);
    found.misaligned |= at[lane] & (bytes - 1);
  }
  return found;
}

// The sectors that are touched, each once. An access lies in one: it is no wider, and a multiple of its size.
struct Sectors {
  Address each[kLanes];
  std::size_t count = 0;
};

void find_sectors(const Warp& warp, const Addresses& at, const Bounds& bounds, unsigned bytes, Sectors& found) {
  Address first = bounds.low / kSector, last = (bounds.high + bytes - 1) / kSector;
  if (bounds.contiguous) {
    for (Address one = first; one <= last; ++one) found.each[found.count++] = one;
    return;
  }
  if (last - first < 64) {
    std::uint64_t seen = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      if (warp.runs(lane)) seen |= std::uint64_t{1} << (at[lane] / kSector - first);
    for (; seen; seen &= seen - 1) found.each[found.count++] = first + static_cast<unsigned>(std::countr_zero(seen));
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane)) found.each[found.count++] = at[lane] / kSector;
  std::sort(found.each, found.each + found.count);
  found.count = static_cast<std::size_t>(std::unique(found.each, found.each + found.count) - found.each);
}

// Further passes over the banks of shared memory: words of one bank that differ.
std::uint64_t conflicts(const Warp& warp, const Addresses& at, unsigned bytes) {
  unsigned words = std::max(bytes / 4, 1u), lanes_at_once = kLanes / words;
  std::uint64_t further = 0;
  for (unsigned begin = 0; begin < kLanes; begin += lanes_at_once) {
    Address seen[kBanks][kLanes];
    unsigned count[kBanks] = {}, most = 0;
    for (unsigned lane = begin; lane < begin + lanes_at_once; ++lane) {
      if (!warp.runs(static_cast<int>(lane))) continue;
      for (unsigned word = 0; word < words; ++word) {
        Address own = at[lane] / 4 + word;
        unsigned bank = own % kBanks;
        if (std::find(seen[bank], seen[bank] + count[bank], own) != seen[bank] + count[bank]) continue;
        seen[bank][count[bank]++] = own;
        most = std::max(most, count[bank]);
      }
    }
    further += most > 1 ? most - 1 : 0;
  }
  return further;
}

int first_lane(const Warp& warp, const Addresses& at, auto is_wrong) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane) && is_wrong(at[lane])) return lane;
  return -1;
}

std::string_view done_by(AccessKind kind) {
  return kind == AccessKind::kLoad ? "a read" : kind == AccessKind::kStore ? "a write" : "an atomic operation";
}

[[noreturn]] void fail_bounds(const Warp& warp, Space space, Address at, unsigned bytes, AccessKind kind, int lane) {
  bool freed = false;
  if (space == Space::kGlobal)
    if (auto found = warp.launch->memory.find(at)) freed = found->freed;
  warp.fail(kIllegalAddress, freed ? "use after free" : "out of bounds",
            fmt::format("{} of {} bytes at {}", done_by(kind), bytes, described(warp, space, at)), lane);
}

void check_device(Warp& warp, const Addresses& at, const Bounds& bounds, unsigned bytes, AccessKind kind) {
  DeviceMemory& memory = warp.launch->memory;
  if (bounds.low >= warp.cached_begin && bounds.high + bytes <= warp.cached_end &&
      warp.cached_generation == memory.generation())
    return;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    if (at[lane] >= warp.cached_begin && at[lane] + bytes <= warp.cached_end &&
        warp.cached_generation == memory.generation())
      continue;
    std::uint64_t generation = memory.generation();
    auto found = memory.find(at[lane]);
    if (!found || found->freed || !found->contains(at[lane], bytes))
      fail_bounds(warp, Space::kGlobal, at[lane], bytes, kind, lane);
    warp.cached_begin = found->address;
    warp.cached_end = found->address + found->bytes;
    warp.cached_generation = generation;
  }
}

void check_small(Warp& warp, const Addresses& at, Space space, const Bounds& bounds, std::size_t size, unsigned bytes,
                 AccessKind kind) {
  if (bounds.high < size && bounds.high + bytes <= size) return;
  int lane = first_lane(warp, at, [&](Address one) { return one >= size || one + bytes > size; });
  fail_bounds(warp, space, at[lane], bytes, kind, lane);
}

void count_access(Warp& warp, const Addresses& at, Space space, const Bounds& bounds, unsigned bytes, AccessKind kind) {
  Counters& counters = warp.counters;
  auto lanes = static_cast<std::uint64_t>(std::popcount(warp.mask));
  if (kind == AccessKind::kAtomic) counters.atomics += lanes;
  if (space == Space::kShared) {
    ++counters.shared_accesses;
    if (!bounds.contiguous && warp.launch->checks.counters) counters.shared_conflicts += conflicts(warp, at, bytes);
  } else if (space == Space::kLocal) {
    ++counters.local_accesses;
  } else if (space == Space::kGlobal && warp.launch->checks.counters) {
    Sectors touched;
    find_sectors(warp, at, bounds, bytes, touched);
    bool load = kind == AccessKind::kLoad;
    (load ? counters.global_loads : counters.global_stores) += 1;
    (load ? counters.global_load_bytes : counters.global_store_bytes) += lanes * bytes;
    (load ? counters.global_load_sectors : counters.global_store_sectors) += touched.count;
    if (!warp.launch->checks.traffic) return;
    CacheModel& cache = warp.launch->memory.cache();
    const CacheModel::Traffic made = load                         ? cache.load(touched.each, touched.count)
                                     : kind == AccessKind::kStore ? cache.store(touched.each, touched.count)
                                                                  : cache.exchange(touched.each, touched.count);
    counters.memory_load_sectors += made.read;
    counters.memory_store_sectors += made.written;
  }
}

}  // namespace

std::string described(const Warp& warp, Space space, Address at) {
  if (space == Space::kShared)
    return fmt::format("0x{:x} of shared memory, of which the block has {} bytes", at, warp.launch->shared_bytes);
  if (space == Space::kLocal)
    return fmt::format("0x{:x} of local memory, of which the thread has {} bytes", at, warp.launch->local_end);
  if (space == Space::kParam)
    return fmt::format("0x{:x} of the parameters, which have {} bytes", at, warp.launch->parameters.size());
  auto near = warp.launch->memory.nearest(at);
  if (!near) return fmt::format("0x{:x}, where nothing is allocated", at);
  std::string_view state = near->freed ? "freed" : "live";
  if (near->contains(at, 1))
    return fmt::format("0x{:x}, {} bytes into the {} allocation 0x{:x} of {} bytes", at, at - near->address, state,
                       near->address, near->bytes);
  if (at > near->address)
    return fmt::format("0x{:x}, {} bytes behind the end of the {} allocation 0x{:x} of {} bytes", at,
                       at - near->address - near->bytes, state, near->address, near->bytes);
  return fmt::format("0x{:x}, {} bytes before the {} allocation 0x{:x} of {} bytes", at, near->address - at, state,
                     near->address, near->bytes);
}

void addresses_in(Warp& warp, Row row, bool narrow, std::int64_t offset, Addresses& at) {
  auto moved = static_cast<Address>(offset);
  if (narrow) {
    const auto* base = warp.at<std::uint32_t>(row);
    for (int lane = 0; lane < kLanes; ++lane) at[lane] = static_cast<std::uint32_t>(base[lane] + moved);
    return;
  }
  const auto* base = warp.at<std::uint64_t>(row);
  for (int lane = 0; lane < kLanes; ++lane) at[lane] = base[lane] + moved;
}

void addresses_of(Warp& warp, const Instruction& i, Addresses& at) {
  std::int64_t offset = i.offset;
  if (i.flags & kOfFrame) offset += warp.frames[static_cast<std::size_t>(warp.frame)].local_base;
  addresses_in(warp, i.a, i.flags & kNarrowAddress, offset, at);
}

Space generic_space(Warp& warp, Addresses& at) {
  int first = std::countr_zero(warp.mask);
  static constexpr std::pair<Address, Space> kWindows[] = {
      {kSharedWindow, Space::kShared}, {kLocalWindow, Space::kLocal}, {kParameterWindow, Space::kParam}};
  auto in = [](Address address, Address window) { return address >= window && address < window + kWindowBytes; };
  for (auto [window, space] : kWindows) {
    if (!in(at[first], window)) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!in(at[lane], window)) warp.mask &= ~(1u << lane);
      at[lane] -= window;
    }
    return space;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (auto [window, space] : kWindows)
      if (in(at[lane], window)) warp.mask &= ~(1u << lane);
  return Space::kGlobal;
}

void locate(Warp& warp, const Addresses& at, Space space, unsigned bytes, AccessKind kind, Place& place) {
  if (space == Space::kConst) space = Space::kGlobal;
  place.space = space;
  Bounds bounds = bounds_of(warp, at, bytes);
  place.contiguous = bounds.contiguous;
  if (bounds.misaligned) {
    int lane = first_lane(warp, at, [&](Address one) { return one & (bytes - 1); });
    warp.fail(kMisalignedAddress, "misaligned",
              fmt::format("{} of {} bytes at {}, which is no multiple of {}", done_by(kind), bytes,
                          described(warp, space, at[lane]), bytes),
              lane);
  }
  if (warp.launch->checks.counters || space != Space::kGlobal) count_access(warp, at, space, bounds, bytes, kind);
  SmallMemory* small = space == Space::kShared ? &warp.block->shared : &warp.local;
  if (space == Space::kGlobal) {
    check_device(warp, at, bounds, bytes, kind);
    DeviceMemory& memory = warp.launch->memory;
    for (int lane = 0; lane < kLanes; ++lane) {
      place.data[lane] = memory.host(at[lane]);
      place.written[lane] = memory.written(at[lane]);
    }
  } else if (space == Space::kParam) {
    check_small(warp, at, space, bounds, warp.launch->parameters.size(), bytes, kind);
    if (kind != AccessKind::kLoad) warp.fail(kIllegalAddress, "out of bounds", "a write to the parameters of a kernel");
    for (int lane = 0; lane < kLanes; ++lane) {
      place.data[lane] = warp.launch->parameters.data() + at[lane];
      place.written[lane] = nullptr;
    }
  } else {
    bool local = space == Space::kLocal;
    check_small(warp, at, space, bounds, local ? warp.launch->local_end : warp.launch->shared_bytes, bytes, kind);
    for (int lane = 0; lane < kLanes; ++lane) {
      std::size_t offset = at[lane] + (local ? static_cast<std::size_t>(lane) * warp.local_stride : 0);
      place.data[lane] = small->data.data() + offset;
      place.written[lane] = small->written.data() + offset;
    }
    if (local) place.contiguous = false;
  }
}

void check_written(Warp& warp, const Addresses& at, const Place& place, unsigned bytes) {
  if (!warp.launch->checks.uninitialised || place.space == Space::kParam) return;
  if (place.contiguous && !std::memchr(place.written[0], 0, std::size_t{kLanes} * bytes)) return;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane) && std::memchr(place.written[lane], 0, bytes))
      warp.fail(
          kLaunchFailed, "uninitialised read",
          fmt::format("a read of {} bytes that nobody wrote, at {}", bytes, described(warp, place.space, at[lane])),
          lane);
}

namespace {

// The cells of what is accessed, with the tag's bits and the place among them.
struct Cells {
  CellPages& pages;
  Tag launch;
  std::size_t offset;
};

Cells cells_of(Warp& warp, Space space, Address at) {
  if (space == Space::kShared) return {*warp.block->shared_cells, warp.block->shared_tag, at};
  return {warp.launch->memory.cells(), warp.tag >> kLaunchShift << kLaunchShift, warp.launch->memory.offset(at)};
}

bool is_watched(const Place& place) { return place.space == Space::kGlobal || place.space == Space::kShared; }

}  // namespace

void check_lane(Warp& warp, const Addresses& at, const Place& place, unsigned bytes, int lane, bool writes, bool atomic,
                const void* value) {
  if (!is_watched(place)) return;
  Cells cells = cells_of(warp, place.space, at[lane]);
  bool same = value && !std::memcmp(place.data[lane], value, bytes);
  check_races(warp, cells.pages, cells.launch, cells.offset, bytes,
              {place.space, at[lane], lane, writes, atomic, false, same});
}

void check_reads(Warp& warp, const Addresses& at, const Place& place, unsigned bytes, bool atomic) {
  if (!is_watched(place)) return;
  int first = std::countr_zero(warp.mask);
  Cells cells = cells_of(warp, place.space, at[first]);
  if (place.contiguous && !atomic && bytes >= 4 &&
      check_row(warp, cells.pages, cells.launch, cells.offset, bytes / 4, false))
    return;
  std::uint64_t differs = 0;
  for (int lane = 0; lane < kLanes; ++lane) differs |= warp.runs(lane) ? at[lane] ^ at[first] : 0;
  bool alone = (warp.mask & (warp.mask - 1)) == 0;
  if (!differs && !alone)
    return check_races(warp, cells.pages, cells.launch, cells.offset, bytes,
                       {place.space, at[first], first, false, atomic, true, false});
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane)) check_lane(warp, at, place, bytes, lane, false, atomic, nullptr);
}

bool check_row_of_writes(Warp& warp, const Addresses& at, const Place& place, unsigned bytes) {
  if (!is_watched(place)) return true;
  if (bytes < 4) return false;
  Cells cells = cells_of(warp, place.space, at[0]);
  return check_row(warp, cells.pages, cells.launch, cells.offset, bytes / 4, true);
}

}  // namespace emulated
