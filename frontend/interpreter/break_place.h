// May the frame be split where it broke, and how?
#pragma once

#include <optional>
#include <string>

#include "frontend/trace/tracer.h"

namespace md {

enum class BreakVerdict : std::uint8_t {
  Resume,
  SkipLoop,
  SkipPlace /* inside try, or an instruction that cannot be resumed */,
  SkipContext
};

// Looks at every symbolic frame; the root frame's current instruction is the one that would be executed for real.
BreakVerdict judge_break(const Tracer& t);

// A resume function can begin with the frame's current instruction: it is not the rest of one of CPython's, and the
// exit functions of `with` blocks lie where their blocks have put them.
bool can_begin_here(const SymbolicFrame& f);
// Breaks if config.break_every or config.break_at says so of the root frame's current instruction.
void break_if_forced(Tracer& t);
// With config.trace_more a frame that cannot be split where it broke is left there: what follows, the instruction
// included, is code of its own that runs as plain Python. The place nearest to the break where that is possible; no
// instruction (-1) if the trace has done nothing before it that a compiled entry could be for.
FrameStack::RootPlace place_to_leave(const Tracer& t, const CodeBody& body);
// The root frame is the call of a compiled module, and the break is in code of the program that it calls: as a frame of
// its own that breaks once more, and counts then. Frames of this package are not compiled on their own.
bool enters_module(const Tracer& t);

}  // namespace md
