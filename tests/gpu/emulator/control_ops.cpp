// Branches, calls, returns, barriers of blocks and warps, traps.
#include <fmt/format.h>

#include <bit>

#include "elementwise.h"
#include "exchange.h"
#include "printing.h"

namespace emulated {
namespace {

void branch(Warp& warp, const Instruction& i) { warp.branch(i.target, warp.mask); }

void decode_bra(Decoder& decoder, Instruction& made) {
  decoder.take("uni");
  decoder.want(1);
  made.target = decoder.label(decoder.operand(0).name);
  made.run = branch;
}

void branch_indexed(Warp& warp, const Instruction& i) {
  const auto* index = warp.at<std::uint32_t>(i.a);
  int first = std::countr_zero(warp.mask);
  std::uint32_t chosen = index[first], same = 0;
  if (chosen >= i.more_count)
    warp.fail(kIllegalInstruction, "illegal instruction", fmt::format("branch number {} of {}", chosen, i.more_count),
              first);
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane) && index[lane] == chosen) same |= 1u << lane;
  warp.run_only(same);
  warp.branch(warp.launch->program.branch_targets[i.more + chosen], same);
}

void decode_brx(Decoder& decoder, Instruction& made) {
  if (!decoder.take("idx")) decoder.fail("only brx.idx is there");
  decoder.take("uni");
  decoder.want(2);
  made.a = decoder.source(0, Type::kU32);
  const auto* targets = decoder.branch_targets(decoder.operand(1).name);
  if (!targets) decoder.fail("a list of targets expected");
  auto& kept = decoder.module().program.branch_targets;
  made.more = static_cast<std::uint32_t>(kept.size());
  made.more_count = static_cast<std::uint32_t>(targets->size());
  for (const std::string& name : *targets) kept.push_back(decoder.label(name));
  made.run = branch_indexed;
}

void copy_local(Warp& warp, std::uint32_t lanes, std::size_t to, std::size_t from, std::size_t bytes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    std::size_t own = static_cast<std::size_t>(lane) * warp.local_stride;
    std::memcpy(&warp.local.data[own + to], &warp.local.data[own + from], bytes);
    std::memcpy(&warp.local.written[own + to], &warp.local.written[own + from], bytes);
  }
}

void enter(Warp& warp, const Instruction& i, const Function& callee) {
  std::size_t caller_base = warp.frames[static_cast<std::size_t>(warp.frame)].local_base;
  std::uint32_t lanes = warp.mask;
  const Row* rows = &warp.launch->program.rows[i.more];
  const Row* given = rows + 1 + rows[0];
  if (callee.parameters.size() != given[0] || callee.results.size() < rows[0])
    warp.fail(kIllegalInstruction, "illegal instruction",
              fmt::format("a call of \"{}\" with other parameters", callee.name));
  warp.enter(callee, i, lanes);
  std::size_t base = warp.frames[static_cast<std::size_t>(warp.frame)].local_base;
  for (std::size_t one = 0; one < callee.parameters.size(); ++one)
    copy_local(warp, lanes, base + callee.parameters[one].offset, caller_base + given[1 + one],
               callee.parameters[one].bytes);
}

void call(Warp& warp, const Instruction& i) { enter(warp, i, warp.launch->program.functions[i.target]); }

void call_indirect(Warp& warp, const Instruction& i) {
  const auto* address = warp.at<std::uint64_t>(i.a);
  int first = std::countr_zero(warp.mask);
  Address chosen = address[first];
  std::uint32_t same = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane) && address[lane] == chosen) same |= 1u << lane;
  const auto& functions = warp.launch->program.functions;
  if (chosen < kFunctionWindow || chosen - kFunctionWindow >= functions.size() ||
      !functions[chosen - kFunctionWindow].has_body)
    warp.fail(kIllegalInstruction, "illegal instruction", fmt::format("a call of 0x{:x}, where no function is", chosen),
              first);
  warp.run_only(same);
  enter(warp, i, functions[chosen - kFunctionWindow]);
}

void print(Warp& warp, const Instruction& i) {
  const Row* rows = &warp.launch->program.rows[i.more];
  const Row* given = rows + 1 + rows[0];
  std::size_t base = warp.frames[static_cast<std::size_t>(warp.frame)].local_base;
  print_lanes(warp, base + given[1], base + given[2]);
  if (!rows[0]) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    std::size_t at = static_cast<std::size_t>(lane) * warp.local_stride + base + rows[1];
    std::memset(&warp.local.data[at], 0, 4);
    std::memset(&warp.local.written[at], 1, 4);
  }
}

void fail_assertion(Warp& warp, const Instruction&) {
  warp.fail(kLaunchFailed, "assertion", "an assertion of the kernel does not hold", std::countr_zero(warp.mask));
}

Handler builtin(const std::string& name) {
  if (name == "vprintf") return print;
  if (name == "__assertfail" || name == "__assert_fail") return fail_assertion;
  return nullptr;
}

