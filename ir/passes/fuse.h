// Decides which nodes of a functional graph run together. Groups come in an order in which they may run one after the
// other; every op node is in exactly one group.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace md {

// Axis of the iteration space that a dimension follows; -1: the dimension has size 1 and follows none.
using AxisMap = SmallVector<int, 5>;

struct FusionGroup {
  enum class Kind : std::uint8_t {
    Loops,  // pointwise ops and reductions over one iteration space: one loop nest
    Call,   // one op with a kernel of its own (matmul, cat, creation, random, argmax, ...)
    View,   // one view: no work, sizes, strides and offset of its operand's memory
  };
  struct Member {
    const Node* node;
    AxisMap axes;  // Loops: per dimension of the result
  };

  Kind kind = Kind::Loops;
  std::vector<Member> members;       // in execution order
  std::vector<const Node*> inputs;   // values from outside, in order of first use
  std::vector<const Node*> outputs;  // values needed outside (other groups, commits, the graph's output)
  SizeVec extents;                   // Loops: the iteration space
  std::uint32_t reduced = 0;         // Loops: bit i: the group's reductions fold axis i (all of them the same axes)
};

// Operands line up with a member's result as broadcasting says (trailing dimensions), whether they come from inside or
// outside; the operand of a reduction has the sizes of the iteration space, dimension i following axis i.
// Views that only rename dimensions (permute, transpose, squeeze, unsqueeze, expand) of values inside a group are
// members too: their `axes` say all there is to know.
// Takes time linear in the size of the graph. `escaping` values (of commits and outputs) are outputs of their group.
std::vector<FusionGroup> fuse(const Graph& functional);

}  // namespace md
