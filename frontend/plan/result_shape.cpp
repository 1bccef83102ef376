// Takes results apart into a shape and tensors, compares shapes and prints them.
#include "frontend/plan/result_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_text.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/value.h"

namespace md {

namespace {

// Stands for a tensor; nothing a program returns is this object.
PyObject* hole() {
  return made_once(
      [] { return checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release(); });
}

bool is_plain_sequence(PyObject* o) { return PyTuple_CheckExact(o) || PyList_CheckExact(o); }

}  // namespace

PyRef shape_sequence(bool tuple, std::vector<PyRef> items) {
  const auto n = static_cast<Py_ssize_t>(items.size());
  PyRef made = checked(tuple ? PyTuple_New(n) : PyList_New(n));
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = items[static_cast<std::size_t>(k)].release();
    tuple ? PyTuple_SET_ITEM(made.get(), k, item) : PyList_SET_ITEM(made.get(), k, item);
  }
  return made;
}

PyRef result_shape(PyObject* o, std::vector<TensorRef>& tensors, std::string& offender) {
  if (is_tensor(o)) {
    tensors.emplace_back(tensor_impl(o));
    return PyRef::borrow(hole());
  }
  if (is_plain_sequence(o)) {
    std::vector<PyRef> items;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
      items.push_back(result_shape(PySequence_Fast_GET_ITEM(o, k), tensors, offender));
      if (!items.back()) return {};
    }
    return shape_sequence(PyTuple_CheckExact(o), std::move(items));
  }
  if (PyDict_CheckExact(o)) {
    PyRef made = checked(PyDict_New());
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &k, &v);) {
      PyRef item = is_constant_object(k) ? result_shape(v, tensors, offender) : PyRef();
      if (!item) return {};
      checked(PyDict_SetItem(made.get(), k, item.get()));
    }
    return made;
  }
  if (is_constant_object(o)) return PyRef::borrow(o);
  offender = type_name(Py_TYPE(o));
  return {};
}

bool matches_shape(PyObject* o, PyObject* shape, std::vector<TensorRef>& tensors) {
  if (shape == hole() && is_tensor(o)) return tensors.emplace_back(tensor_impl(o)), true;
  if (o == shape) return true;
  if (shape == hole() || Py_TYPE(o) != Py_TYPE(shape)) return false;
  if (is_plain_sequence(shape)) {
    if (PySequence_Fast_GET_SIZE(o) != PySequence_Fast_GET_SIZE(shape)) return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(shape); ++k)
      if (!matches_shape(PySequence_Fast_GET_ITEM(o, k), PySequence_Fast_GET_ITEM(shape, k), tensors)) return false;
    return true;
  }
  if (PyDict_CheckExact(shape)) {
    if (PyDict_GET_SIZE(o) != PyDict_GET_SIZE(shape)) return false;
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(shape, &pos, &k, &v);) {
      PyObject* item = PyDict_GetItemWithError(o, k);
      if (!item || !matches_shape(item, v, tensors)) return false;
    }
    return true;
  }
  return is_plain(shape) ? plain_equal(shape, o) : checked(PyObject_RichCompareBool(o, shape, Py_EQ)) != 0;
}

bool same_shape(PyObject* a, PyObject* b) {
  std::vector<TensorRef> none;
  return matches_shape(a, b, none);
}

std::string shape_text(PyObject* shape) {
  if (shape == hole()) return "Tensor";
  std::vector<std::string> items;
  if (PyTuple_Check(shape) || PyList_CheckExact(shape)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(shape); ++k)
      items.push_back(shape_text(PySequence_Fast_GET_ITEM(shape, k)));
    if (PyList_CheckExact(shape)) return fmt::format("[{}]", fmt::join(items, ", "));
    return fmt::format("{}({}{})", PyTuple_CheckExact(shape) ? "" : type_name(Py_TYPE(shape)), fmt::join(items, ", "),
                       items.size() == 1 ? "," : "");
  }
  if (!PyDict_Check(shape)) return repr_of(shape);
  PyObject *k, *v;
  for (Py_ssize_t pos = 0; PyDict_Next(shape, &pos, &k, &v);) items.push_back(repr_of(k) + ": " + shape_text(v));
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

bool is_one_tensor(PyObject* shape) { return shape == hole(); }
PyObject* shape_hole() { return hole(); }

}  // namespace md
