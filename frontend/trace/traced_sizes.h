// The sizes of a trace that are symbols: where they come from, and what has been assumed of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/report/events.h"
#include "frontend/trace/dynamic_sizes.h"
#include "ir/graph/graph.h"
#include "ir/sizes/shape_env.h"

namespace md {

// A number of an input and the expression it has to equal.
struct InputSize {
  SizePlace place;
  Size size;
  UserFrame where;
};

// Where the value of an unbacked symbol is found once the graph has run.
struct UnbackedPlace {
  Node* node = nullptr;
  int dim = 0;
};

struct TracedSizes {
  ObservedInputs* observed = nullptr;     // of the code object; null: nothing is remembered
  std::shared_ptr<ShapeEnv> env;          // null until a size is a symbol
  std::vector<SizePlace> places;          // by symbol
  std::map<int, UnbackedPlace> unbacked;  // by symbol
  std::vector<InputSize> inputs;          // symbolic numbers of inputs
  bool has_numbers = false;               // floats that are no constants, or made of sizes
  // The comparison of sizes made last.
  struct Test {
    const void* body = nullptr;
    int line = -1;
    Size lhs, rhs;
    int op = 0;                // Py_LT ... Py_GE
    std::string text() const;  // "s0 > 8"
  } test;
};

}  // namespace md
