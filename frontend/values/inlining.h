// Which Python functions are traced into the caller's graph.
#pragma once

#include "frontend/values/functions.h"

namespace md {

// What may_inline(f) says, and with config.trace_more also functions of library modules the reference keeps closed.
bool may_inline(const Tracer& t, const FunctionValue& f);

}  // namespace md
