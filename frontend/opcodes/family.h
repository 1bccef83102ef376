// How an opcode family file is laid out: one OPCODE block per canonical instruction that opcodes.inc calls Traced.
#pragma once

#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

#define OPCODE(name)                                                               \
  void trace_##name([[maybe_unused]] Tracer& t, [[maybe_unused]] SymbolicFrame& f, \
                    [[maybe_unused]] const Instruction& i)

// Breaks the graph as an instruction does that has no block: GB0082.
[[noreturn]] void no_handler(const SymbolicFrame& f, const Instruction& i);
// The same for one that is traced with config.trace_more only, since the registry lists it.
[[noreturn]] void listed_instruction(const SymbolicFrame& f, const Instruction& i);

}  // namespace md
