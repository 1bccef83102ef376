// Test support for split.h: the first half of a function, which hands its state over instead of running an instruction.
#pragma once

#include "frontend/bytecode/split.h"

namespace md {

// What flow knows before every instruction; empty where an item or slot may or may not hold a value.
struct SplitPoint {
  int instruction;
  BreakLayout layout;
};
std::vector<SplitPoint> split_points(const CodeBody& body);

// The same function, except that reaching layout.instruction returns (marker, *stack values, *values of bound slots).
PyRef stop_before(const CodeBody& body, const BreakLayout& layout, PyRef marker);

}  // namespace md
