// How a loop nest is run on a processor. The nest says what; a Schedule says in which order, how wide and in how many
// pieces. Nothing here changes a bit of any result.
#pragma once

#include "backend/machine/target.h"
#include "backend/nest/loop_nest.h"
#include "backend/nest/loops.h"

namespace md {

struct Schedule {
  enum class Shape : std::uint8_t {
    Rows,     // every row is walked along `cols` once per stage; reductions fold the columns
    Columns,  // reductions fold `folded`, vectors lie along `cols`, which they keep
  };
  Shape shape = Shape::Rows;
  std::vector<Loop> rows;  // slowest first
  Loop folded;             // Columns only
  Loop cols;
  int lanes = 1;                      // elements per vector
  int fold_lanes = 0;                 // lanes a reduction folds into (registry/reduction_order.h)
  std::int64_t chunk = 0;             // elements folded in lanes before the tree; a power of two
  bool accumulate_in_memory = false;  // the 64 lanes of a reduction live on the stack, not in registers
  bool one_chunk = false;             // at most 1,024 elements are folded, known now
  std::vector<int> pass;              // per value: which pass over an L1 block computes it; empty: one pass
  int block = 0;                      // elements per L1 block if there are passes; columns per block
  std::vector<bool> kept;  // per value: a whole row of it stays in L1 for later stages; empty: they compute all again
};

// For the target's vectors and caches. Throws InternalError if the nest folds axes in an order no shape can walk (see
// can_schedule).
Schedule make_schedule(const LoopNest& nest, const Target& target);
// Whether the reduced axes can be walked in their defined order by one loop.
bool can_schedule(const LoopNest& nest);

// Nanoseconds per element of the iteration space on one thread, roughly.
double element_cost(const LoopNest& nest);

}  // namespace md
