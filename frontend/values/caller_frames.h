// What traced code finds out about the frames around it: exceptions handled there, and frame objects.
#pragma once

#include "frontend/bytecode/instruction.h"
#include "frontend/trace/value.h"

namespace md {

// No exception is being handled around the traced frames, which is guarded; false: one is.
bool nothing_handled_outside(Tracer& t);
// Code that asks for the frames of its callers, and for more than their globals.
bool looks_at_frames(PyObject* code);
// The break, as one at which the program sees the frames of its callers.
inline GraphBreak seen_whole(GraphBreak b) {
  b.looks_at_frame = true;
  return b;
}
// An inlined frame calls a debugger, as the names in its code tell: its callers are to be whole then. In the traced
// frame itself all variables live up to such a call (driver/liveness.cpp).
bool stops_in_debugger(const Tracer& t);
// The code uses no attribute of frames but f_globals, which is the same in each part of a split frame.
bool wants_globals_only(PyObject* code);
// More than one look at the frame's own namespace, where what one of them stores is there for the next (until 3.12).
bool shares_locals(const CodeBody& body);
// Whether the code is that of a comprehension (before CPython 3.12), whose argument is the iterator.
bool is_comprehension(const CodeBody& body);

}  // namespace md
