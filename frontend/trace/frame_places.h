// Where in the user's program a trace is, to the column.
#pragma once

#include "frontend/report/placed_frames.h"

namespace md {

class Tracer;

PlacedFrames placed_frames(const Tracer& t);  // outermost first, frames of library code left out

}  // namespace md
