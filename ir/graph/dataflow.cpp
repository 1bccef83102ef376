// Views and the memory they show, layouts, values that leave the graph, nodes that do more than compute.
#include "ir/graph/dataflow.h"

namespace md {

bool is_view(const Node& n) { return n.kind == NodeKind::Op && op(n.op).kind() == OpKind::View; }

const Node* memory_root(const Node* n) {
  while (is_view(*n)) n = n->args[0].get<Node*>();
  return n;
}

Node* memory_root(Node* n) {
  while (is_view(*n)) n = n->args[0].get<Node*>();
  return n;
}

bool same_type(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && a.sizes == b.sizes && a.strides == b.strides &&
         a.offset == b.offset;
}

bool is_row_major(const TensorType& t) {
  Size step = 1;
  for (std::size_t i = t.sizes.size(); i-- > 0;) {
    if (t.sizes[i].is_const(1)) continue;
    if (!(t.strides[i] == step)) return false;
    step = step * t.sizes[i];
  }
  return true;
}

std::unordered_set<const Node*> escaping(const Graph& g) {
  std::unordered_set<const Node*> found;
  const auto add = [&](const Node* n) {
    while (found.insert(n).second && is_view(*n)) n = n->args[0].get<Node*>();
    if (n->kind == NodeKind::GetItem) found.insert(n->args[0].get<Node*>());
  };
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Commit || n->kind == NodeKind::Output) for_each_input(*n, add);
  }
  return found;
}

bool has_effect(const Node& n) {
  if (n.kind == NodeKind::GetItem || n.kind == NodeKind::GetAttr) return false;
  if (n.kind != NodeKind::Op) return true;
  const Op& o = op(n.op);
  return o.decl->can_fail || o.kind() == OpKind::Random;
}

}  // namespace md
