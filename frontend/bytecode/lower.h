// Canonical instructions to the running version's: joins, implied instructions and layout rules; then bytes and tables.
#pragma once

#include <string>
#include <vector>

#include "frontend/bytecode/flow.h"
#include "frontend/bytecode/raw_opcodes.h"

namespace md {

// `label` counts canonical instructions; `to_exit`: the END_FOR in front of that instruction instead of itself.
struct LoweredInstruction {
  RawOp op;
  int arg = 0;
  int label = -1;
  bool to_exit = false;
  Position pos;
  Handler handler;  // label: canonical
};

struct LoweredCode {
  std::vector<LoweredInstruction> instructions;
  std::vector<int> first;       // canonical index → first lowered instruction of its own
  std::vector<int> exit_first;  // canonical index → END_FOR in front of it, or -1
  std::vector<PyRef> consts;    // the body's and the keyword names CALLs need
};

LoweredCode lower(const CodeBody& body, const std::vector<FlowState>& flow);

struct EncodedCode {
  std::string code, locations, exceptions;
};
EncodedCode encode(const LoweredCode& lowered, int first_line);

}  // namespace md
