// Appends nodes to the functional graph that `functionalize` makes.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

class FunctionalWriter {
 public:
  explicit FunctionalWriter(const Graph& traced);
  std::unique_ptr<Graph> finish();

  // What is appended comes from this node of the traced graph.
  void set_origin(const Node& traced) { origin_ = &traced; }
  const std::string& origin_name() const { return origin_->name; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return graph_->nodes; }

  Node* append(Node n) {
    n.stack = origin_->stack;
    return graph_->append(std::move(n));
  }
  // An op on functional values, opened into those on their parts where some are complex; `types`, if given, are what
  // inference says.
  Node* append_op(const Op& op, BoundArgs args);
  Node* append_op(const Op& op, BoundArgs args, std::vector<TensorType> types);
  // One node per result of a node that has several.
  std::vector<Node*> append_items(Node* of);

  // `n` as it is, or a copy: in row-major order, with the strides of `t`, in memory of its own.
  Node* compact(Node* n);
  Node* laid_out(Node* n, const TensorType& t);
  Node* own(Node* n);

  // Storage numbers of inputs are taken.
  void reserve_storage(int number) { next_storage_ = std::max(next_storage_, number + 1); }
  // The same type in memory of its own.
  TensorType in_own_storage(TensorType t);

 private:
  std::unique_ptr<Graph> graph_;
  const Node* origin_ = nullptr;
  int next_storage_ = 0;
};

}  // namespace md
