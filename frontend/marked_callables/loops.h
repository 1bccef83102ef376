// Loops whose bodies are regions: while_loop, scan, map.
#pragma once

#include "frontend/marked_callables/regions.h"

namespace md {

// The state is a list or tuple; the body's result has its structure.
ValueRef trace_while_loop(Tracer& t, const ValueRef& cond_fn, const ValueRef& body_fn, const ValueRef& carried);
// combine_fn(state, row of xs) -> (state, y), along the first dimension of every tensor of xs: (state, ys).
ValueRef trace_scan(Tracer& t, const ValueRef& combine_fn, const ValueRef& init, const ValueRef& xs);
// f(row of xs, *args) along the first dimension; results that are inputs are copied or refused.
ValueRef trace_map(Tracer& t, const ValueRef& f, const ValueRef& xs, const std::vector<ValueRef>& args,
                   SharedResults shared);

}  // namespace md
