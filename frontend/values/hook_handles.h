// Hooks that a traced program registers on tensors, and the handles it gets for them.
#pragma once

#include "frontend/values/tensor.h"

namespace md {

bool registers_hook(const std::string& method);
// register_hook() of an input, done when the graph has run; the handle is an object of the trace. Breaks on a tensor
// that the graph computes.
ValueRef register_hook(Tracer& t, TensorValue& tensor, PyObject* method, CallArgs& args);
// It is stored in the global `name` of the frame: breaks.
[[noreturn]] void break_on_stored_handle(Tracer& t, const std::string& name);
bool is_hook_handle(Tracer& t, const ValueRef& v);

}  // namespace md
