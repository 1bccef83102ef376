// TRACE lines and the texts of the graph_code, bytecode and guards artifacts.
#pragma once

#include "frontend/events.h"
#include "frontend/tracer.h"

namespace md {

void log_instruction(Tracer& t, SymbolicFrame& f, const Instruction& i);
void log_inlining(Tracer& t, const SymbolicFrame& callee);
void log_inlining_done(Tracer& t, const SymbolicFrame& callee);
std::string graph_code_text(const Graph& g);
void log_guards(const GuardProgram& p, const FrameArgs& args);

}  // namespace md
