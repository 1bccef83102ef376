// Reads dtype, sizes, strides and memory of an array or scalar through Py_buffer.
#include "frontend/tensors/array_view.h"

#include <cstring>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/run/lazy_calls.h"

namespace md {

namespace {

bool is_native_type(PyTypeObject* t) { return !(t->tp_flags & Py_TPFLAGS_HEAPTYPE); }

}  // namespace

bool dtype_of_buffer(const char* format, Py_ssize_t itemsize, DType& out) {
  if (!format || (format[0] == '@' || format[0] == '=' || format[0] == '<')) format = format ? format + 1 : "B";
  if (format[0] == 'Z' && (std::strcmp(format, "Zf") == 0 || std::strcmp(format, "Zd") == 0)) {
    out = format[1] == 'f' ? DType::Complex64 : DType::Complex128;
    return static_cast<std::size_t>(itemsize) == item_size(out);
  }
  if (std::strlen(format) != 1) return false;
  const char c = format[0];
  for (const DTypeInfo& row : kDTypes) {
    if (row.size != itemsize || !row.format) continue;
    const bool same = row.category == DTypeCategory::Bool       ? c == '?'
                      : row.category == DTypeCategory::Floating ? std::strchr("efd", c) != nullptr
                      : is_signed(row.dtype)                    ? std::strchr("bhilq", c) != nullptr
                                                                : std::strchr("BHILQ", c) != nullptr;
    if (same) {
      out = row.dtype;
      return true;
    }
  }
  return false;
}

bool is_plain_array(PyObject* o) {
  return is_native_type(Py_TYPE(o)) && std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") == 0;
}

bool is_numpy_scalar(PyObject* o) {
  if (!is_native_type(Py_TYPE(o)) || std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) != 0) return false;
  for (PyTypeObject* base = Py_TYPE(o)->tp_base; base; base = base->tp_base)
    if (std::strcmp(base->tp_name, "numpy.generic") == 0) return true;
  return false;
}

ArrayView::ArrayView(PyObject* o) {
  if (!is_plain_array(o) && !is_numpy_scalar(o)) return;
  if (PyObject_GetBuffer(o, &view_, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
    PyErr_Clear();
    return;
  }
  held_ = true;
  fits_ = suits();
}

ArrayView::~ArrayView() {
  if (held_) PyBuffer_Release(&view_);
}

bool ArrayView::suits() {
  if (!dtype_of_buffer(view_.format, view_.itemsize, dtype_)) return false;
  if (is_storage_only(dtype_)) return false;  // NumPy computes in these, tensors do not
  if (reinterpret_cast<std::uintptr_t>(view_.buf) % item_size(to_real(dtype_)) != 0) return false;
  for (int d = 0; d < view_.ndim; ++d)
    if (view_.strides[d] < 0 || view_.strides[d] % view_.itemsize != 0) return false;
  return true;
}

std::size_t ArrayView::bytes() const {
  std::int64_t last = 0;
  for (int d = 0; d < dim(); ++d) {
    if (size(d) == 0) return 0;
    last += (size(d) - 1) * stride(d);
  }
  return static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(view_.itemsize);
}

PyRef scalar_number(PyObject* scalar) {
  if (!is_numpy_scalar(scalar)) return {};
  const ArrayView view(scalar);
  return view.fits_tensor() ? element(view.dtype(), view.data()) : PyRef();
}

bool is_scalar_of(PyObject* scalar, PyObject* number) {
  try {
    const PyRef held = scalar_number(scalar);
    return held && is_plain(held.get()) && plain_equal(held.get(), number);
  } catch (const PythonError&) {
    PyErr_Clear();
    return false;
  }
}

PyRef array_tensor(PyObject* array) {
  if (is_tensor(array)) return wrap_tensor(as_in_memory(TensorRef(tensor_impl(array))));
  if (PyFloat_CheckExact(array)) {
    const DType dtype = DType::Float64;
    return wrap_tensor(tensor_from_data(array, &dtype));
  }
  if (!is_plain_array(array) && !is_numpy_scalar(array)) return {};
  return wrap_tensor(tensor_over_buffer(array, ReadOnly::Accept));
}

static PyRef native(const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module("minidynamo._C")).get(), name));
}

PyRef array_maker() { return native("_array_of"); }
PyRef array_tensor_maker() { return native("_tensor_over"); }

}  // namespace md
