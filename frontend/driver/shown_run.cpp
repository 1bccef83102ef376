// Shows the frame while the plan runs, and notes whether that is worth it for later runs.
#include "frontend/driver/shown_run.h"

#include "frontend/cpython/shown_frame.h"
#include "ir/run/long_work.h"

namespace md {

void run_shown(const CompiledPlan& compiled, const FrameRequest& request, PyObject* const* found, PlanRun& out) {
  const ShownFrame shown(request.code);
  const unsigned before = long_works_here();
  run_plan(compiled.plan, request.args, found, out);
  if (long_works_here() == before) return;
  compiled.takes_long = true;
  compiled.runs_single = false;
}

}  // namespace md
