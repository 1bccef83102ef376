// The region of autocast that a compiled function is called in.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// The trace begins in such a region if the thread is in one, for which its entry is guarded.
void enter_autocast(Tracer& t);

}  // namespace md
