// TRACE lines and the texts of the graph_code, bytecode and guards artifacts.
#pragma once

#include "frontend/events.h"
#include "frontend/tracer.h"

namespace md {

void log_instruction(Tracer& t, SymbolicFrame& f, const Instruction& i);
void log_graph_input(Node& placeholder, SourceRef source);
void log_graph_call(Tracer& t, const Node& made);
// The caller's frame is the innermost one.
void log_inlining(Tracer& t, const SymbolicFrame& callee);
void log_inlining_done(Tracer& t, const SymbolicFrame& callee);
void log_inlining_failed(const Tracer& t);  // once for each inlined frame that is left, innermost first
std::string graph_code_text(const Graph& g);
void log_guards(const GuardProgram& p, const FrameArgs& args);

}  // namespace md
