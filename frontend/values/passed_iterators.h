// Iterators the program hands in, of the kinds torch follows: over tuples and ranges, and itertools.count. What the
// trace takes from them is taken from the real ones when it is done.
#pragma once

#include "frontend/trace/value.h"

namespace md {

bool is_followed_iterator(PyObject* o);
ValueRef wrap_followed_iterator(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
