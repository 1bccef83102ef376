// What a Call node calls: code the op table knows nothing of, such as a Python function.
//
// In the traced dialect a Call has its arguments as written, and `writes` changes tensors among them in place. In the
// functional dialect its values of keywords have joined `args`, operands have the strides of eager mode, it writes into
// copies, and these follow the results among its `types`.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// What the trace expects a result to be.
struct ExpectedTensor {
  DType dtype;
  DimVec sizes, strides;
  Device device;
};

class Callee {
 public:
  virtual ~Callee() = default;
  // Runs on real tensors; values of keywords come last. Results in order, each as expected but for strides.
  // Throws whatever the code raised, or an error of its own if a result is not what was expected.
  virtual std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor> expected) const = 0;
  // The same on tensors that change after the call, where `run` gets copies of what the callee writes to.
  virtual std::vector<TensorRef> run_on_originals(std::span<const Arg> args,
                                                  std::span<const ExpectedTensor> expected) const {
    return run(args, expected);
  }

  std::vector<int> writes;  // which of the tensors among the arguments, counted from left to right, it writes to
  bool aliases = false;     // a result may share memory with an argument: no functional form
};

}  // namespace md
