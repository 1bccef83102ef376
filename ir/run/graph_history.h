// The history of tensors that a compiled graph computed: one node for the whole graph, whose backward runs the traced
// graph again, recorded op by op, and goes back through that.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/gradients/tape.h"
#include "ir/graph/graph.h"

namespace md {

class GraphRunNode;

// Made before the graph runs on `inputs`, for what it writes to is different afterwards.
class GraphHistory {
 public:
  GraphHistory(std::shared_ptr<const Graph> graph, std::span<TensorImpl* const> inputs);
  // After the run: `states` says which outputs require grad. Outputs that have a history keep it.
  void attach(std::span<const TensorRef> outputs, std::span<const GradState> states);

 private:
  Ref<GradNode> node_;
  std::vector<TensorRef> written_;  // inputs the graph writes to, in the order of the node's further results
};

}  // namespace md
