// Runs functional graphs without compiling them: the oracle of the code generators, and backend "blocks".
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/reference/engine.h"
#include "ir/run/eager.h"

namespace md {

// A functional graph made ready to run often: nodes numbered, last uses known. Thread-safe.
class GraphEvaluator {
 public:
  explicit GraphEvaluator(std::shared_ptr<const Graph> functional);
  // All values first, then the commits: an OpError leaves every input as it was.
  void run(Engine& engine, std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const;
  // A region, whose symbols are those of the graph around it.
  void run(Engine& engine, std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs,
           const std::vector<std::int64_t>& symbols) const;
  std::size_t output_count() const;
  const Graph& graph() const { return *graph_; }

 private:
  struct Step {
    const Node* node;
    std::vector<int> operands;  // slots, in the order for_each_node finds them
    int slot;                   // of the first result
    std::vector<int> dead;      // slots nobody reads afterwards
    std::vector<std::shared_ptr<const GraphEvaluator>> regions;
  };
  class Run;
  void run(Run& r, std::span<TensorRef> outputs) const;

  const std::shared_ptr<const Graph> graph_;
  std::vector<Step> steps_, commits_;
  std::vector<int> outputs_;
  int inputs_ = 0, slots_ = 0;
  bool finds_sizes_ = false;  // some are known only once an op has run
};

// Once, on fresh outputs.
std::vector<TensorRef> evaluate(const Graph& functional, std::span<const TensorRef> inputs, Engine& engine);

}  // namespace md
