// How an opcode family file is laid out: one OPCODE block per canonical instruction, one row for each in its table.
#pragma once

#include <span>

#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

struct OpcodeRow {
  Opcode op;
  OpcodeHandler handler;
};

#define OPCODE(name) \
  void name([[maybe_unused]] Tracer& t, [[maybe_unused]] SymbolicFrame& f, [[maybe_unused]] const Instruction& i)

// Breaks the graph as an instruction does that has no row: GB0082.
[[noreturn]] void no_handler(const SymbolicFrame& f, const Instruction& i);

std::span<const OpcodeRow> stack_opcodes();
std::span<const OpcodeRow> name_opcodes();
std::span<const OpcodeRow> operator_opcodes();
std::span<const OpcodeRow> build_opcodes();
std::span<const OpcodeRow> call_opcodes();
std::span<const OpcodeRow> control_opcodes();
std::span<const OpcodeRow> exception_opcodes();
std::span<const OpcodeRow> pattern_opcodes();

}  // namespace md
