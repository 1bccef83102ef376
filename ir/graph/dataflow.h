// What several passes ask about a functional graph.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/graph/graph.h"

namespace md {

bool is_view(const Node& n);
// The node whose memory `n` shows: follows views up.
const Node* memory_root(const Node* n);
Node* memory_root(Node* n);
// The same for many nodes, asked in their order: a chain of views is followed once and not from each of its links.
class MemoryRoots {
 public:
  Node* of(Node* n) {
    if (!is_view(*n)) return n;
    Node*& root = known_[n];
    if (!root) {
      Node* const above = n->args[0].get<Node*>();
      const auto found = known_.find(above);
      root = found != known_.end() && found->second ? found->second : memory_root(above);
    }
    return root;
  }

 private:
  std::unordered_map<const Node*, Node*> known_;
};
// Sizes, strides, offset and dtype agree: one may stand for the other in every op, views included.
bool same_type(const TensorType& a, const TensorType& b);

// Contiguous; strides of dimensions of size 1 do not matter.
bool is_row_major(const TensorType& t);

// Values that leave the graph, and the memory behind them: results, committed values, what their views show. Each is a
// tensor of its own to the user, so that none may be merged with another or with an input.
std::unordered_set<const Node*> escaping(const Graph& functional);

// Removing the node would change what the program does: failures, random streams.
bool has_effect(const Node& n);

template <class F>
void for_each_input(const Node& n, F&& f) {
  for (const Arg& a : n.args) for_each_value(a, f);
  for (const auto& [key, a] : n.kwargs) for_each_value(a, f);
}

template <class F>
void for_each_value(const Arg& a, F&& f) {
  if (const auto* n = a.get_if<Node*>()) {
    f(*n);
  } else if (const auto* l = a.get_if<ListArg>()) {
    for (const Arg& x : l->items) for_each_value(x, f);
  } else if (const auto* s = a.get_if<SliceArg>()) {
    for (const Arg& x : *s->parts) for_each_value(x, f);
  }
}

// Replaces nodes by others as a pass walks on; chains are followed.
class Replacements {
 public:
  void replace(const Node* old, Node* by) { to_[old] = resolve(by); }
  Node* resolve(Node* n) const {
    const auto found = to_.find(n);
    return found == to_.end() ? n : found->second;
  }
  void apply(Node& n) const {
    if (to_.empty()) return;
    for (Arg& a : n.args) for_each_node(a, [&](Node*& in) { in = resolve(in); });
  }
  bool empty() const { return to_.empty(); }

 private:
  std::unordered_map<const Node*, Node*> to_;
};

}  // namespace md
