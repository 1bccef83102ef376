// Schedules for GPUs: warps along what is contiguous, blocks for whole rows, shared memory for what is read again.
#include "backend/nest/gpu_schedule.h"

#include <algorithm>
#include <bit>

#include "backend/nest/body_cost.h"
#include "ir/core/error.h"
#include "registry/reduction_order.h"

namespace md {
namespace {

constexpr int kThreads = 256;     // of a block, where nothing says otherwise
constexpr int kSegment = 32;      // threads that exchange values without memory, on every GPU
constexpr int kMostTeams = 16;    // warps of a row
constexpr int kAccessBytes = 16;  // the widest load of a thread

int power_at_least(std::int64_t n) { return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(n))); }

std::int64_t item_bytes(const Access& a) { return static_cast<std::int64_t>(item_size(a.dtype)); }

// f(access) of every tensor that is read or written.
template <class F>
bool all_accesses(const LoopNest& nest, F&& f) {
  return std::ranges::all_of(nest.accesses, f) && std::ranges::all_of(nest.stores, f, &Store::to);
}

// Elements along the columns that every tensor gives in one access: their strides are known and keep each group of so
// many together. Where memory begins is asked when the kernel runs.
int access_width(const LoopNest& nest, const GpuSchedule& s) {
  const Size columns = extent(nest, s.cols);
  if (!columns.is_const()) return 1;
  std::int64_t most = kAccessBytes;
  const auto narrow = [&](const Access& a) {
    if (!a.by_value) most = std::min(most, kAccessBytes / item_bytes(a));
    return true;
  };
  static_cast<void>(all_accesses(nest, narrow));
  for (auto width = static_cast<std::int64_t>(most); width > 1; width /= 2) {
    if (columns.value() % width != 0) continue;
    const bool fits = all_accesses(nest, [&](const Access& a) {
      const Size step = stride(a, s.cols);
      if (!step.is_const(0) && !step.is_const(1)) return false;
      if (step.is_const(0)) return true;
      return std::ranges::all_of(s.rows, [&](const Loop& row) {
        const Size far = stride(a, row);
        return far.is_const() && far.value() % width == 0;
      });
    });
    if (fits) return static_cast<int>(width);
  }
  return 1;
}

bool all_stores_along(const LoopNest& nest, const Loop& loop) {
  return std::ranges::all_of(nest.stores, [&](const Store& s) { return stride(s.to, loop).is_const(1); });
}

// Neighbours along `row` lie side by side, those along the columns apart.
bool lies_across(const Access& a, const GpuSchedule& s, const Loop& row) {
  const Size along = stride(a, s.cols);
  return stride(a, row).is_const(1) && !along.is_const(0) && !along.is_const(1);
}

// What is computed at a stage in the loop along the columns, if `kept` need not be computed again once they were there.
std::vector<bool> needed_at(const LoopNest& nest, int stage, const std::vector<bool>& kept,
                            const std::vector<int>& first) {
  const std::size_t n = nest.values.size();
  std::vector<bool> needed(n);
  for (const NestValue& v : nest.values)
    if (v.kind == NestValue::Kind::Reduce && v.stage == stage + 1) needed[static_cast<std::size_t>(v.args[0])] = true;
  for (const Store& s : nest.stores)
    if (nest.values[static_cast<std::size_t>(s.value)].stage == stage) needed[static_cast<std::size_t>(s.value)] = true;
  for (std::size_t i = n; i-- > 0;) {
    const NestValue& v = nest.values[i];
    if (!needed[i]) continue;
    if (!(v.axes & nest.reduced) || v.kind == NestValue::Kind::Reduce) {
      needed[i] = false;
      continue;
    }
    if (kept[i] && first[i] >= 0 && first[i] < stage) continue;
    for (int a : v.args) needed[static_cast<std::size_t>(a)] = true;
  }
  return needed;
}

