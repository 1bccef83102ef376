// A joint graph becomes two that run apart: what the backward graph needs of the forward one is kept in between.
#pragma once

#include "ir/compile/differentiate.h"

namespace md {

struct BackwardInput {
  enum class From : std::uint8_t { Input, Kept, Tangent, Sizes } from;  // Sizes: of an input, not its elements
  int index;  // of the forward graph's input, among its kept values, of its output
};

struct SplitGraph {
  std::unique_ptr<Graph> forward;     // results: the traced graph's, then the kept values
  std::unique_ptr<Graph> backward;    // results: gradients
  std::vector<std::size_t> kept;      // the kept values, by their place in the joint graph
  std::vector<BackwardInput> inputs;  // of `backward`, in order
  std::vector<int> gradient_of;       // by result of `backward`: which input
};

// What is kept is the least that everything else can be computed from again by pointwise ops, views and constants: a
// minimum cut by bytes. Products, reductions and random numbers are never computed twice. With `kept`, those values
// are given: a joint graph of the same trace has kept them.
SplitGraph split(const JointGraph& joint, const std::vector<std::size_t>* kept = nullptr);

}  // namespace md
