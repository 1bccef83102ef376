// Inputs whose sizes nothing may be decided by, though a call brings them (mark_unbacked).
#pragma once

#include <algorithm>

#include "ir/graph/graph.h"
#include "ir/infer/unbacked.h"

namespace md {

inline bool has_unknown_inputs(const Graph& g) {
  const auto unknown = [](const TensorType& type) { return std::ranges::any_of(type.sizes, is_unbacked); };
  return std::ranges::any_of(g.nodes, [&](const auto& n) {
    return n->kind == NodeKind::Placeholder && std::ranges::any_of(n->types, unknown);
  });
}

}  // namespace md
