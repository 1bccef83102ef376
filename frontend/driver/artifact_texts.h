// Artifacts that show a finished compilation: graph_code, graph, graph_sizes, aot_graphs, fusion, bytecode, perf_hints.
#pragma once

#include "frontend/driver/compile_frame.h"
#include "frontend/report/events.h"
#include "frontend/trace/tracer.h"
#include "ir/compile/backend.h"

namespace md {

std::string graph_code_text(const Graph& g);
std::string graph_sizes_text(const Graph& g);
// "r0 = LoadSource L['x']": what an entry does around its kernel, a line for each step.
std::vector<std::string> plan_lines(const EntryPlan& plan, const std::string& graph_name);

void log_traced_graph(const Graph& g, const LogSwitches& logs);
void log_functional_graph(const Graph& g, const char* direction = "Forward");
void log_fusion(const Graph& functional, const Backend& backend, const char* direction = "Forward");
void log_gradient_hint(const Graph& g, const char* why);  // its gradients are not compiled
// The code object as it is, and what runs in its place: the plan, and at a break the code around it.
void log_bytecode(const FrameRequest& request, const EntryPlan& plan, const std::string& graph_name);
// The numbers of the inputs as the trace has them.
void log_input_sizes(const Tracer& t);
// What makes this graph slower than it could be; `op_by_op` says why nothing is fused, empty if it is compiled.
void log_perf_hints(const Graph& g, const Tracer& t, const std::string& op_by_op);

}  // namespace md
