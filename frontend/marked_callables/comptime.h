// _dynamo.comptime: code that runs while tracing.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// comptime.<method>(args), or comptime(function) as "__call__".
ValueRef call_comptime(Tracer& t, const std::string& method, CallArgs args);

}  // namespace md
