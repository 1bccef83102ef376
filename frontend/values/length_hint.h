// What list(), tuple(), sorted(), list.extend() and [*...] ask of an iterable besides its elements.
#pragma once

#include <vector>

#include "frontend/trace/tracer.h"

namespace md {

// As collect(); an object of the program is also asked how many there will be, after its __iter__ and before the first
// element, by __len__ or else __length_hint__. The answer does not matter, but its side effects do, and its exceptions
// other than TypeError.
std::vector<ValueRef> collect_sized(Tracer& t, const ValueRef& raw);
void ask_for_length(Tracer& t, const ValueRef& v);

}  // namespace md
