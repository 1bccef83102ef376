// A real object and where it lives become a Value, by its type; what looking at it assumes is guarded.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// Wrapping what a container holds may have Python collect garbage, whose callbacks change the container. A key is not
// looked up where that would run a hash of the program's: its value is null.
std::vector<std::pair<PyRef, PyRef>> held_items(PyObject* dict);
// A set or frozenset (interpreter/wrap_keyed.cpp).
ValueRef wrap_set(Tracer& t, PyObject* o, SourceRef s);
ValueRef wrap_constant(Tracer& t, PyObject* o, SourceRef s);
// Of anything but constants, tensors and arrays.
ValueRef wrap_by_type(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
