// The history of tensors that a compiled graph computed: one node for the whole graph. Its backward is a compiled graph
// where there is one; else, and where backward() is itself recorded, it runs the traced graph again, op by op, and goes
// back through that.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/gradients/saved_tensor.h"
#include "ir/gradients/tape.h"
#include "ir/graph/graph.h"

namespace md {

class GraphRunNode;

// Which placeholders of a traced graph have their storage written to.
std::vector<bool> written_inputs(const Graph& g);

// The backward graph of a compiled one.
class CompiledBackward {
 public:
  virtual ~CompiledBackward() = default;
  // So many values the forward kernel hands out after the graph's outputs.
  virtual std::size_t kept_values() const = 0;
  // Gradients by input, null for those that nothing reaches, from those by output; nothing if the graph is to be run
  // again.
  virtual std::optional<std::vector<TensorRef>> run(std::span<const SavedTensor> inputs,
                                                    std::span<const SavedTensor> kept,
                                                    std::span<const TensorRef> grads) = 0;
  // The same as calls of ops; nothing, and no call has been made, where it is more than that.
  virtual std::optional<std::vector<TensorRef>> call_ops(std::span<const SavedTensor> inputs,
                                                         std::span<const SavedTensor> kept,
                                                         std::span<const TensorRef> grads, OpCaller& caller) = 0;
};

// Made before the graph runs on `inputs`, for what it writes to is different afterwards.
class GraphHistory {
 public:
  GraphHistory(std::shared_ptr<const Graph> graph, std::shared_ptr<CompiledBackward> backward,
               std::span<TensorImpl* const> inputs);
  // After the run: `states` says which outputs require grad, `kept` is what the kernel handed out after them. Outputs
  // that have a history keep it.
  void attach(std::span<const TensorRef> outputs, std::span<const TensorRef> kept, std::span<const GradState> states);

 private:
  Ref<GradNode> node_;
  struct Written {
    TensorRef tensor;
    Ref<GradNode> before;
  };
  std::vector<Written> written_;  // inputs the graph writes to, in the order of the node's further results
};

}  // namespace md
