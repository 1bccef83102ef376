// What an entry hands on where its trace stopped: the code that goes on from there, and what it is given.
#pragma once

#include "frontend/driver/compile_frame.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/tracer.h"

namespace md {

struct TracedBreak {
  int instruction;  // at which the trace stopped
  const FrameRequest& request;
  FrameNotes& notes;  // keeps the code of splits
};

// Both return how many numbers the names of resume functions and managers take.
// The breaking instruction is executed, then a resume function goes on.
int plan_break(PlanBuilder& b, const TracedBreak& at);
// The entry ends before the instruction, and code that runs as plain Python goes on.
int plan_leave(PlanBuilder& b, const TracedBreak& at);

}  // namespace md
