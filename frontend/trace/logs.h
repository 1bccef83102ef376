// TRACE lines, and what else the tracer tells of its steps.
#pragma once

#include "frontend/report/events.h"
#include "frontend/trace/tracer.h"

namespace md {

void log_instruction(Tracer& t, SymbolicFrame& f, const Instruction& i);
void log_graph_input(Node& placeholder, SourceRef source);
void log_graph_call(Tracer& t, const Node& made);
// The caller's frame is the innermost one.
void log_inlining(Tracer& t, const SymbolicFrame& callee);
void log_inlining_done(Tracer& t, const SymbolicFrame& callee);
void log_inlining_failed(const Tracer& t);  // once for each inlined frame that is left, innermost first
void log_no_checkpoint();
void log_symbols(const Tracer& t);  // the sizes that are symbols, and what the trace assumed of them
void log_guards(const CompiledGuards& p, const FrameArgs& args);

}  // namespace md
