// How a loop nest is run on a GPU: which threads walk which part of it. As a Schedule it changes no bit of any result:
// folds are in the one defined order (registry/reduction_order.h).
#pragma once

#include "backend/machine/target.h"
#include "backend/nest/launch_shape.h"
#include "backend/nest/lower_group.h"
#include "backend/nest/schedule.h"

namespace md {

struct GpuSchedule {
  enum class Shape : std::uint8_t {
    Elements,  // nothing is folded: a thread has `width` elements along the columns
    Tiles,    // nothing is folded: a block has a square of columns and `across`, kept in shared memory for tensors that
              // lie along the latter
    Rows,     // `x` threads share a row and fold its columns; a block has `y` rows
    Columns,  // `x` threads have a column each; `y` of them share the folded axis of one
  };
  Shape shape = Shape::Elements;
  std::vector<Loop> rows;  // slowest first
  Loop folded;             // Columns only; of Tiles: the loop across
  Loop cols;
  int x = 1, y = 1;  // threads of a block
  int width = 1;     // Elements: where addresses allow it, elements per thread and access
  int fold_lanes = 0;
  int slots = 1;              // Columns: lanes of a thread
  int unroll = 1;             // Rows, Columns: elements of a lane that are loaded together
  bool rounds = true;         // Rows, Columns: there may be as many elements as that for all lanes,
  bool rest = true;           // and fewer behind them
  std::int64_t chunk = 0;     // elements folded in lanes before the tree
  bool one_chunk = false;     // no more elements than that, known now
  std::int64_t part = 0;      // Rows, Columns: a block folds so many elements and leaves what follows to another nest
  std::vector<bool> kept;     // Rows, Columns, per value: its row (column) stays in shared memory for later stages
  bool again = false;         // Columns: they are walked again, once for each stage
  std::vector<bool> of_part;  // per store: it is of one element for each part
  std::vector<bool> staged;   // Tiles, per access: it goes through shared memory
  bool short_index = false;   // elements are numbered with 32 bits

  // Threads that fold one chunk of a row together, and how many such teams do so at the same time.
  int team() const { return x > 32 ? 32 : x; }
  int teams() const { return x / team(); }
  // Columns: threads that share the lanes of a column's chunk.
  int lane_threads() const { return fold_lanes / slots; }
};

// Throws InternalError if the nest folds axes in an order no shape can walk (can_schedule).
GpuSchedule make_gpu_schedule(const LoweredGroup& lowered, const Target& target);

// For known numbers of rows (kept ones, outer), columns and folded elements; an empty grid where there is nothing to
// do.
LaunchShape launch_shape(const GpuSchedule& schedule, std::int64_t rows, std::int64_t cols, std::int64_t folded);

inline constexpr int kTile = 32;  // columns, and elements across, of a tile

// Where folds are cut into parts for several blocks, with the power-of-two number of elements of a part.
SplitLimits gpu_split_limits();

}  // namespace md
