// Who executes bound calls on real tensors: the reference, or what a backend has installed.
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
  // A call whose results have sizes that elements decide (ir/graph/dynamic.h), on tensors of another device than the
  // CPU; it makes the results. False: the CPU does it on copies.
  virtual bool run_dynamic(const Op& op, std::span<const Arg> args, std::vector<TensorRef>& made) { return false; }
};
Engine& reference_engine();
Engine& engine();  // of the CPU: the installed one, else the reference
// That of results on a device; on one without memory it does nothing. Throws OpError(Runtime) if there is none.
Engine& engine(Device d);
void set_engine(DeviceType type, Engine* e);  // e lives for ever

}  // namespace md