// Which values stay in `room` bytes of shared memory for later stages: first those that cost much to compute again,
// then elements that would be loaded again. Nobody but the thread that has put one there reads it.
std::vector<bool> kept_rows(const LoopNest& nest, std::int64_t columns, std::int64_t rows, std::int64_t room) {
  constexpr int kWorthKeeping = 24;  // instructions
  const std::size_t n = nest.values.size();
  int last = 0;
  for (const NestValue& v : nest.values) last = std::max(last, v.stage);
  std::vector<bool> kept(n);
  if (last == 0) return kept;
  const auto keep = [&](std::size_t i) {
    const std::int64_t bytes = columns * rows * static_cast<std::int64_t>(item_size(nest.values[i].dtype));
    if (kept[i] || bytes + 8 > room) return;
    kept[i] = true, room -= (bytes + 7) / 8 * 8;
  };
  for (const bool loads : {false, true}) {
    std::vector<int> first(n, -1), times(n, 0);
    for (int stage = 0; stage <= last; ++stage) {
      const std::vector<bool> needed = needed_at(nest, stage, kept, first);
      for (std::size_t i = 0; i < n; ++i) {
        if (!needed[i]) continue;
        ++times[i];
        if (first[i] < 0) first[i] = stage;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const NestValue& v = nest.values[i];
      if (times[i] < 2) continue;
      const bool load = v.kind == NestValue::Kind::Load;
      if (load == loads && (load || body_cost(v).instructions >= kWorthKeeping)) keep(i);
    }
  }
  return kept;
}

// Tensors that lie along another loop than the results do would be read in pieces of one element. Picks the loop along
// which most of them lie.
bool schedule_tiles(const LoopNest& nest, GpuSchedule& s) {
  constexpr std::int64_t kWorthTiles = 16;
  if (likely(extent(nest, s.cols)) < kWorthTiles || !all_stores_along(nest, s.cols)) return false;
  std::size_t best = s.rows.size();
  std::ptrdiff_t most = 0;
  for (std::size_t r = 0; r < s.rows.size(); ++r) {
    const Loop& row = s.rows[r];
    if (likely(extent(nest, row)) < kWorthTiles) continue;
    const auto count = std::ranges::count_if(nest.accesses, [&](const Access& a) { return lies_across(a, s, row); });
    if (count > most) best = r, most = count;
  }
  if (best == s.rows.size()) return false;
  s.folded = s.rows[best];
  s.rows.erase(s.rows.begin() + static_cast<std::ptrdiff_t>(best));
  s.shape = GpuSchedule::Shape::Tiles;
  s.x = kTile, s.y = kTile / 4;
  std::int64_t room = 48 << 10;
  for (const Access& a : nest.accesses) {
    const std::int64_t bytes = kTile * (kTile + 1) * item_bytes(a);
    s.staged.push_back(lies_across(a, s, s.folded) && bytes <= room);
    if (s.staged.back()) room -= bytes;
  }
  return true;
}

// Elements that a thread folds at a time: as many loads are under way. Code for long bodies is not repeated.
int rounds_at_a_time(const LoopNest& nest, int slots) {
  constexpr int kMost = 8, kMostInstructions = 96;
  int instructions = 1;
  for (const NestValue& v : nest.values) instructions += 1 + body_cost(v).instructions;
  const int fits = std::clamp(kMostInstructions / instructions, 1, std::max(1, kMost / slots));
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(fits)));
}

// How a chunk's elements are folded, of which a thread has `slots` lanes.
void choose_rounds(const LoopNest& nest, GpuSchedule& s, int slots, const Size& count) {
  s.unroll = rounds_at_a_time(nest, slots);
  if (!s.one_chunk) return;
  const std::int64_t together = std::int64_t{s.unroll} * s.fold_lanes;
  s.rounds = count.value() >= together;
  s.rest = count.value() % together != 0;
}

void schedule_elements(const LoopNest& nest, GpuSchedule& s) {
  if (!s.rows.empty()) s.cols = s.rows.back(), s.rows.pop_back();
  if (schedule_tiles(nest, s)) return;
  s.width = access_width(nest, s);
  s.x = kThreads;
  Size count = extent(nest, s.cols);
  for (const Loop& row : s.rows) count = count * extent(nest, row);
  s.short_index = count.is_const() && count.value() < (std::int64_t{1} << 31);
}

void schedule_rows(const LoopNest& nest, const Target& target, GpuSchedule& s, const Loop& folded) {
  s.shape = GpuSchedule::Shape::Rows;
  s.cols = folded;
  const Size count = extent(nest, s.cols);
  if (s.one_chunk && count.value() < s.fold_lanes) s.fold_lanes = power_at_least(count.value());
  if (s.one_chunk) {
    s.x = std::min(kSegment, s.fold_lanes);
  } else if (s.chunk == 1) {
    s.x = kSegment;
  } else {
    const std::int64_t columns = s.part ? s.part : std::max<std::int64_t>(likely(count), 1);
    const std::int64_t chunks = (columns + s.chunk - 1) / s.chunk;
    s.x = kSegment * std::min(kMostTeams, power_at_least(std::max<std::int64_t>(chunks, count.is_const() ? 1 : 8)));
  }
  s.y = s.x > kSegment || s.part ? 1 : kThreads / 2 / s.x;
  if (s.chunk > 1) choose_rounds(nest, s, s.fold_lanes / s.team(), count);
  if (count.is_const() && !s.part) s.kept = kept_rows(nest, count.value(), s.y, target.shared_bytes);
}

// Nothing that is computed from a fold meets the folded elements again.
bool walked_once(const LoopNest& nest) {
  return std::ranges::all_of(
      nest.values, [&](const NestValue& v) { return v.stage == 0 || (v.stage == 1 && !(v.axes & nest.reduced)); });
}

// Whether what a nest folds lies along its last row loop.
bool lies_along_rows(const LoopNest& nest, const GpuSchedule& s, const Loop& folded) {
  return std::ranges::all_of(nest.accesses, [&](const Access& a) {
    return !stride(a, folded).is_const(1) && stride(a, s.rows.back()).is_const(1);
  });
}

