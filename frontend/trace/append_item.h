// The node of one result of a node that has several.
#pragma once

#include "ir/graph/graph.h"

namespace md {

inline Node* append_item(Graph& graph, Node* of, std::size_t i) {
  Node get{NodeKind::GetItem};
  get.target = get.name = "getitem";
  get.args = {of};
  get.index = static_cast<int>(i);
  get.types = {of->types[i]};
  get.stack = of->stack;
  return graph.append(std::move(get));
}

}  // namespace md
