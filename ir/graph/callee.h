// What a Call node calls: code the op table knows nothing of, such as a Python function.
//
// In the traced dialect a Call has its arguments as written, and `writes` changes tensors among them in place. In the
// functional dialect its values of keywords have joined `args`, operands have the strides of eager mode, it writes into
// copies, and these follow the results among its `types`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// What the trace expects a result to be.
struct ExpectedTensor {
  DType dtype;
  DimVec sizes, strides;
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

// Sizes as numbers.
using SizeNumber = std::function<std::int64_t(Size)>;
std::vector<ExpectedTensor> expected_tensors(std::span<const TensorType> types, const SizeNumber& number);

// The tensors among arguments, from left to right.
void for_each_tensor(std::span<Arg> args, const std::function<void(TensorRef&)>& f);

// Runs a Call of the functional dialect: copies what it writes to, and gives every result the strides of its type.
std::vector<TensorRef> run_functional(const Callee& callee, std::vector<Arg> args,
                                      std::span<const ExpectedTensor> expected);

// Which region a predicate picks: 0 if it holds. Throws OpError for a tensor of several elements.
std::size_t picked_region(const Arg& predicate);

}  // namespace md