// Columns that are walked again: blocks are as narrow as whole sectors allow, so that more of a column stays with them.
void keep_columns(const LoopNest& nest, const Target& target, GpuSchedule& s, std::int64_t count) {
  constexpr std::int64_t kSector = 32, kLeastColumns = 8;
  std::int64_t least = kAccessBytes;
  static_cast<void>(all_accesses(nest, [&](const Access& a) { return least = std::min(least, item_bytes(a)), true; }));
  s.again = true;
  s.x = static_cast<int>(std::clamp<std::int64_t>(kSector / least, kLeastColumns, kSegment));
  std::int64_t room = target.shared_bytes;
  for (const NestValue& v : nest.values)
    if (v.kind == NestValue::Kind::Reduce)
      room -= (s.x * s.y * static_cast<std::int64_t>(item_size(v.dtype)) + 15) / 16 * 16;
  s.kept = kept_rows(nest, count, s.x, room);
}

void schedule_columns(const LoopNest& nest, const Target& target, GpuSchedule& s, const Loop& folded, bool again) {
  constexpr int kMostChunks = 4, kMostSingles = 16;  // folded at the same time
  constexpr int kMostLaneThreads = 8;
  s.shape = GpuSchedule::Shape::Columns;
  s.folded = folded;
  s.x = 1;
  if (!s.rows.empty()) s.cols = s.rows.back(), s.rows.pop_back(), s.x = kSegment;
  const Size count = extent(nest, s.folded);
  if (s.one_chunk && count.value() < s.fold_lanes) s.fold_lanes = power_at_least(count.value());
  const std::int64_t elements = s.part ? s.part : std::max<std::int64_t>(likely(count), 1);
  const std::int64_t chunks = (elements + s.chunk - 1) / s.chunk;
  const int together = s.one_chunk ? 1 : std::min(s.chunk == 1 ? kMostSingles : kMostChunks, power_at_least(chunks));
  if (s.fold_lanes > kMostLaneThreads) s.slots = s.fold_lanes / kMostLaneThreads;
  s.y = s.lane_threads() * (s.slots > 1 ? 1 : together);
  choose_rounds(nest, s, s.slots, count);
  if (again) keep_columns(nest, target, s, count.value());
}

}  // namespace

GpuSchedule make_gpu_schedule(const LoweredGroup& lowered, const Target& target) {
  const LoopNest& nest = lowered.nest;
  const bool again = walks_columns_again(nest, gpu_split_limits());
  if (!again && !can_schedule(nest)) throw InternalError("a reduction whose axes no single loop walks");
  GpuSchedule s;
  s.rows = kept_loops(nest);
  if (!nest.reduced) {
    schedule_elements(nest, s);
    return s;
  }
  const std::vector<Loop> loops = folded_loops(nest);
  const Loop folded = loops.empty() ? Loop{} : loops[0];
  const Size count = extent(nest, folded);
  s.part = lowered.part;
  if (s.part)
    for (const Store& store : nest.stores)
      s.of_part.push_back(!lowered.buffers[static_cast<std::size_t>(store.to.buffer)]);
  s.fold_lanes = nest.fold_lanes;
  s.chunk = nest.fold_lanes == 1 ? 1 : kReductionChunk;
  s.one_chunk = !s.part && count.is_const() && count.value() > 0 && count.value() <= s.chunk;
  const bool across = !s.rows.empty() && walked_once(nest) && lies_along_rows(nest, s, folded);
  if (nest.fold_lanes != kOuterLanes && !across)
    schedule_rows(nest, target, s, folded);
  else
    schedule_columns(nest, target, s, folded, again);
  return s;
}

LaunchShape launch_shape(const GpuSchedule& s, std::int64_t rows, std::int64_t cols, std::int64_t folded) {
  const auto blocks = [](std::int64_t n, std::int64_t each) { return (n + each - 1) / each; };
  LaunchShape shape;
  shape.block[0] = static_cast<unsigned>(s.x), shape.block[1] = static_cast<unsigned>(s.y);
  std::int64_t count = 0;
  switch (s.shape) {
    case GpuSchedule::Shape::Elements:
      count = blocks(rows * (cols / s.width), s.x);
      break;
    case GpuSchedule::Shape::Tiles:
      count = blocks(cols, kTile) * blocks(folded, kTile) * rows;
      break;
    case GpuSchedule::Shape::Rows:
      count = blocks(rows, s.y);
      if (s.part) shape.grid[1] = static_cast<unsigned>(std::max<std::int64_t>(blocks(cols, s.part), 1));
      break;
    case GpuSchedule::Shape::Columns:
      count = blocks(cols, s.x) * rows;
      if (s.part) shape.grid[1] = static_cast<unsigned>(std::max<std::int64_t>(blocks(folded, s.part), 1));
      break;
  }
  constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;
  if (count > kMostBlocks)
    throw OpError(ErrorKind::Runtime, "a tensor has more elements than a GPU's grid has blocks for");
  shape.grid[0] = static_cast<unsigned>(count);
  return shape;
}

SplitLimits gpu_split_limits() {
  return {.most_blocks = 128, .part = 16 * kReductionChunk, .columns = true, .walked_again = kReductionChunk};
}

}  // namespace md
