// Decides which nodes of a functional graph run together. Groups come in an order in which they may run one after the
// other.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// Axis of the iteration space that a dimension follows; -1: the dimension has size 1 and follows none.
using AxisMap = SmallVector<int, 5>;

struct FusionGroup {
  enum class Kind : std::uint8_t {
    Loops,  // pointwise ops and reductions over one iteration space: one loop nest
    Call,   // one op with a kernel of its own (matmul, cat, creation, random, argmax, ops that may fail), and its items
    View,   // one view: no work, sizes, strides and offset of its operand's memory
  };
  struct Member {
    const Node* node;
    AxisMap axes;  // Loops: per dimension of the result
  };

  Kind kind = Kind::Loops;
  Device device;                     // Loops: where all of its results are
  std::vector<Member> members;       // in execution order
  std::vector<const Node*> inputs;   // values from outside, in order of first use
  std::vector<const Node*> outputs;  // members needed outside: by other groups, commits, the graph's output
  SizeVec extents;                   // Loops: the iteration space
  std::uint32_t reduced = 0;         // Loops: bit i: the group's reductions fold axis i, all of them the same axes
};

// Strides of the dimensions of a member's result, as strides of the axes of its Loops group: 0 along the others.
SizeVec along_axes(const FusionGroup& group, const FusionGroup::Member& m, const SizeVec& strides);

// Every op node is in exactly one group, but for views: a view that only renames dimensions (permute, transpose,
// squeeze, unsqueeze) of a value inside a Loops group is a member there for its users inside, with its own axes, and a
// View group for its users outside.
//
// In a Loops group the operands of a pointwise member line up with its result as broadcasting says (trailing
// dimensions), from inside or outside. Inputs are on the group's device; numbers of the CPU (tensors without
// dimensions) may be read by groups of any. The operand of a reduction has the sizes of the iteration space; its
// dimension i follows axis i. Views of members that leave the graph are View groups on a stored value, never copies.
//
// Takes time linear in the size of the graph.
std::vector<FusionGroup> fuse(const Graph& functional);

}  // namespace md
