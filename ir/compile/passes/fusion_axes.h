// How the dimensions of nodes lie along the axes of a fused group.
#pragma once

#include <optional>

#include "ir/compile/passes/fuse.h"

namespace md {

// A space's own axes; a dimension of size 1 follows none, so that no larger one is taken to lie along it.
AxisMap own_axes(const SizeVec& sizes);
// Bit d: the reduction folds dimension d of its operand, which has so many.
std::uint32_t reduced_dims(const Node& reduction, int rank);
// Whether the folded axes lie next to each other, axes of size 1 aside.
bool is_one_run(std::uint32_t reduced, const SizeVec& extents);
// Axes of a view that permutes, drops and adds dimensions of size 1, where its operand has `from`; nothing for others.
std::optional<AxisMap> renamed_axes(const Node& view, const Node& operand, const AxisMap& from);
// Dimensions that only outside operands span follow the axis at their position; nothing where that is taken.
std::optional<AxisMap> completed_axes(const SizeVec& extents, const SizeVec& sizes, AxisMap axes);

}  // namespace md
