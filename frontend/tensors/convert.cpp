// Python values to op arguments and back.
#include <cstdio>
#include <cstring>
#include <string>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/op_function.h"

namespace md {

namespace {

Arg int_arg(PyObject* o) {
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) throw OpError(ErrorKind::Runtime, "Overflow when unpacking long long");
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return Arg(static_cast<std::int64_t>(v));
}

Arg list_arg(PyObject* o) {
  ListArg list;
  list.tuple = PyTuple_Check(o);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  list.items.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    list.items.push_back(to_arg(PyRef::borrow(PySequence_Fast_GET_ITEM(o, i)).get()));
  }
  return Arg(std::move(list));
}

Arg slice_arg(PyObject* o) {
  auto* s = reinterpret_cast<PySliceObject*>(o);
  // A bound may be anything with __index__; None stays.
  auto part = [](PyObject* p) -> Arg {
    if (p == Py_None) return NoneArg{};
    if (!PyIndex_Check(p)) {
      PyErr_SetString(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
      throw PythonError{};
    }
    return int_arg(checked(PyNumber_Index(p)).get());
  };
  return Arg(make_slice(part(s->start), part(s->stop), part(s->step)));
}

bool from_numpy_module(PyTypeObject* t) { return std::strncmp(t->tp_name, "numpy.", 6) == 0; }

// NumPy's scalars are numbers: int64 through __index__, float32 through __float__, bool_ by its truth.
bool numpy_scalar_arg(PyObject* o, Arg& out) {
  PyTypeObject* t = Py_TYPE(o);
  if (!from_numpy_module(t) || std::strcmp(t->tp_name, "numpy.ndarray") == 0) return false;
  if (std::strncmp(t->tp_name, "numpy.bool", 10) == 0) {
    out = Arg(checked(PyObject_IsTrue(o)));
  } else if (PyIndex_Check(o)) {
    out = int_arg(checked(PyNumber_Index(o)).get());
  } else if (std::strncmp(t->tp_name, "numpy.float", 11) == 0) {
    const double d = PyFloat_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) throw PythonError{};
    out = Arg(d);
  } else if (std::strncmp(t->tp_name, "numpy.complex", 13) == 0) {
    const Py_complex c = PyComplex_AsCComplex(o);
    if (c.real == -1 && PyErr_Occurred()) throw PythonError{};
    out = Arg(std::complex<double>(c.real, c.imag));
  } else {
    return false;
  }
  return true;
}

// dtype=float, int, bool or complex: Python's number types stand for the element types of their values.
bool python_number_dtype(PyObject* type, Arg& out) {
  if (type == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    out = Arg(DType::Float64);
  } else if (type == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    out = Arg(DType::Int64);
  } else if (type == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    out = Arg(DType::Bool);
  } else if (type == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
    out = Arg(DType::Complex128);
  } else {
    return false;
  }
  return true;
}

bool other_arg(PyObject* o, Arg& out) {
  if (PySlice_Check(o)) {
    out = slice_arg(o);
  } else if (o == Py_Ellipsis) {
    out = Arg(EllipsisArg{});
  } else if (Py_TYPE(o) == dtype_type) {
    out = Arg(tensor_dtype(o));
  } else if (PyType_Check(o) && python_number_dtype(o, out)) {
    return true;
  } else if (is_device(o)) {
    out = Arg(device_value(o));
  } else if (MemoryFormat format; as_memory_format(o, format)) {
    out = Arg(format);
  } else if (PyUnicode_Check(o)) {
    Py_ssize_t n = 0;
    const char* s = PyUnicode_AsUTF8AndSize(o, &n);
    if (!s) throw PythonError{};
    out = Arg(std::string(s, static_cast<std::size_t>(n)));
  } else {
    return numpy_scalar_arg(o, out);
  }
  return true;
}

}  // namespace

