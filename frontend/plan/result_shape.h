// The structure of what an opaque call returns: containers and constants with holes where tensors are.
#pragma once

#include <string>
#include <vector>

#include "frontend/cpython/py_ref.h"
#include "ir/tensor/tensor.h"

namespace md {

// A Python object like `result` with a marker for every tensor, which are appended to `tensors` in order. Null if
// something inside is no tensor, tuple, list, dict or constant; `offender` is then its type's name.
PyRef result_shape(PyObject* result, std::vector<TensorRef>& tensors, std::string& offender);
// Whether a result has this structure; its tensors are appended.
bool matches_shape(PyObject* result, PyObject* shape, std::vector<TensorRef>& tensors);
// Two such objects are the same: types and constants to the bit.
bool same_shape(PyObject* a, PyObject* b);
std::string shape_text(PyObject* shape);                     // as it is shown: "[Tensor, 3]"
bool is_one_tensor(PyObject* shape);                         // nothing around it
PyRef shape_sequence(bool tuple, std::vector<PyRef> items);  // of parts
PyObject* shape_hole();                                      // borrowed: the marker

}  // namespace md
