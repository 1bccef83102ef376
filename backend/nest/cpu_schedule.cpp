// Schedules for processors with vectors and a first-level cache, and what a nest costs on one.
#include <algorithm>
#include <bit>

#include "backend/nest/body_cost.h"
#include "backend/nest/loops.h"
#include "backend/nest/schedule.h"
#include "ir/core/error.h"
#include "registry/reduction_order.h"

namespace md {
namespace {

constexpr int kPassLatency = 80;  // cycles: several iterations fit into a reorder buffer of 450 instructions
constexpr int kLongBody = 40;     // instructions not worth repeating for each of an accumulator's vectors

// Columns a pass hands on through L1, and columns whose partial results stay there: 256 and 512 for 32 KiB.
int pass_block(const Target& t) {
  return static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(t.l1_bytes) / 128));
}
int column_block(const Target& t) { return 2 * pass_block(t); }

// Everything computed from a fold is the same for all folded elements: one walk is enough.
bool one_walk(const LoopNest& nest) {
  return std::all_of(nest.values.begin(), nest.values.end(),
                     [&](const NestValue& v) { return v.stage == 0 || (v.stage == 1 && !(v.axes & nest.reduced)); });
}

int widest_item(const LoopNest& nest) {
  std::size_t bytes = 4;
  for (const NestValue& v : nest.values)
    bytes = std::max({bytes, item_size(working(v.dtype)), item_size(working(v.compute))});
  return static_cast<int>(bytes);
}

int instructions(const LoopNest& nest) {
  int n = 0;
  for (const NestValue& v : nest.values) n += body_cost(v).instructions;
  return n;
}

// Cuts the body into passes no dependent chain of which is too long for several iterations to overlap. Nothing if one
// pass is enough.
std::vector<int> passes(const LoopNest& nest) {
  std::vector<int> pass(nest.values.size(), 0), ready(nest.values.size(), 0);
  int last = 0;
  for (std::size_t i = 0; i < nest.values.size(); ++i) {
    const NestValue& v = nest.values[i];
    if (v.kind == NestValue::Kind::Load) pass[i] = -1;
    for (int a : v.args) pass[i] = std::max(pass[i], pass[static_cast<std::size_t>(a)]);
    for (int a : v.args)
      if (pass[static_cast<std::size_t>(a)] == pass[i])
        ready[i] = std::max(ready[i], ready[static_cast<std::size_t>(a)]);
    if (v.kind != NestValue::Kind::Compute && v.kind != NestValue::Kind::Convert) continue;
    const int latency = body_cost(v).latency;
    if (ready[i] > 0 && ready[i] + latency > kPassLatency) ++pass[i], ready[i] = 0;
    ready[i] += latency;
    last = std::max(last, pass[i]);
  }
  return last == 0 ? std::vector<int>{} : pass;
}

// Which values a stage leaves in L1 for later ones, for which computing them again would take longer. All their rows
// together fill at most half of it.
std::vector<bool> kept_rows(const LoopNest& nest, std::int64_t columns, const Target& target) {
  constexpr int kWorthKeeping = 8;  // instructions
  const std::size_t n = nest.values.size();
  std::vector<bool> kept(n), used_now(n), used_later(n);
  std::vector<int> cost(n);
  for (const NestValue& v : nest.values) {
    const int stage = v.kind == NestValue::Kind::Reduce ? v.stage - 1 : v.stage;
    for (int a : v.args)
      (nest.values[static_cast<std::size_t>(a)].stage < stage ? used_later : used_now)[static_cast<std::size_t>(a)] =
          true;
  }
  for (const Store& s : nest.stores) used_now[static_cast<std::size_t>(s.value)] = true;
  std::int64_t room = target.l1_bytes / 2;
  for (std::size_t i = 0; i < n; ++i) {
    const NestValue& v = nest.values[i];
    if (!(v.axes & nest.reduced) || v.kind == NestValue::Kind::Reduce) continue;
    cost[i] = body_cost(v).instructions;
    for (int a : v.args) cost[i] = std::min(cost[i] + cost[static_cast<std::size_t>(a)], kWorthKeeping);
    const std::int64_t bytes = columns * static_cast<std::int64_t>(item_size(working(v.dtype)));
    if (!used_now[i] || !used_later[i] || cost[i] < kWorthKeeping || bytes > room) continue;
    kept[i] = true;
    cost[i] = 1;
    room -= bytes;
  }
  return kept;
}

