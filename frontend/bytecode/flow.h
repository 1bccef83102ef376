// Data flow over canonical code: what every stack item and slot can be before each instruction. Generated code is
// verified with it before CPython sees it, since CPython checks nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/bytecode/instruction.h"

namespace md {

// Bool: exactly True or False. Length: what GET_LEN pushed.
enum class Item : std::uint8_t { Value, Bool, Length, Null, ValueOrNull };
enum class SlotState : std::uint8_t { Unbound, Bound, Either };

struct FlowState {
  bool reached = false;
  std::vector<Item> stack;  // bottom to top
  std::vector<SlotState> slots;
};

// Before each instruction. Throws InternalError for underflow, merges of different depth, a NULL where a value is
// needed or in the wrong place of a call, slots surely without the cell that is used, and code that runs off its end.
std::vector<FlowState> analyse(const CodeBody& body);
// Instructions that can follow, in their order; `entry` is one of them.
std::vector<int> reachable_from(const CodeBody& body, int entry);

}  // namespace md
