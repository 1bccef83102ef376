// torch.cond: both branches become graphs of one node, and the predicate chooses at run time.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

ValueRef trace_cond(Tracer& t, const ValueRef& predicate, const ValueRef& true_fn, const ValueRef& false_fn,
                    const ValueRef& operands);

}  // namespace md