Arg to_arg(PyObject* o) {
  if (is_tensor(o)) return Arg(TensorRef(tensor_impl(o)));
  if (o == Py_None) return NoneArg{};
  if (PyBool_Check(o)) return Arg(o == Py_True);
  if (PyLong_Check(o)) return int_arg(o);
  if (PyFloat_Check(o)) return Arg(PyFloat_AS_DOUBLE(o));
  if (PyTuple_Check(o) || PyList_Check(o)) {
    if (Py_EnterRecursiveCall(" while reading the arguments of a tensor op")) throw PythonError{};
    struct Leave {
      ~Leave() { Py_LeaveRecursiveCall(); }
    } leave;
    return list_arg(o);
  }
  Arg out;
  if (other_arg(o, out)) return out;
  if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    return Arg(std::complex<double>(c.real, c.imag));
  }
  if (std::strcmp(Py_TYPE(o)->tp_name, "torch.layout") == 0) return Arg(std::string("torch.strided"));
  throw_type_error("a tensor op cannot take an argument of type '%.200s'", Py_TYPE(o)->tp_name);
}

PyRef from_arg(const Arg& a) {
  if (auto* t = a.get_if<TensorRef>()) return wrap_tensor(*t);
  if (a.is_none()) return PyRef::borrow(Py_None);
  if (auto* b = a.get_if<bool>()) return PyRef::borrow(*b ? Py_True : Py_False);
  if (auto* s = a.get_if<Size>()) return checked(PyLong_FromLongLong(s->is_const() ? s->value() : hint(*s)));
  if (auto* d = a.get_if<double>()) return checked(PyFloat_FromDouble(*d));
  if (auto* c = a.get_if<std::complex<double>>()) return checked(PyComplex_FromDoubles(c->real(), c->imag()));
  if (auto* s = a.get_if<std::string>()) {
    return checked(PyUnicode_FromStringAndSize(s->data(), static_cast<Py_ssize_t>(s->size())));
  }
  if (auto* t = a.get_if<DType>()) return PyRef::borrow(dtype_object(*t));
  if (auto* d = a.get_if<Device>()) return device_object(*d);
  if (auto* f = a.get_if<MemoryFormat>()) return PyRef::borrow(memory_format_object(*f));
  if (a.is<EllipsisArg>()) return PyRef::borrow(Py_Ellipsis);
  if (auto* s = a.get_if<SliceArg>()) {
    const std::vector<Arg>& p = *s->parts;
    PyRef start = from_arg(p[0]), stop = from_arg(p[1]), step = from_arg(p[2]);
    return checked(PySlice_New(start.get(), stop.get(), step.get()));
  }
  if (auto* l = a.get_if<ListArg>()) {
    const auto n = static_cast<Py_ssize_t>(l->items.size());
    PyRef made = checked(l->tuple ? PyTuple_New(n) : PyList_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = from_arg(l->items[static_cast<std::size_t>(i)]).release();
      l->tuple ? PyTuple_SET_ITEM(made.get(), i, item) : PyList_SET_ITEM(made.get(), i, item);
    }
    return made;
  }
  throw InternalError("a graph node has no Python value");
}

void throw_type_error(const char* format, ...) {
  va_list args;
  va_start(args, format);
  PyErr_FormatV(PyExc_TypeError, format, args);
  va_end(args);
  throw PythonError{};
}

// Of what goes wrong on devices: classes of the package's Python side, which few programs ever need.
static void raise_device_error(const char* name, const OpError& e) {
  const PyRef module = PyRef::steal(import_module("minidynamo._tensor_types"));
  const PyRef type = PyRef::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  if (type) PyErr_SetString(type.get(), e.what());
}

void raise_op_error(const OpError& e) {
  PyObject* type = PyExc_RuntimeError;
  switch (e.kind) {
    case ErrorKind::Type:
      type = PyExc_TypeError;
      break;
    case ErrorKind::Value:
      type = PyExc_ValueError;
      break;
    case ErrorKind::Index:
      type = PyExc_IndexError;
      break;
    case ErrorKind::Runtime:
      type = PyExc_RuntimeError;
      break;
    case ErrorKind::NotImplemented:
      type = PyExc_NotImplementedError;
      break;
    case ErrorKind::Memory:
      type = PyExc_MemoryError;
      break;
    case ErrorKind::ZeroDivision:
      type = PyExc_ZeroDivisionError;
      break;
    case ErrorKind::Assertion:
      type = PyExc_AssertionError;
      break;
    case ErrorKind::Device:
      return raise_device_error("AcceleratorError", e);
    case ErrorKind::DeviceMemory:
      return raise_device_error("OutOfMemoryError", e);
  }
  PyErr_SetString(type, e.what());
}

}  // namespace md
