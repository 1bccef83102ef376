// A block: its warps take turns, each until it waits, and meet at barriers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "races.h"
#include "warp.h"

namespace emulated {
namespace {

constexpr std::uint64_t kTurn = 1 << 20;  // instructions of a warp before another one runs

template <class Words>
void fill(Words& words, std::uint32_t value) {
  std::fill(std::begin(words), std::end(words), value);
}

// What all blocks of a launch have in common.
void prepare(Warp& warp, const Launch& launch) {
  SpecialRows& rows = warp.special;
  rows = {};
  const Extent sizes[] = {launch.block, launch.grid};
  fill(rows.ntid[0], sizes[0].x), fill(rows.ntid[1], sizes[0].y), fill(rows.ntid[2], sizes[0].z);
  fill(rows.nctaid[0], sizes[1].x), fill(rows.nctaid[1], sizes[1].y), fill(rows.nctaid[2], sizes[1].z);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    std::uint32_t thread = warp.index * kLanes + lane, plane = launch.block.x * launch.block.y;
    rows.tid[0][lane] = thread % launch.block.x;
    rows.tid[1][lane] = thread % plane / launch.block.x;
    rows.tid[2][lane] = thread / plane;
    rows.laneid[lane] = lane;
    rows.mask_eq[lane] = 1u << lane;
    rows.mask_lt[lane] = (1u << lane) - 1;
    rows.mask_le[lane] = rows.mask_lt[lane] | rows.mask_eq[lane];
    rows.mask_gt[lane] = ~rows.mask_le[lane];
    rows.mask_ge[lane] = ~rows.mask_lt[lane];
  }
  fill(rows.warpid, warp.index);
  fill(rows.nwarpid, static_cast<std::uint32_t>((launch.block.count() + kLanes - 1) / kLanes));
  fill(rows.nsmid, 1);
  fill(rows.dynamic_shared, static_cast<std::uint32_t>(launch.dynamic_shared_bytes));
  fill(rows.total_shared, static_cast<std::uint32_t>(launch.shared_bytes));
  warp.prepared = &launch;
}

}  // namespace

void Warp::begin(Block& of, std::uint32_t number) {
  block = &of;
  launch = of.launch;
  index = number;
  if (prepared != launch) prepare(*this, *launch);
  fill(special.ctaid[0], of.id.x), fill(special.ctaid[1], of.id.y), fill(special.ctaid[2], of.id.z);
  std::uint32_t threads = std::min<std::uint32_t>(of.threads - number * kLanes, kLanes);
  live = threads == kLanes ? kAllLanes : (1u << threads) - 1;
  code = launch->program.code.data();
  groups.clear();
  async_copies.clear();
  local_stride = launch->local_bytes;
  local.reset(local_stride * kLanes);
  const Function& function = launch->function;
  std::size_t wanted = function.frame_bytes + (launch->calls ? std::size_t{1} << 20 : 0);
  if (registers.size() < wanted + 64) registers.resize(wanted + 64);
  auto aligned = (reinterpret_cast<std::uintptr_t>(registers.data()) + 63) / 64 * 64;
  registers_used = aligned - reinterpret_cast<std::uintptr_t>(registers.data());
  Frame first;
  first.function = &function;
  first.registers = registers.data() + registers_used;
  first.lanes = live;
  registers_used += function.frame_bytes;
  frames.assign(1, first);
  frame = 0;
  base[0] = first.registers;
  base[1] = const_cast<std::byte*>(launch->program.constants.data());
  base[2] = reinterpret_cast<std::byte*>(&special);
  pc = function.begin;
  active = live;
  merge_pc = ~0u;
  state = kRunning;
  executed = since_switch = 0;
  tag = launch->tag | (of.number & kBlockBits) << kBlockShift | (Tag{number} * kLanes & kThreadBits) << kThreadShift;
}

Block::Block() = default;
Block::~Block() = default;

void Block::begin(Launch& of, std::uint64_t which) {
  launch = &of;
  number = which;
  id.x = static_cast<unsigned>(which % of.grid.x);
  id.y = static_cast<unsigned>(which / of.grid.x % of.grid.y);
  id.z = static_cast<unsigned>(which / of.grid.x / of.grid.y);
  threads = static_cast<std::uint32_t>(of.block.count());
  shared.reset(of.shared_bytes);
  if (!shared_cells) shared_cells = std::make_unique<CellPages>(std::size_t{1} << 20);
  shared_tag = shared_cells->next_launch();
  for (Barrier& one : barriers) one = {};
  fenced = acquired = false;
  std::uint32_t count = (threads + kLanes - 1) / kLanes;
  while (warps.size() < count) warps.push_back(std::make_unique<Warp>());
  for (std::uint32_t i = 0; i < count; ++i) warps[i]->begin(*this, i);
}

