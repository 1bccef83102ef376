// Values stacked along a new dimension: a cat of operands that were unsqueezed there. The pairs that complex values are
// joined of are such stacks.
#pragma once

#include <utility>

#include "ir/graph/graph.h"

namespace md {

// The dimension along which `cat` stacks values of its own dtype and of one size; -1 if it is no such stack.
int stacked_dim(const Node& cat);
// Whether `n` is complex numbers seen in a stack of their two parts.
bool is_joined_pairs(const Node& n);
// What two sums of nothing but zeros and one half of all pairs each consist of: `a` and `b` write the first and the
// second halves into zeros, in whichever order. Nulls if they do anything else.
std::pair<Node*, Node*> added_halves(const Node& a, const Node& b);
// What a `select` with these arguments gets of the stack `on`; null for anything else.
Node* selected_part(const Op& view, const BoundArgs& args, const Node& on);

}  // namespace md
