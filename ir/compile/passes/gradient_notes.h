// What functionalize() notes for the differentiation of a graph (ir/compile/differentiate.h).
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/compile/passes/storage_values.h"
#include "ir/infer/composite.h"

namespace md {

// A call of a composite that has a derivative of its own: functional values, and which nodes are its parts.
struct CompositeCall {
  const Op* op;
  std::vector<Arg> args;
  std::vector<Node*> results;
  std::size_t first, end;
};

// The functional forward graph before it gets its Output, and what more can be appended with.
struct FunctionalForward {
  OpCaller& caller;
  FunctionalWriter& out;
  StorageValues& values;
  std::vector<Node*> results;  // what the outputs hold at the end
  std::size_t computed;        // nodes before those that lay the outputs out in memory
};

struct GradientNotes {
  SameHistory same_history;
  std::vector<CompositeCall> composites;  // in order
  std::function<void(FunctionalForward&)> at_end;
};

}  // namespace md
