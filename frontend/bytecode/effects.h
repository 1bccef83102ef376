// The effect of canonical instructions on the value stack.
#pragma once

#include "frontend/bytecode/instruction.h"

namespace md {

struct Effect {
  int pop, push;
};

Effect stack_effect(const Instruction& i);
// Depth at i.target, given the depth before i.
int depth_at_target(const Instruction& i, int depth);
bool ends_block(Opcode op);
bool inlines_call(Opcode op);
bool pushes_bool(const Instruction& i);
// CALL, CALL_FUNCTION_EX: how many items lie above the pair of callable and self or NULL.
int items_above_callable(const Instruction& i);
bool is_call(Opcode op);
// Uses a.slot as its operand.
bool has_slot_operand(Opcode op);

}  // namespace md