void decode_call(Decoder& decoder, Instruction& made) {
  decoder.take("uni");
  std::size_t at = 0;
  std::vector<Row> rows{0};
  auto add = [&](const Operand& list) {
    for (const Operand& one : list.parts) {
      auto variable = decoder.variable_at(one);
      if (!variable || variable->space != Space::kLocal) decoder.fail("a .param variable expected");
      rows.push_back(static_cast<Row>(variable->address));
    }
  };
  if (decoder.operand(0).kind == Operand::kList) {
    add(decoder.operand(0));
    rows[0] = static_cast<Row>(rows.size() - 1);
    ++at;
  }
  const Operand& callee = decoder.operand(at++);
  std::size_t count_at = rows.size();
  rows.push_back(0);
  if (at < decoder.count() && decoder.operand(at).kind == Operand::kList) add(decoder.operand(at));
  rows[count_at] = static_cast<Row>(rows.size() - count_at - 1);
  made.more = decoder.keep(rows);
  if (decoder.is_register(callee)) {
    made.a = decoder.source(callee, Type::kU64);
    made.run = call_indirect;
    return;
  }
  made.target = decoder.function(callee.name);
  const Function& found = decoder.module().program.functions[made.target];
  made.run = found.has_body ? call : builtin(callee.name);
  if (!made.run) decoder.fail(fmt::format("the function \"{}\" has no body", callee.name));
}

void leave(Warp& warp, const Instruction&) {
  const Frame here = warp.frames[static_cast<std::size_t>(warp.frame)];
  std::uint32_t lanes = warp.mask;
  if (here.parent < 0) return warp.end_lanes(lanes);
  const Row* rows = &warp.launch->program.rows[here.call->more];
  std::size_t caller = warp.frames[static_cast<std::size_t>(here.parent)].local_base;
  for (std::size_t one = 0; one < rows[0]; ++one)
    copy_local(warp, lanes, caller + rows[1 + one], here.local_base + here.function->results[one].offset,
               here.function->results[one].bytes);
  warp.leave(lanes);
}

void decode_ret(Decoder& decoder, Instruction& made) {
  decoder.take("uni");
  decoder.want(0);
  made.run = leave;
}

void end(Warp& warp, const Instruction&) { warp.end_lanes(warp.mask); }
void trap(Warp& warp, const Instruction&) {
  warp.fail(kIllegalInstruction, "trap", "the kernel stops itself", std::countr_zero(warp.mask));
}
void rest(Warp& warp, const Instruction&) { warp.since_switch += 1 << 12; }

template <Handler kHandler>
void decode_plain(Decoder& decoder, Instruction& made) {
  while (!decoder.take_next().empty()) {
  }
  made.run = kHandler;
}

// --- barriers

void sync_warp(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes];
  std::memcpy(members, warp.at<std::uint32_t>(i.a), sizeof members);
  meet(warp, members);
}

enum BarrierKind : std::uint8_t { kSync, kArrive, kCount, kAll, kAny };

void barrier(Warp& warp, const Instruction& i) {
  if (i.flags & kStrong && !warp.converged(kAllLanes)) return;
  int first = std::countr_zero(warp.mask);
  std::uint32_t number = warp.at<std::uint32_t>(i.a)[first];
  std::uint32_t expected = i.b == kNoRow ? 0 : warp.at<std::uint32_t>(i.b)[first];
  if (number >= 16 || expected % kLanes)
    warp.fail(kIllegalInstruction, "illegal instruction", fmt::format("barrier {} of {} threads", number, expected),
              first);
  warp.block->arrive(warp, number, expected, i);
}

void decode_barrier(Decoder& decoder, Instruction& made, bool aligned) {
  decoder.take("cta");
  if (decoder.take("warp")) {
    decoder.take("sync");
    made.a = decoder.source(0, Type::kB32);
    made.run = sync_warp;
    return;
  }
  if (decoder.take("aligned") || aligned) made.flags |= kStrong;
  bool reduces = decoder.take("red");
  made.kind = decoder.take("arrive") ? kArrive
              : decoder.take("popc") ? kCount
              : decoder.take("and")  ? kAll
              : decoder.take("or")   ? kAny
                                     : kSync;
  decoder.take("sync");
  std::size_t at = 0, last = decoder.count();
  if (reduces) {
    decoder.want_type();
    made.to = decoder.target(0, made.kind == kCount ? 4 : 0);
    at = 1;
    bool negated = false;
    made.c = decoder.predicate(decoder.operand(--last), negated);
    if (negated) made.flags |= kNegatedC;
  }
  made.a = at < last ? decoder.source(at, Type::kU32) : decoder.constant(4, 0);
  if (at + 1 < last) made.b = decoder.source(at + 1, Type::kU32);
  made.run = barrier;
}

void decode_bar(Decoder& decoder, Instruction& made) { decode_barrier(decoder, made, true); }
void decode_barrier_word(Decoder& decoder, Instruction& made) { decode_barrier(decoder, made, false); }

}  // namespace

void add_control_opcodes(DecodeTable& table) {
  table["bra"] = decode_bra;
  table["brx"] = decode_brx;
  table["call"] = decode_call;
  table["ret"] = decode_ret;
  table["exit"] = decode_plain<end>;
  table["trap"] = decode_plain<trap>;
  table["brkpt"] = decode_plain<trap>;
  table["nanosleep"] = decode_plain<rest>;
  table["bar"] = decode_bar;
  table["barrier"] = decode_barrier_word;
}

}  // namespace emulated
