// Running single ops and whole traced graphs on real tensors.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// Executes bound calls of the kinds Pointwise, Reduction, Create, Random and Kernel on real tensors; views, composites
// and argument checks are done before it is asked. Two implementations: the scalar reference
// (ir/reference/evaluate.cpp, the oracle) and the block kernels (backend/blocks/).
class Engine {
 public:
  virtual ~Engine() = default;
  // `out` holds tensors already allocated with the inferred sizes and dtypes (dense, maybe permuted), or the operand
  // itself for an in-place call: then possibly strided, and each input is either that very element or disjoint. The
  // dtype of `out` is always the inferred one.
  virtual void run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) = 0;
};
Engine& reference_engine();
Engine& engine();            // the installed one, else the reference
void set_engine(Engine* e);  // e lives for ever

// One op on real tensors: binds nothing, checks everything, allocates results. Throws OpError.
// Views share storage with their operand. A list result comes back as one ListArg.
Arg call_op(const Op& op, std::span<const Arg> bound);
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

// Philox 4x32-10 default generator, one for the process; ir/tensor/philox.h reserves and seeds it under a lock.
struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};
Generator& default_generator();

}  // namespace md
