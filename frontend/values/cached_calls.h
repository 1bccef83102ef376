// Calls of functions under functools.lru_cache.
#pragma once

#include "frontend/values/functions.h"

namespace md {

// What the cache holds is the result, guarded; what it does not hold, the trace of the function gives, and a run puts
// it in. Either way the cache is really called in the end: it counts, and remembers what was used last. Breaks where
// the arguments are no constants; ints that have varied between calls are none.
ValueRef call_cached(Tracer& t, BuiltinValue& callee, CallArgs args);

}  // namespace md
