// NumPy arrays and scalars, looked at through the buffer protocol.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/cpython/py_ref.h"
#include "ir/tensor/tensor.h"

namespace md {

// False: no dtype of ours, or not in the machine's byte order.
bool dtype_of_buffer(const char* format, Py_ssize_t itemsize, DType& out);

// Exactly numpy.ndarray: what no subclass can give another meaning.
bool is_plain_array(PyObject* o);
// numpy.float32(1), numpy.int64(2), numpy.bool(True), ...
bool is_numpy_scalar(PyObject* o);

// The memory of an array or scalar while this lives.
class ArrayView {
 public:
  explicit ArrayView(PyObject* o);  // anything else does not fit
  ~ArrayView();
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  // A tensor can share the memory: its dtype exists here, in the machine's byte order, and no stride is negative or
  // within an element.
  bool fits_tensor() const { return fits_; }
  bool writeable() const { return !view_.readonly; }
  DType dtype() const { return dtype_; }
  int dim() const { return view_.ndim; }
  std::int64_t size(int d) const { return view_.shape[d]; }
  std::int64_t stride(int d) const { return view_.strides[d] / view_.itemsize; }
  const char* data() const { return static_cast<const char*>(view_.buf); }
  std::size_t bytes() const;  // from data() to the end of the last element

 private:
  bool suits();
  Py_buffer view_{};
  DType dtype_ = DType::Float32;
  bool held_ = false, fits_ = false;
};

// The number that a NumPy scalar is; null: of no dtype of ours. Runs no code of the program.
PyRef scalar_number(PyObject* scalar);
// The scalar is that number: of the same Python type, floats by their bits. Leaves no exception.
bool is_scalar_of(PyObject* scalar, PyObject* number);
// A tensor over the memory of an array or scalar, or of a float: (), float64. Throws OpError or PythonError where there
// can be none.
PyRef array_tensor(PyObject* array);
// What rebuilding an array after a graph calls: _array_of(tensor, scalar, writeable).
PyRef array_maker();
PyRef array_tensor_maker();  // _tensor_over(array)

}  // namespace md
