// How the lanes of a warp part and meet: they run in groups, the one in the deepest call first, and of those the one
// with the lowest place in the code.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "races.h"
#include "warp.h"

namespace emulated {
namespace {

constexpr std::uint64_t kPatience = 1 << 12;  // instructions of one group while others could run

}  // namespace

void Warp::fail(int code, std::string kind, std::string text, int lane) const {
  throw Fault{code, std::move(kind), std::move(text), lane};
}

void Warp::execute(std::uint64_t budget) {
  state = kRunning;
  regroup();
  std::uint64_t threads = 0, run = 0;
  while (state == kRunning) {
    if (pc >= merge_pc) {
      regroup();
      if (state != kRunning) break;
    }
    const Instruction& next = code[pc++];
    std::uint32_t lanes = active;
    if (next.guard) {
      std::uint32_t guard = *at<std::uint32_t>(next.guard);
      lanes &= next.guard_negated ? ~guard : guard;
      if (!lanes) continue;
    }
    mask = lanes;
    threads += static_cast<unsigned>(std::popcount(lanes));
    ++run;
    next.run(*this, next);
    if (run >= budget && state == kRunning) state = kYielded;
    if (!groups.empty() && ++since_switch > kPatience) regroup();
  }
  counters.warp_instructions += run;
  counters.thread_instructions += threads;
  executed += run;
}

// Joins groups that stand at the same place and chooses the one that runs.
void Warp::regroup() {
  bool impatient = since_switch > kPatience;
  int last_frame = frame;
  std::uint32_t last_pc = pc;
  merge_pc = ~0u;
  if (active) groups.push_back({pc, active, frame, Group::kReady, 0});
  active = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t j = groups.size() - 1; j > i; --j) {
      Group &one = groups[i], &other = groups[j];
      if (one.pc != other.pc || one.frame != other.frame || one.state == Group::kAtBarrier ||
          other.state == Group::kAtBarrier)
        continue;
      one.lanes |= other.lanes;
      one.state = Group::kReady;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
  std::size_t best = groups.size();
  auto better = [&](const Group& a, const Group& b) {
    if (impatient) {  // one that spins lets the others run
      bool a_last = a.pc == last_pc && a.frame == last_frame, b_last = b.pc == last_pc && b.frame == last_frame;
      if (a_last != b_last) return b_last;
    }
    return a.frame != b.frame ? a.frame > b.frame : a.pc < b.pc;
  };
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].state == Group::kReady && (best == groups.size() || better(groups[i], groups[best]))) best = i;
  if (best == groups.size()) {
    if (state == kRunning) state = groups.empty() ? kFinished : kBlocked;
    mask = 0;
    return;
  }
  Group chosen = groups[best];
  if (impatient || chosen.pc != last_pc || chosen.frame != last_frame) since_switch = 0;
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(best));
  pc = chosen.pc;
  active = chosen.lanes;
  frame = chosen.frame;
  base[0] = frames[static_cast<std::size_t>(frame)].registers;
  for (const Group& other : groups)
    if (other.frame == frame && other.state != Group::kAtBarrier && other.pc > pc)
      merge_pc = std::min(merge_pc, other.pc);
}

// `taken` of the lanes that run go to `target`, the others on.
void Warp::branch(std::uint32_t target, std::uint32_t taken) {
  if (taken == active) {
    pc = target;
    if (!groups.empty()) merge_pc = 0;  // looked at before the next instruction
    return;
  }
  ++counters.divergent_branches;
  groups.push_back({target, taken, frame, Group::kReady, 0});
  active &= ~taken;
  merge_pc = 0;
}

namespace {

void unpark(std::vector<Group>& groups) {
  for (Group& group : groups)
    if (group.state == Group::kParked) group.state = Group::kReady;
}

}  // namespace

void Warp::end_lanes(std::uint32_t lanes) {
  live &= ~lanes;
  active &= ~lanes;
  for (Frame& other : frames) other.lanes &= ~lanes;
  unpark(groups);
  merge_pc = 0;
  if (!active) regroup();
}

void Warp::enter(const Function& callee, const Instruction& call, std::uint32_t lanes) {
  if (lanes != active) {
    groups.push_back({pc, active & ~lanes, frame, Group::kReady, 0});
    active = lanes;
  }
  Frame made;
  const Frame caller = frames[static_cast<std::size_t>(frame)];
  made.function = &callee;
  made.call = &call;
  made.return_pc = pc;
  made.parent = frame;
  made.lanes = lanes;
  made.local_base = caller.local_base + caller.function->local_bytes;
  if (frames.size() > static_cast<std::size_t>(frame) + 1) {  // calls of other lanes that have not returned
    for (const Frame& other : frames)
      made.local_base = std::max(made.local_base, other.local_base + other.function->local_bytes);
  }
  made.register_mark = registers_used;
  if (made.local_base + callee.local_bytes > local_stride || registers_used + callee.frame_bytes > registers.size())
    fail(kIllegalAddress, "stack overflow", fmt::format("calls of \"{}\" are nested too deeply", callee.name));
  made.registers = registers.data() + registers_used;
  registers_used += callee.frame_bytes;
  frames.push_back(made);
  frame = static_cast<int>(frames.size()) - 1;
  base[0] = made.registers;
  pc = callee.begin;
  merge_pc = groups.empty() ? ~0u : 0;
}

void Warp::leave(std::uint32_t lanes) {
  Frame& here = frames[static_cast<std::size_t>(frame)];
  here.lanes &= ~lanes;
  groups.push_back({here.return_pc, lanes, here.parent, Group::kReady, 0});
  active &= ~lanes;
  while (frames.size() > 1 && !frames.back().lanes) {
    registers_used = frames.back().register_mark;
    frames.pop_back();
  }
  unpark(groups);
  merge_pc = 0;
  if (!active) regroup();
}

void Warp::run_only(std::uint32_t lanes) {
  if (lanes == active) return;
  groups.push_back({pc - 1, active & ~lanes, frame, Group::kReady, 0});
  active = mask = lanes;
  merge_pc = 0;
}

bool Warp::converged(std::uint32_t wanted) {
  wanted &= live;
  if ((wanted & ~active) == 0) return true;
  // Others may stand here as well, or come.
  groups.push_back({pc - 1, active, frame, Group::kParked, 0});
  active = 0;
  // Those parked at the same place are all there are so far: joined now, so that the last to come runs.
  Group& mine = groups.back();
  for (std::size_t i = 0; i + 1 < groups.size();) {
    Group& other = groups[i];
    if (other.pc == mine.pc && other.frame == mine.frame && other.state != Group::kAtBarrier) {
      groups.back().lanes |= other.lanes;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if ((wanted & ~groups.back().lanes) == 0) groups.back().state = Group::kReady;
  regroup();
  return false;
}

void Warp::synced() { tag = next_sync(tag); }

}  // namespace emulated
