// A code object as a list of real instructions: EXTENDED_ARG folded, caches skipped, positions and handlers attached.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/bytecode/raw_opcodes.h"
#include "frontend/bytecode/tables.h"

namespace md {

struct RawInstruction {
  RawOp op;
  int arg;
  int start, end;  // code units, EXTENDED_ARG and caches included
  Position pos;
  Handler handler;      // label: code unit
  int jump_to() const;  // code unit, or -1
};

std::vector<RawInstruction> read_code(PyCodeObject* code);

// `half` picks a slot of a superinstruction. Throws BadCode for what the code's tables do not have.
PrintedOperand printed_operand(PyCodeObject* code, const RawInstruction& raw, int half = 0);

}  // namespace md
