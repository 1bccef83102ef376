// repr() of lists, tuples and dicts whose elements write themselves.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// What Python writes for such a container, a str; null: it is none, or an element's text is known only to a run.
ValueRef container_text(Tracer& t, const ValueRef& container);

}  // namespace md
