// What a compilation tells the Python side: logs, counters, explain(). Texts are written in
// minidynamo/_dynamo/report.py.
#pragma once

#include <string>
#include <vector>

#include "frontend/cpython/py_ref.h"
#include "frontend/guards/guard.h"
#include "frontend/report/graph_break.h"
#include "ir/graph/graph.h"

namespace md {

// Bits of minidynamo._logging.names.BITS, read once per compilation.
struct LogSwitches {
  bool graph_breaks = false, graph_code = false, graph = false, guards = false, recompiles = false, bytecode = false;
  bool info = false, debug = false, trace_source = false, trace_bytecode = false, trace_call = false,
       output_code = false;
  bool graph_sizes = false, recompiles_verbose = false, aot_graphs = false, perf_hints = false, dynamic = false;
  bool fusion = false;
};
LogSwitches log_switches();

PyRef frames_list(const std::vector<UserFrame>& frames);  // [(file, line, function)]
// minidynamo._dynamo.report.<function>(*args); args are stolen into a tuple. Throws PythonError.
PyRef report(const char* function, std::initializer_list<PyRef> args);
PyRef py_str(const std::string& s);
PyRef py_int(long long v);
PyRef break_parts_call(const char* function, const GraphBreak& b, const std::vector<UserFrame>& frames);

// A module of this package, by its full name. Programs may replace __import__ and sys.modules: it is imported once.
PyRef own_module(const char* name);

// The exception of a break under fullgraph is set; throws PythonError.
[[noreturn]] void raise_unsupported(const GraphBreak& b, const std::vector<UserFrame>& frames);
// Fetches the Python exception that is set as a normalised instance and clears it.
PyRef take_exception();
// Clears the exception that is set, which is nobody's business. One that a signal handler or another thread had raised
// here by chance is raised again at the thread's next instruction.
void drop_exception() noexcept;

}  // namespace md
