// The region of autocast and the modes of torch functions that a compiled function is called in.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// The trace begins in such a region if the thread is in one, for which its entry is guarded.
void enter_autocast(Tracer& t);
// The same for modes of the program, which are inputs of the trace; how many the trace knows then.
std::ptrdiff_t enter_function_modes(Tracer& t);
// Modes of the trace, without regions of autocast, which resumed parts enter again.
std::ptrdiff_t traced_modes(const Tracer& t);

}  // namespace md
