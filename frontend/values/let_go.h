// References the program gives up while it is traced: code of the program may run then, and would see and change what
// the trace goes on with. Such frames are left to plain Python.
#pragma once

#include <functional>
#include <span>

#include "frontend/trace/value.h"

namespace md {

struct FrameNotes;
struct SymbolicFrame;

// An entry or attribute no longer refers to `old`.
void let_go(const ValueRef& old);
void let_go(std::span<const ValueRef> old);
// The same of what may not be a value yet; null: there is nothing.
void let_go_of_object(PyObject* old);
// The frame no longer refers to it from one of its variables or stack items; it leaves so many of them.
void let_go(const SymbolicFrame& f, const ValueRef& old, int places);
// Whether objects with a __del__ may be made in the trace: until it has turned out that the frame loses one.
bool may_make_to_act(Tracer& t);
// At the end of a trace: breaks where an object with a __del__ that the trace has made is not kept, for its end was
// somewhere on the way. The frame is traced again and breaks where it makes such objects.
void expect_kept(const Tracer& t, FrameNotes& notes, const std::function<bool(const ValueRef&)>& is_kept);
// Whether the traced frame may let go of something that was there before it: of an argument, or of what objects hold.
bool may_let_go(Tracer& t);

}  // namespace md
