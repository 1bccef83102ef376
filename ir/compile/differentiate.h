// Reverse mode over functional graphs: a traced graph and its gradients as one graph.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

struct JointGraph {
  // Functional: the forward graph, whose results are the Output's; then placeholders for the gradients of its results
  // and what is computed from them. To be split before it runs (ir/compile/partition.h).
  std::unique_ptr<Graph> graph;
  std::size_t forward_nodes = 0;  // the first nodes are the forward graph's, commits included
  std::vector<Node*> tangents;    // by output: the gradient that comes in; null where none does
  std::vector<Node*> gradients;   // by input: the gradient that goes out; null where none does
};

// Gradients come in for the outputs that `differentiated` names. The same derivatives as backward() of eager calls
// uses, in the same order. Throws NotFunctional for a graph whose gradients have to be found by running it again: one
// that has no functional form, writes to what requires grad, calls code or an op without a derivative, or has sizes
// that depend on values.
JointGraph differentiate(const Graph& traced, const std::vector<bool>& differentiated);

}  // namespace md
