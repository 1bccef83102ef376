// What the lanes of a warp do together: shfl, vote, match, redux, elect.
#include <fmt/format.h>

#include <bit>

#include "elementwise.h"
#include "exchange.h"

namespace emulated {

bool meet(Warp& warp, const std::uint32_t (&members)[kLanes]) {
  std::uint32_t wanted = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    wanted |= members[lane];
    if (!(members[lane] >> lane & 1))
      warp.fail(kLaunchFailed, "wrong mask", fmt::format("the mask 0x{:08x} has not the lane that runs", members[lane]),
                lane);
  }
  if (!warp.converged(wanted)) return false;
  if (std::uint32_t missing = wanted & warp.live & ~warp.mask)
    warp.fail(kLaunchFailed, "lanes missing",
              fmt::format("the mask has lanes (0x{:08x}) that are elsewhere and do not come", missing));
  warp.synced();
  return true;
}

namespace {

enum ShuffleMode : std::uint8_t { kUp, kDown, kButterfly, kIndex };

int source_lane(std::uint8_t mode, int lane, std::uint32_t b, std::uint32_t c, bool& inside) {
  int segments = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31), by = static_cast<int>(b & 31);
  int last = (lane & segments) | (clamp & ~segments), first = lane & segments, from = lane;
  switch (mode) {
    case kUp:
      from = lane - by, inside = from >= last;
      break;
    case kDown:
      from = lane + by, inside = from <= last;
      break;
    case kButterfly:
      from = lane ^ by, inside = from <= last;
      break;
    default:
      from = first | (by & ~segments), inside = from <= last;
      break;
  }
  return inside ? from : lane;
}

void shuffle(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes], result[kLanes];
  std::memcpy(members, warp.at<std::uint32_t>(i.d), sizeof members);
  if (!meet(warp, members)) return;
  const auto *a = warp.at<std::uint32_t>(i.a), *b = warp.at<std::uint32_t>(i.b), *c = warp.at<std::uint32_t>(i.c);
  std::uint8_t inside[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    result[lane] = 0;
    if (!warp.runs(lane)) continue;
    bool within = false;
    int from = source_lane(i.kind, lane, b[lane], c[lane], within);
    inside[lane] = within;
    if (!warp.runs(from) || !(members[lane] >> from & 1))
      warp.fail(kLaunchFailed, "shuffle from an absent lane",
                fmt::format("lane {} reads from lane {}, which {}", lane, from,
                            warp.live >> from & 1 ? "takes no part" : "is gone"),
                lane);
    result[lane] = a[from];
  }
  put(warp, i.to, result);
  if (i.more_count) put_bits(warp, warp.launch->program.rows[i.more], packed(inside));
}

void decode_shfl(Decoder& decoder, Instruction& made) {
  if (!decoder.take("sync")) decoder.fail("shfl without .sync is not there since sm_70");
  made.kind = decoder.take("up") ? kUp : decoder.take("down") ? kDown : decoder.take("bfly") ? kButterfly : kIndex;
  decoder.take("idx");
  Type type = decoder.want_type();
  decoder.want(5);
  const Operand& result = decoder.operand(0);
  if (result.kind == Operand::kPair) {
    made.to = decoder.target(result.parts[0], 4);
    made.more = decoder.keep({decoder.target(result.parts[1], 0)});
    made.more_count = 1;
  } else {
    made.to = decoder.target(0, 4);
  }
  made.a = decoder.source(1, Type::kB32);
  made.b = decoder.source(2, Type::kB32);
  made.c = decoder.source(3, Type::kB32);
  made.d = decoder.source(4, Type::kB32);
  if (type == Type::kB32) made.run = shuffle;
}

enum VoteMode : std::uint8_t { kAll, kAny, kUniform, kBallot };

void vote(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes];
  std::memcpy(members, warp.at<std::uint32_t>(i.d), sizeof members);
  if (!meet(warp, members)) return;
  std::uint32_t votes = *warp.at<std::uint32_t>(i.a);
  if (i.flags & kNegatedC) votes = ~votes;
  std::uint32_t ballots[kLanes], bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint32_t own = members[lane] & warp.mask;
    ballots[lane] = votes & own;
    bool yes = i.kind == kAll   ? ballots[lane] == own
               : i.kind == kAny ? ballots[lane] != 0
                                : ballots[lane] == own || !ballots[lane];
    bits |= std::uint32_t{yes} << lane;
  }
  if (i.kind == kBallot)
    put(warp, i.to, ballots);
  else
    put_bits(warp, i.to, bits);
}

void decode_vote(Decoder& decoder, Instruction& made) {
  if (!decoder.take("sync")) decoder.fail("vote without .sync is not there since sm_70");
  made.kind = decoder.take("all") ? kAll : decoder.take("any") ? kAny : decoder.take("uni") ? kUniform : kBallot;
  decoder.take("ballot");
  decoder.want_type();
  decoder.want(3);
  made.to = decoder.target(0, made.kind == kBallot ? 4 : 0);
  bool negated = false;
  made.a = decoder.predicate(decoder.operand(1), negated);
  if (negated) made.flags |= kNegatedC;
  made.d = decoder.source(2, Type::kB32);
  made.run = vote;
}

