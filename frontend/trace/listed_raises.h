// What the registry lists as a break although Python would raise an exception there.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// Under config.trace_more a handler of the traced program gets the exception; else the graph breaks, handler or not.
inline bool breaks_where_raised(const Tracer& t) { return !t.config.trace_more || t.uncaught(); }

}  // namespace md
