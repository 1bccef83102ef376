// Inputs of a graph whose elements only a handler of the program knows: such graphs run op by op, asking it.
#pragma once

#include "ir/graph/graph.h"

namespace md {

// Placeholders have no other use for `index`.
inline constexpr int kHandledInput = -2;
inline void mark_handled(Node& placeholder) { placeholder.index = kHandledInput; }
inline bool is_handled_input(const Node& n) { return n.kind == NodeKind::Placeholder && n.index == kHandledInput; }

}  // namespace md
