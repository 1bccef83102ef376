// A traced graph compiled together with its gradients: a forward graph that keeps what the way back needs, and a
// backward graph, compiled when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ir/compile/backend.h"
#include "ir/compile/partition.h"
#include "ir/run/graph_history.h"

namespace md {

class GradientProgram final : public CompiledBackward {
 public:
  // Gradients come in for the outputs that `differentiated` names. Throws NotFunctional as differentiate() does.
  GradientProgram(std::shared_ptr<const Graph> traced, std::vector<bool> differentiated, Backend& backend,
                  const CompileStyle& style);

  // Functional and through the passes. To be taken once.
  std::unique_ptr<Graph> take_forward() { return std::move(forward_); }

  // The backward graph of all of them, as it is compiled; before run().
  std::unique_ptr<Graph> backward_graph() const;

  std::size_t kept_values() const override { return kept_.size(); }
  std::optional<std::vector<TensorRef>> run(std::span<const SavedTensor> inputs, std::span<const SavedTensor> kept,
                                            std::span<const TensorRef> grads) override;
  std::optional<std::vector<TensorRef>> call_ops(std::span<const SavedTensor> inputs, std::span<const SavedTensor> kept,
                                                 std::span<const TensorRef> grads, OpCaller& caller) override;

 private:
  // For gradients of some of the outputs.
  struct Part {
    std::unique_ptr<Graph> graph;  // until it is compiled
    std::unique_ptr<Kernel> kernel;
    std::vector<BackwardInput> inputs;
    std::vector<int> gradient_of;
    std::vector<TensorType> tangents;  // by place in `inputs`
  };
  static Part part_of(SplitGraph&& s);
  Part part_anew(const std::vector<bool>& given) const;
  // Its graph stays: it is not compiled by itself. Null: there is none, or it is more than ops.
  const Part* called_part_for(const std::vector<bool>& given);
  // Nothing where what hooks gave back is not what the graph was made for.
  static std::optional<std::vector<TensorRef>> arguments(const Part& part, std::span<const SavedTensor> inputs,
                                                         std::span<const SavedTensor> kept,
                                                         std::span<const TensorRef> grads, OpCaller& caller);
  // Null: to be found by running the graph again.
  Part* part_for(const std::vector<bool>& given);

  const std::shared_ptr<const Graph> traced_;
  Backend& backend_;
  const CompileStyle style_;
  std::unique_ptr<Graph> forward_;
  const std::vector<bool> differentiated_;
  std::vector<std::size_t> kept_;
  std::mutex mutex_;  // of parts_ and called_parts_, whose elements stay where they are
  std::map<std::vector<bool>, std::unique_ptr<Part>> parts_, called_parts_;
};

}  // namespace md
