// cp.async: copies into shared memory that are done only when somebody waits for them, and bytes are what they were
// until then.
#include <bit>
#include <span>

#include "elementwise.h"
#include "memory_access.h"

namespace emulated {
namespace {

void begin_copy(Warp& warp, const Instruction& i) {
  Addresses to, from;
  addresses_in(warp, i.a, i.flags & kNarrowAddress, i.offset, to);
  addresses_in(warp, i.b, false, static_cast<std::int64_t>(static_cast<std::int32_t>(i.target)), from);
  const std::uint32_t* size = i.c == kNoRow ? nullptr : warp.at<std::uint32_t>(i.c);
  if (warp.async_copies.empty()) warp.async_copies.emplace_back();
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    std::uint32_t kept = size ? std::min<std::uint32_t>(size[lane], i.bytes) : i.bytes;
    if (to[lane] >= kSharedWindow) to[lane] -= kSharedWindow;
    warp.async_copies.back().push_back({from[lane], static_cast<std::uint32_t>(to[lane]), i.bytes, kept,
                                        static_cast<std::uint32_t>(lane), warp.async_issues});
  }
  ++warp.async_issues;
}

// What a lane reads of global memory, in pieces that are whole and aligned: of a shorter copy nothing behind it is
// read.
void read_part(Warp& warp, const Warp::AsyncCopy& one, std::byte* to) {
  int lane = static_cast<int>(one.lane);
  Addresses at = {};
  for (std::uint32_t done = 0; done < one.kept;) {
    std::uint32_t bytes = std::bit_floor(one.kept - done);
    Place place;
    at[lane] = one.from + done;
    locate(warp, at, Space::kGlobal, bytes, AccessKind::kLoad, place);
    check_written(warp, at, place, bytes);
    if (warp.launch->checks.races) check_lane(warp, at, place, bytes, lane, false, false, nullptr);
    std::memcpy(to + done, place.data[lane], bytes);
    done += bytes;
  }
}

void read_whole(Warp& warp, std::span<const Warp::AsyncCopy> copies, std::byte (*values)[16]) {
  Addresses at = {};
  Place place;
  warp.mask = 0;
  std::uint32_t bytes = copies[0].bytes;
  for (const auto& one : copies)
    if (one.kept == bytes) at[one.lane] = one.from, warp.mask |= 1u << one.lane;
  std::uint32_t all = warp.mask;
  if (!all) return;
  locate(warp, at, Space::kGlobal, bytes, AccessKind::kLoad, place);
  check_written(warp, at, place, bytes);
  if (warp.launch->checks.races) check_reads(warp, at, place, bytes, false);
  for (int lane = 0; lane < kLanes; ++lane)
    if (all >> lane & 1) std::memcpy(values[lane], place.data[lane], bytes);
}

// The copies of one instruction.
void finish_one(Warp& warp, std::span<const Warp::AsyncCopy> copies) {
  std::byte values[kLanes][16] = {};
  read_whole(warp, copies, values);
  Addresses to = {};
  std::uint32_t all = 0, bytes = copies[0].bytes;
  for (const auto& one : copies) {
    warp.mask = 1u << one.lane;
    if (one.kept < bytes) {
      if (one.from % bytes) warp.fail(kMisalignedAddress, "misaligned", "a copy from what is no multiple of its size");
      read_part(warp, one, values[one.lane]);
    }
    to[one.lane] = one.to, all |= warp.mask;
  }
  warp.mask = all;
  Place place;
  locate(warp, to, Space::kShared, bytes, AccessKind::kStore, place);
  for (const auto& one : copies) {
    int lane = static_cast<int>(one.lane);
    if (warp.launch->checks.races) check_lane(warp, to, place, bytes, lane, true, false, values[lane]);
    std::memcpy(place.data[lane], values[lane], bytes);
    std::memset(place.written[lane], 1, bytes);
  }
}

void finish(Warp& warp, std::span<const Warp::AsyncCopy> copies) {
  std::uint32_t all = warp.mask;
  while (!copies.empty()) {
    std::size_t count = 1;
    while (count < copies.size() && copies[count].issue == copies[0].issue) ++count;
    finish_one(warp, copies.first(count));
    copies = copies.subspan(count);
  }
  warp.mask = all;
}

void commit(Warp& warp, const Instruction&) {
  if (warp.async_copies.empty()) warp.async_copies.emplace_back();
  warp.async_copies.emplace_back();
}

// Until no more than `offset` groups, not counting the open one, are left.
void wait_for(Warp& warp, const Instruction& i) {
  std::size_t open = 1, keep = static_cast<std::size_t>(i.offset) + open;
  if (i.kind) keep = 0;  // all, also those of no group yet
  auto& groups = warp.async_copies;
  while (groups.size() > keep) {
    std::vector<Warp::AsyncCopy> oldest = std::move(groups.front());
    groups.erase(groups.begin());
    finish(warp, oldest);
  }
}

void decode_cp(Decoder& decoder, Instruction& made) {
  if (!decoder.take("async")) decoder.fail("only cp.async is supported");
  decoder.need_capability(80);
  if (decoder.take("commit_group")) {
    made.run = commit;
    return;
  }
  if (decoder.take("wait_all")) {
    made.kind = 1;
    made.run = wait_for;
    return;
  }
  if (decoder.take("wait_group")) {
    made.offset = static_cast<std::int64_t>(decoder.number(0));
    made.run = wait_for;
    return;
  }
  decoder.take_any({"ca", "cg", "L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"});
  if (!decoder.take("shared") && !decoder.take("shared::cta")) decoder.fail(".shared expected");
  if (!decoder.take("global")) decoder.fail(".global expected");
  Instruction from;
  decoder.address(decoder.operand(1), from);
  if (from.flags & kNarrowAddress || from.offset != static_cast<std::int32_t>(from.offset))
    decoder.fail("a global address has 64 bits");
  made.b = from.a;
  made.target = static_cast<std::uint32_t>(from.offset);
  decoder.address(decoder.operand(0), made);
  std::uint64_t bytes = decoder.number(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) decoder.fail("4, 8 or 16 bytes expected");
  made.bytes = static_cast<std::uint8_t>(bytes);
  if (decoder.count() > 3) made.c = decoder.source(3, Type::kU32);
  made.run = begin_copy;
}

}  // namespace

void add_copy_opcodes(DecodeTable& table) { table["cp"] = decode_cp; }

}  // namespace emulated
