// Objects of registered classes (torch.utils._pytree) given to functions that are kept whole, and returned by them:
// taken apart and made while tracing, by what their class was registered with.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// Whether the program has registered classes of its own.
bool has_tree_classes();
bool holds_tree(Tracer& t, const ValueRef& value);
// As result_shape(); such an object is a `_Tree` of its class, its context and the shapes of its parts. Null as there.
PyRef tree_shape(Tracer& t, const ValueRef& value, std::vector<ValueRef>& tensors);
// The value that a call gave as a list of tensors, of the structure `shape`.
ValueRef tree_value(Tracer& t, PyObject* shape, const ValueRef& tensors);

}  // namespace md
