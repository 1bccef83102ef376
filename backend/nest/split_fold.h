// Folding few but very long rows with several threads.
#pragma once

#include "backend/nest/lower_group.h"

namespace md {

enum class FoldShape : std::uint8_t {
  Plain,        // no fold, or rows enough to give every thread some
  Splits,       // few long rows, walked once
  WalkedAgain,  // few long rows whose elements meet the fold's result: what splits is a part of the group
};
FoldShape fold_shape(const LoweredGroup& group, const SplitLimits& limits);

// Of a group that Splits: the nest that folds every part of `limits.part` elements into a scratch
// tensor, and the nest that folds those and computes the rest. A scratch tensor's node is null; in both nests they come
// in the same order.
struct SplitFold {
  LoweredGroup parts, rest;
};
SplitFold split_fold(const LoweredGroup& group, const SplitLimits& limits);

}  // namespace md
