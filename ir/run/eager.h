// Running single ops and whole traced graphs on real tensors.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/infer/composite.h"
#include "ir/reference/engine.h"

namespace md {

// One op on real tensors: binds nothing, checks everything, allocates results. Throws OpError.
// Views share storage with their operand. A list result comes back as one ListArg.
Arg call_op(const Op& op, std::span<const Arg> bound);
// Calls of call_op().
OpCaller& eager_caller();
// self.op_(...): computes op and writes it into `self` (broadcast to it, cast rules of torch), returns self.
TensorRef call_inplace(const Op& op, std::span<const Arg> bound);

// x[index] and x[index] = value: ints, slices, None, Ellipsis, tensors and lists of positions, masks, tuples of them.
TensorRef index_tensor(const TensorRef& x, const Arg& index);
void assign_index(const TensorRef& x, const Arg& index, const Arg& value);

class UndoLog;
// Runs a traced graph node by node (backend "eager", GraphModule.__call__). `failed`, if given, is set to the node that
// raised before the exception leaves; `undo` notes what is written, and taking that back is left to the caller.
std::vector<TensorRef> interpret(const Graph& traced, std::span<const TensorRef> inputs, const Node** failed = nullptr,
                                 UndoLog* undo = nullptr);

}  // namespace md
