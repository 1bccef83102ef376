// functools.update_wrapper of objects that are no functions.
#pragma once

#include <vector>

#include "frontend/values/functions.h"

namespace md {

// Gives the wrapper, a function made while tracing, what the object has of the names and holds itself. Breaks the graph
// for what is neither a bound method of C code nor an instance of a class in Python.
void wrap_object(Tracer& t, FunctionValue& wrapper, const ValueRef& wrapped, const std::vector<PyRef>& names);

}  // namespace md
