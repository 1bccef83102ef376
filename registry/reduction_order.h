// The order in which every tier folds a reduction (docs/numerics.md): the bits of a sum depend on these numbers.
#pragma once

#include <cstdint>

namespace md {

inline constexpr std::int64_t kReductionChunk = 1024;  // elements folded in lanes before the tree of chunks
inline constexpr int kInnerLanes = 64;                 // the operand's last axis is reduced
inline constexpr int kOuterLanes = 4;                  // the operand's last axis is kept

}  // namespace md
