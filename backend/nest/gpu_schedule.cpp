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
  const auto narrow = [&](const Access& a) { return most = std::min(most, kAccessBytes / item_bytes(a)), true; };
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

// Which values stay in shared memory for later stages: first those that cost much to compute again, then elements that
// would be loaded again. Nobody but the thread that has put one there reads it.
std::vector<bool> kept_rows(const LoopNest& nest, std::int64_t columns, std::int64_t rows, const Target& target) {
  constexpr int kWorthKeeping = 24;  // instructions
  const std::size_t n = nest.values.size();
  int last = 0;
  for (const NestValue& v : nest.values) last = std::max(last, v.stage);
  std::vector<bool> kept(n);
  if (last == 0) return kept;
  std::int64_t room = target.shared_bytes;
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

void schedule_elements(const LoopNest& nest, GpuSchedule& s) {
  if (!s.rows.empty()) s.cols = s.rows.back(), s.rows.pop_back();
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
  if (count.is_const() && !s.part) s.kept = kept_rows(nest, count.value(), s.y, target);
}

void schedule_columns(const LoopNest& nest, GpuSchedule& s, const Loop& folded) {
  constexpr int kMostChunks = 4;  // folded at the same time
  s.shape = GpuSchedule::Shape::Columns;
  s.folded = folded;
  s.cols = s.rows.back(), s.rows.pop_back();
  const Size count = extent(nest, s.folded);
  if (s.one_chunk && count.value() < s.fold_lanes) s.fold_lanes = power_at_least(count.value());
  s.x = kSegment;
  const std::int64_t chunks = (std::max<std::int64_t>(likely(count), 1) + s.chunk - 1) / s.chunk;
  const int together = s.one_chunk ? 1 : std::min(kMostChunks, power_at_least(chunks));
  s.y = s.fold_lanes * together;
}

}  // namespace

GpuSchedule make_gpu_schedule(const LoweredGroup& lowered, const Target& target) {
  const LoopNest& nest = lowered.nest;
  if (!can_schedule(nest)) throw InternalError("a reduction whose axes no single loop walks");
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
  if (nest.fold_lanes != kOuterLanes || s.rows.empty())
    schedule_rows(nest, target, s, folded);
  else
    schedule_columns(nest, s, folded);
  return s;
}

LaunchShape launch_shape(const GpuSchedule& s, std::int64_t rows, std::int64_t cols) {
  const auto blocks = [](std::int64_t n, std::int64_t each) { return static_cast<unsigned>((n + each - 1) / each); };
  LaunchShape shape;
  shape.block[0] = static_cast<unsigned>(s.x), shape.block[1] = static_cast<unsigned>(s.y);
  switch (s.shape) {
    case GpuSchedule::Shape::Elements:
      shape.grid[0] = blocks(rows * (cols / s.width), s.x);
      break;
    case GpuSchedule::Shape::Rows:
      shape.grid[0] = blocks(rows, s.y);
      if (s.part) shape.grid[1] = blocks(cols, s.part);
      break;
    case GpuSchedule::Shape::Columns: {
      // Tiles of columns are neighbours; rows are counted beyond them.
      shape.grid[0] = blocks(cols, s.x) * static_cast<unsigned>(rows);
      break;
    }
  }
  return shape;
}

}  // namespace md
