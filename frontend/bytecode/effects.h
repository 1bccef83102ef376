// What canonical instructions do to the value stack and to their local slot, and their other properties: all from their
// rows in opcodes.inc.
#pragma once

#include "frontend/bytecode/instruction.h"

namespace md {

struct Effect {
  int pop, push;
};

Effect stack_effect(const Instruction& i);
// Depth at i.target, given the depth before i.
int depth_at_target(const Instruction& i, int depth);

// What becomes of the local slot that the operand names.
enum class SlotUse : std::uint8_t {
  None,     // the operand names no slot
  Read,     // it must hold a value, and does so afterwards
  Store,    // it takes the top of the stack, which may be NULL
  Delete,   // it must hold a value, and holds none afterwards
  Take,     // what it holds, or NULL, goes to the stack; it holds nothing afterwards
  Enclose,  // what it holds, if anything, goes into a new cell there
  Cell,     // it holds a cell, which stays
};
SlotUse slot_use(Opcode op);
inline bool has_slot_operand(Opcode op) { return slot_use(op) != SlotUse::None; }
bool reads_slot(Opcode op);     // what it holds before matters
bool replaces_slot(Opcode op);  // it holds something else afterwards, or nothing

bool ends_block(Opcode op);
bool inlines_call(Opcode op);
bool pushes_bool(const Instruction& i);
bool only_moves(Opcode op);       // values are moved about
bool can_stand_alone(Opcode op);  // it can run in a frame of its own, apart from its code
bool is_resumable(Opcode op);     // a break there can go on behind it
bool is_quiet(Opcode op);         // nobody sees it when a generator is closed: an exception is passed on
// CALL, CALL_FUNCTION_EX: how many items lie above the pair of callable and self or NULL.
int items_above_callable(const Instruction& i);
bool is_call(Opcode op);

}  // namespace md
