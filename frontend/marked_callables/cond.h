// torch.cond: both branches become graphs of one node, and the predicate chooses at run time.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// An operator over functions has no partial form: what does not fit is an error in every mode. `inner`: the break of
// the function, or null.
[[noreturn]] void uncaptured(const std::vector<UserFrame>& frames, const std::string& op, const GraphBreak* inner,
                             const std::string& text);

ValueRef trace_cond(Tracer& t, const ValueRef& predicate, const ValueRef& true_fn, const ValueRef& false_fn,
                    const ValueRef& operands);

}  // namespace md
