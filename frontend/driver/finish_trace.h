// From a finished trace to an installed cache entry.
#pragma once

#include "frontend/driver/compile_frame.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/report/events.h"
#include "frontend/trace/tracer.h"
#include "ir/run/graph_history.h"

namespace md {

// Throws SkipFrame when there is nothing to capture.
EntryRef finish_trace(Tracer& t, TraceResult& end, const FrameRequest& request, const SpeculationLog& log,
                      FrameNotes& notes, const LogSwitches& logs);

// The process-wide counter behind names like __compiled_fn_3.
int next_name_number();

struct GraphKernels {
  std::shared_ptr<Kernel> forward;
  std::shared_ptr<CompiledBackward> backward;  // null: the graph runs again, or there is nothing to go back through
};
// Whether the graph calls code of the program.
bool calls_out(const Graph& g);

// A user's or our own backend applied to a graph. `differentiated`: through which outputs gradients go back; empty:
// through none. Throws PythonError (BackendCompilerFailed) or InternalError.
GraphKernels compile_graph(std::shared_ptr<Graph> graph, const std::vector<bool>& differentiated, const Tracer& t,
                           const CompileOptions& options, const LogSwitches& logs);

}  // namespace md