void Block::run() {
  std::size_t count = (threads + kLanes - 1) / kLanes;
  while (true) {
    bool ran = false, finished = true;
    for (std::size_t i = 0; i < count; ++i) {
      Warp& warp = *warps[i];
      if (warp.state == Warp::kFinished) continue;
      finished = false;
      bool ready = warp.active || std::any_of(warp.groups.begin(), warp.groups.end(),
                                              [](const Group& one) { return one.state == Group::kReady; });
      if (!ready) continue;
      ran = true;
      running = &warp;
      warp.execute(kTurn);
      if (warp.executed > launch->instruction_limit)
        warp.fail(kLaunchTimeout, "endless", fmt::format("{} instructions and no end", warp.executed));
      if (launch->stop) return;
    }
    if (finished) return;
    if (!ran) deadlock();
  }
}

void Block::arrive(Warp& warp, std::uint32_t number_of, std::uint32_t expected, const Instruction& i) {
  Barrier& one = barriers[number_of];
  ++warp.counters.barriers;
  bool whole = expected == 0;
  if (one.arrived && one.expected != (whole ? threads : expected))
    warp.fail(kLaunchFailed, "barrier",
              fmt::format("barrier {} is waited for with {} and with {} threads", number_of, one.expected,
                          whole ? threads : expected));
  one.expected = whole ? threads : expected;
  one.arrived += whole ? static_cast<std::uint32_t>(std::popcount(warp.mask)) : kLanes;
  if (i.kind >= 2) {
    std::uint32_t votes = *warp.at<std::uint32_t>(i.c);
    if (i.flags & kNegatedC) votes = ~votes;
    votes &= warp.mask;
    one.count += static_cast<std::uint32_t>(std::popcount(votes));
    one.any |= votes != 0;
    one.all &= votes == warp.mask;
  }
  if (i.kind != 1) {
    one.waiting.push_back({&warp, i.to, warp.frame, warp.mask, i.kind});
    warp.groups.push_back({warp.pc, warp.mask, warp.frame, Group::kAtBarrier, number_of});
    warp.active &= ~warp.mask;
    warp.merge_pc = 0;
  }
  if (one.arrived >= one.expected) release(number_of);
  if (!warp.active) warp.regroup();
}

void Block::release(std::uint32_t number_of) {
  Barrier& one = barriers[number_of];
  for (const Barrier::Waiting& waiting : one.waiting) {
    Warp& warp = *waiting.warp;
    for (Group& group : warp.groups)
      if (group.state == Group::kAtBarrier && group.barrier == number_of) group.state = Group::kReady;
    warp.tag = with_bits(warp.tag, kBarrierShift, kBarrierBits, (warp.tag >> kBarrierShift) + 1);
    if (!(warp.tag >> kBarrierShift & kBarrierBits)) wrapped = true;
    if (waiting.kind < 2) continue;
    std::byte* frame = warp.frames[static_cast<std::size_t>(waiting.frame)].registers;
    auto* kept = reinterpret_cast<std::uint32_t*>(frame + (waiting.to & kRowOffset));
    std::uint32_t bits = (waiting.kind == 3 ? one.all : one.any) ? kAllLanes : 0;
    if (waiting.kind == 2)
      for (int lane = 0; lane < kLanes; ++lane) kept[lane] = waiting.lanes >> lane & 1 ? one.count : kept[lane];
    else
      *kept = (*kept & ~waiting.lanes) | (bits & waiting.lanes);
  }
  one = {};
  if (!wrapped) return;
  // Counts of barriers begin again: with another launch's tag, nothing is taken for what was long ago.
  wrapped = false;
  Tag fresh = next_launch_tag(launch->memory, launch->tag);
  for (auto& warp : warps) warp->tag = (warp->tag & ((Tag{1} << kLaunchShift) - 1)) | fresh;
}

namespace {

std::uint32_t parked_lanes(const Warp& warp) {
  std::uint32_t lanes = 0;
  for (const Group& one : warp.groups)
    if (one.state == Group::kParked) lanes |= one.lanes;
  return lanes;
}

}  // namespace

// Nobody can go on: lanes wait for others of their warp, or threads at a barrier for those that never come.
void Block::deadlock() {
  std::size_t count = (threads + kLanes - 1) / kLanes;
  for (std::size_t i = 0; i < count; ++i) {
    Warp& warp = *warps[i];
    std::uint32_t lanes = parked_lanes(warp);
    if (warp.state == Warp::kFinished || !lanes) continue;
    for (const Group& one : warp.groups) {
      if (one.state != Group::kParked) continue;
      running = &warp;
      warp.pc = one.pc + 1;
      const std::string& opcode = launch->program.opcodes[one.pc];
      bool barrier = opcode.starts_with("bar");
      warp.fail(kLaunchFailed, barrier ? "barrier" : "lanes missing",
                fmt::format("lanes 0x{:08x} wait at {} for lanes of their warp that do not come", one.lanes, opcode),
                std::countr_zero(one.lanes));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    Warp& warp = *warps[i];
    for (const Group& one : warp.groups) {
      if (one.state != Group::kAtBarrier) continue;
      running = &warp;
      warp.pc = one.pc;
      const Barrier& at = barriers[one.barrier];
      warp.fail(kLaunchFailed, "barrier",
                fmt::format("{} of {} threads wait at barrier {}, the others have ended or wait elsewhere", at.arrived,
                            at.expected, one.barrier),
                std::countr_zero(one.lanes));
    }
  }
  throw Fault{kLaunchFailed, "barrier", "the block cannot go on", -1};
}

}  // namespace emulated
