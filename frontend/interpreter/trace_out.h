// `out=` of op functions while tracing.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// The call of an op function one of whose keywords is `out`: the op, and its results copied into the given tensors.
ValueRef trace_call_into(Tracer& t, const std::string& name, CallArgs args, const std::string& target);

}  // namespace md