template <class T>
void match(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes], result[kLanes] = {}, same = 0;
  std::memcpy(members, warp.at<std::uint32_t>(i.d), sizeof members);
  if (!meet(warp, members)) return;
  const T* a = warp.at<T>(i.a);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    std::uint32_t own = members[lane] & warp.mask, equal = 0;
    for (int other = 0; other < kLanes; ++other)
      if (own >> other & 1 && a[other] == a[lane]) equal |= 1u << other;
    if (i.kind == kAll) {
      result[lane] = equal == own ? own : 0;
      same |= std::uint32_t{equal == own} << lane;
    } else {
      result[lane] = equal;
    }
  }
  put(warp, i.to, result);
  if (i.more_count) put_bits(warp, warp.launch->program.rows[i.more], same);
}

void decode_match(Decoder& decoder, Instruction& made) {
  made.kind = decoder.take("all") ? kAll : kAny;
  decoder.take_any({"any", "sync"});
  Type type = decoder.want_type();
  decoder.want(3);
  const Operand& result = decoder.operand(0);
  if (result.kind == Operand::kPair) {
    made.to = decoder.target(result.parts[0], 4);
    made.more = decoder.keep({decoder.target(result.parts[1], 0)});
    made.more_count = 1;
  } else {
    made.to = decoder.target(0, 4);
  }
  made.a = decoder.source(1, type);
  made.d = decoder.source(2, Type::kB32);
  made.run = bytes_of(type) == 8 ? Handler(match<std::uint64_t>) : match<std::uint32_t>;
}

enum ReduceOp : std::uint8_t { kSum, kLeast, kMost, kAnd, kOr, kXor };

void reduce(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes], result[kLanes] = {};
  std::memcpy(members, warp.at<std::uint32_t>(i.d), sizeof members);
  if (!meet(warp, members)) return;
  const auto* a = warp.at<std::uint32_t>(i.a);
  // Signed numbers are compared as unsigned ones with the sign turned over.
  std::uint32_t turn = i.type == Type::kS32 ? 0x80000000u : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    std::uint32_t made = 0;
    bool first = true;
    for (int other = 0; other < kLanes; ++other) {
      if (!((members[lane] & warp.mask) >> other & 1)) continue;
      std::uint32_t value = a[other];
      if (first)
        made = value;
      else if (i.kind == kSum)
        made += value;
      else if (i.kind == kAnd)
        made &= value;
      else if (i.kind == kOr)
        made |= value;
      else if (i.kind == kXor)
        made ^= value;
      else if (((value ^ turn) < (made ^ turn)) == (i.kind == kLeast))
        made = value;
      first = false;
    }
    result[lane] = made;
  }
  put(warp, i.to, result);
}

void decode_redux(Decoder& decoder, Instruction& made) {
  static constexpr std::pair<std::string_view, ReduceOp> kNames[] = {{"add", kSum}, {"min", kLeast}, {"max", kMost},
                                                                     {"and", kAnd}, {"or", kOr},     {"xor", kXor}};
  decoder.take("sync");
  for (auto [name, op] : kNames)
    if (decoder.take(name)) made.kind = op;
  Type type = decoder.want_type();
  decoder.want(3);
  made.type = type;
  made.to = decoder.target(0, 4);
  made.a = decoder.source(1, type);
  made.d = decoder.source(2, Type::kB32);
  if (bytes_of(type) == 4 && !is_float(type)) made.run = reduce;
}

void elect(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes], leader[kLanes] = {};
  std::memcpy(members, warp.at<std::uint32_t>(i.d), sizeof members);
  if (!meet(warp, members)) return;
  std::uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    leader[lane] = static_cast<std::uint32_t>(std::countr_zero(members[lane] & warp.mask));
    bits |= std::uint32_t{leader[lane] == static_cast<std::uint32_t>(lane)} << lane;
  }
  put(warp, i.to, leader);
  put_bits(warp, warp.launch->program.rows[i.more], bits);
}

void decode_elect(Decoder& decoder, Instruction& made) {
  decoder.take("sync");
  decoder.want(2);
  const Operand& result = decoder.operand(0);
  if (result.kind != Operand::kPair) decoder.fail("two results expected");
  made.to = decoder.target(result.parts[0], 4);
  made.more = decoder.keep({decoder.target(result.parts[1], 0)});
  made.d = decoder.source(1, Type::kB32);
  made.run = elect;
}

}  // namespace

void add_exchange_opcodes(DecodeTable& table) {
  table["shfl"] = decode_shfl;
  table["vote"] = decode_vote;
  table["match"] = decode_match;
  table["redux"] = decode_redux;
  table["elect"] = decode_elect;
}

}  // namespace emulated
