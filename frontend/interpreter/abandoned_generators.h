// Generators nobody refers to any more while they wait inside try or with: Python closes them at that very moment,
// which runs their finally, except and with.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// Closes them in the trace. Called between instructions, where there is such a generator.
void close_abandoned(Tracer& t);
// The root frame returns: its variables no longer refer to them.
void close_at_return(Tracer& t);
// An exception leaves a frame, whose variables live on in its traceback: they are closed at a moment nobody knows.
void keep_open(Tracer& t);

}  // namespace md
