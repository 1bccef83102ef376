// Arguments of calls that are made for real: containers in them are looked at down to their items.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// As all_constant() of constant.h, which sees no further than what the trace has looked at. Items of lists, tuples and
// dicts that are constants are looked at, each with a guard; others are left alone.
bool all_known(Tracer& t, CallArgs& args, std::vector<PyRef>& positional, PyRef& kwargs);

}  // namespace md
