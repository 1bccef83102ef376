// The structure of what an opaque call returns: containers and constants with holes where tensors are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/trace/value.h"
#include "ir/tensor/tensor.h"

namespace md {

class Tracer;

// A Python object like `result` with a marker for every tensor, which are appended to `tensors` in order. Null if
// something inside is no tensor, tuple, list, dict or constant; `offender` is then its type's name.
PyRef result_shape(PyObject* result, std::vector<TensorRef>& tensors, std::string& offender);
// The same for values.
PyRef result_shape(Tracer& t, const ValueRef& result, std::vector<ValueRef>& tensors, std::string& offender);
// Whether a result has this structure; its tensors are appended.
bool matches_shape(PyObject* result, PyObject* shape, std::vector<TensorRef>& tensors);
// Two such objects are the same: types and constants to the bit.
bool same_shape(PyObject* a, PyObject* b);
// A value of this structure; `next` gives the tensors in order.
ValueRef shaped_value(Tracer& t, PyObject* shape, const std::function<ValueRef()>& next);
std::string shape_text(PyObject* shape);  // as it is shown: "[Tensor, 3]"
bool is_one_tensor(PyObject* shape);      // nothing around it
PyObject* shape_hole();                   // borrowed: the marker

}  // namespace md
