// no_grad() and its kin as decorators of functions made while tracing.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// What the manager `v` makes of the one function it is called with; null: `v` is none, or makes nothing of that.
ValueRef decorated_in_mode(Tracer& t, const Value& v, const CallArgs& args);

}  // namespace md
