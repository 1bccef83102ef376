// The structure of what an opaque call returns (plan/result_shape.h), of traced values.
#pragma once

#include <functional>

#include "frontend/plan/result_shape.h"
#include "frontend/trace/value.h"

namespace md {

// As result_shape() of objects.
// `is_leaf`: what else counts as a tensor; named tuples and ordered dicts are containers then, too.
PyRef result_shape(Tracer& t, const ValueRef& result, std::vector<ValueRef>& tensors, std::string& offender,
                   bool (*is_leaf)(const ValueRef&) = nullptr);
// Calls `f` with the parts of a container of a shape; false: it is none.
bool for_each_part(PyObject* shape, const std::function<void(PyObject*)>& f);
// A value of this structure; `next` gives the tensors in order.
ValueRef shaped_value(Tracer& t, PyObject* shape, const std::function<ValueRef()>& next);

}  // namespace md
