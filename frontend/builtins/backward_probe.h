// What the backward of a traced autograd function would do, found out while its forward is traced.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// Breaks where `backward(ctx, gradients of the outputs)` asks a gradient for what strict tracing forbids.
void probe_backward(Tracer& t, const ValueRef& cls, const ValueRef& ctx, const ValueRef& outputs);

}  // namespace md
