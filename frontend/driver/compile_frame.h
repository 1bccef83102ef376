// The story of a miss: trace → graph → backend → plan → cache entry.
#pragma once

#include "frontend/entries/code_cache.h"
#include "frontend/entries/compile_options.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/trace_config.h"

namespace md {

class CompiledPlan final : public CompiledCode {
 public:
  EntryPlan plan;
  // Work of it took so long that the frame is shown while it runs; else a plan with `single_output` runs the short way.
  mutable bool takes_long = false, runs_single = false;
};

// What to compile: a code object about to run with these arguments.
struct FrameRequest {
  PyCodeObject* code;
  FrameArgs args;
  CompileOptions* options;
  std::string printed_name;  // for logs and errors
  // The frame's own slots, whose references are given up at a break: what is alive after it is held elsewhere. Or null.
  PyObject** owned = nullptr;
};

// Empty if the frame must run as plain Python (it has been logged why). Throws PythonError for what the user must see:
// Unsupported under fullgraph, a failing user backend, Ctrl-C.
EntryRef compile_frame(const FrameRequest& request);

TraceConfig config_snapshot(const CompileOptions& options);  // throws PythonError

}  // namespace md
