// A fusion group becomes one loop nest.
#pragma once

#include <vector>

#include "backend/nest/loop_nest.h"
#include "ir/compile/passes/fuse.h"

namespace md {

// Which folds are cut into parts that are folded side by side.
struct SplitLimits {
  std::int64_t most_blocks = 8;   // rows (of folds that keep the last axis: 32 columns) up to which it is worth it
  std::int64_t part = 64 * 1024;  // elements of a part: a power of two of whole chunks
  bool columns = false;           // folds that keep the last axis, too
  // Elements of a column up to which a nest may walk it again, where folds keep the last axis and what follows meets
  // the folded elements.
  std::int64_t walked_again = 0;
};

// Whether a nest is one of those, and its columns are short enough.
bool walks_columns_again(const LoopNest& nest, const SplitLimits& limits);

struct LoweredGroup {
  const Node* call = nullptr;  // set: no loop nest, but this op through the engine
  LoopNest nest;
  std::vector<const Node*> buffers;  // whose memory each buffer of the nest is: operands, then results
  std::vector<Size> shifts;          // elements by which a buffer begins later than its node; as many as are needed
  // Set by split_fold: the step runs once per so many folded columns and stores into scratch, whose node is null.
  std::int64_t part = 0;
  std::vector<TensorType> scratch;
};

// What computes `group`, in order: one loop nest, or several steps if no single schedule can walk it.
std::vector<LoweredGroup> lower_group(const FusionGroup& group, const SplitLimits& limits = {});

}  // namespace md
