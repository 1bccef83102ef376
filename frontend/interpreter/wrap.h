// A real object and where it lives become a Value, by its type; what looking at it assumes is guarded.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

ValueRef wrap_constant(Tracer& t, PyObject* o, SourceRef s);
// Of anything but constants, tensors and arrays.
ValueRef wrap_by_type(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
