// Test support: the first half of a split function, which hands its state over instead of running an instruction; and
// code stretched by NOPs.
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

// A NOP before every instruction that need not follow its predecessor directly: every jump, table and size changes.
void pad_with_nops(CodeBody& body);

}  // namespace md
