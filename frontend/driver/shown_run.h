// Runs of entries whose frame is shown to those who read the stack from outside (frontend/cpython/shown_frame.h).
#pragma once

#include "frontend/driver/compile_frame.h"

namespace md {

// As run_plan(). A first run is one, and so are later ones of an entry whose work turned out to take long.
void run_shown(const CompiledPlan& compiled, const FrameRequest& request, PyObject* const* found, PlanRun& out);

}  // namespace md