// Columns that fill less than half a vector leave most lanes idle: the nearest loop that fills one becomes the columns,
// reached with strides. What is close in memory stays close in time, since the short loop is then the innermost row.
void widen_columns(const LoopNest& nest, Schedule& s) {
  const Size have = extent(nest, s.cols);
  if (!have.is_const() || 2 * have.value() > s.lanes) return;
  for (std::size_t i = s.rows.size(); i-- > 0;) {
    const Size n = extent(nest, s.rows[i]);
    if (!n.is_const() || n.value() < s.lanes) continue;
    std::swap(s.cols, s.rows[i]);
    return;
  }
}

// How many vectors are worked on side by side. Bodies are chains of dependent instructions; a processor overlaps few
// iterations of a long one, since all their instructions have to wait in its window. That should not leave many columns
// over that would have filled a vector.
int side_by_side(const LoopNest& nest, const Loop& cols, int lanes) {
  constexpr int kMost = 4, kFewLeft = 16;
  const auto moves_by_one = [&](const Access& a) {
    const Size step = stride(a, cols);
    return step.is_const(0) || step.is_const(1);
  };
  if (!std::ranges::all_of(nest.accesses, moves_by_one)) return 1;
  if (!std::ranges::all_of(nest.stores, moves_by_one, &Store::to)) return 1;
  const std::int64_t n = likely(extent(nest, cols));
  for (int vectors = kMost; vectors > 1; vectors /= 2) {
    const int columns = vectors * lanes;
    if (n >= columns && (n % columns < lanes || n >= kFewLeft * columns)) return vectors;
  }
  return 1;
}

}  // namespace

double element_cost(const LoopNest& nest) {
  constexpr double kStream = 0.05, kInstruction = 0.002;  // per element, per byte of the widest type
  return kStream * static_cast<double>(nest.accesses.size() + nest.stores.size()) +
         kInstruction * instructions(nest) * widest_item(nest);
}

bool can_schedule(const LoopNest& nest) {
  if (!nest.reduced) return true;
  if (folded_loops(nest).size() > 1) return false;
  return nest.fold_lanes != kOuterLanes || one_walk(nest);
}

Schedule make_schedule(const LoopNest& nest, const Target& target) {
  if (!can_schedule(nest)) throw InternalError("a reduction whose axes no single loop walks");
  Schedule s;
  s.lanes = target.vector_bytes / widest_item(nest);
  s.rows = kept_loops(nest);
  if (!nest.reduced) {
    if (!s.rows.empty()) s.cols = s.rows.back(), s.rows.pop_back();
    widen_columns(nest, s);
    s.lanes *= side_by_side(nest, s.cols, s.lanes);
    s.pass = passes(nest);
    if (!s.pass.empty()) s.block = pass_block(target);
    return s;
  }
  std::vector<Loop> folded = folded_loops(nest);
  s.fold_lanes = nest.fold_lanes;
  const Size count = folded.empty() ? Size(1) : extent(nest, folded[0]);
  s.chunk = nest.fold_lanes == 1 ? 1 : kReductionChunk;  // one lane: the elements are chunks, folded already
  s.one_chunk = count.is_const() && count.value() > 0 && count.value() <= s.chunk;
  if (nest.fold_lanes != kOuterLanes || s.rows.empty()) {
    if (!folded.empty()) s.cols = folded[0];
    // Lanes no element goes to hold the identity, which changes nothing: a short axis does without them.
    if (s.one_chunk && count.value() < s.fold_lanes)
      s.fold_lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count.value())));
    s.lanes = std::min(s.lanes * side_by_side(nest, s.cols, s.lanes), s.fold_lanes);
    if (s.one_chunk) s.kept = kept_rows(nest, count.value(), target);
    s.accumulate_in_memory = instructions(nest) > kLongBody && s.lanes < s.fold_lanes;
    return s;
  }
  s.shape = Schedule::Shape::Columns;
  if (!folded.empty()) s.folded = folded[0];
  s.cols = s.rows.back(), s.rows.pop_back();
  s.lanes *= side_by_side(nest, s.cols, s.lanes);
  s.block = column_block(target);
  return s;
}

}  // namespace md
