// Tensors from Python values: tensor, as_tensor, Tensor(...).
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/pinned_memory.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/warn_once.h"
#include "ir/core/scalar_builder.h"
#include "ir/infer/promotion.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/stored_numbers.h"
#include "ir/tensor/strided.h"

namespace md {

namespace {

constexpr int kMaxDepth = 64;

bool is_sequence(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o)) return true;
  return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o) && !PyDict_Check(o);
}

// What a scalar leaf contributes to the inferred dtype.
DType leaf_dtype(PyObject* o) {
  if (PyBool_Check(o)) return DType::Bool;
  if (is_tensor(o)) return tensor_impl(o)->dtype;
  const char* type = Py_TYPE(o)->tp_name;
  if (std::strncmp(type, "numpy.", 6) == 0 && !is_array(o)) {
    PyRef dtype = checked(PyObject_GetAttrString(o, "dtype"));
    PyRef name = checked(PyObject_GetAttrString(dtype.get(), "name"));
    for (const DTypeInfo& row : kDTypes) {
      if (PyUnicode_CompareWithASCIIString(name.get(), std::string(row.name).c_str()) == 0) return row.dtype;
    }
    throw_type_error("minidynamo has no tensors of NumPy's %U", name.get());
  }
  if (PyFloat_Check(o)) return default_dtype();
  if (PyLong_Check(o)) return DType::Int64;
  if (PyComplex_Check(o)) return to_complex(default_dtype());
  if (PyUnicode_Check(o)) throw_type_error("new(): invalid data type 'str'");
  throw OpError(ErrorKind::Runtime, std::string("Could not infer dtype of ") + type);
}

// Sizes of nested sequences as their first elements show them.
void probe_sizes(PyObject* o, DimVec& sizes) {
  if (is_array(o)) {
    const TensorRef t = tensor_from_array(o);
    for (std::int64_t s : t->sizes) sizes.push_back(s);
    return;
  }
  if (!is_sequence(o)) return;
  if (sizes.size() >= kMaxDepth) throw OpError(ErrorKind::Value, "too many dimensions in nested sequences");
  const Py_ssize_t n = PySequence_Size(o);
  if (n < 0) throw PythonError{};
  sizes.push_back(n);
  if (n == 0) return;
  probe_sizes(checked(PySequence_GetItem(o, 0)).get(), sizes);
}

// Collects the leaves in row-major order, checking that the nesting is regular.
class Leaves {
 public:
  explicit Leaves(const DimVec& sizes) : sizes_(sizes) {}
  void collect(PyObject* o, std::size_t depth) {
    if (depth == sizes_.size()) return add(o);
    if (!is_sequence(o)) throw_type_error("not a sequence");
    const PyRef fast = checked(PySequence_Fast(o, "not a sequence"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
    if (n != sizes_[depth]) {
      throw OpError(ErrorKind::Value, "expected sequence of length " + std::to_string(sizes_[depth]) + " at dim " +
                                          std::to_string(depth) + " (got " + std::to_string(n) + ")");
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      // Reading an element may run user code, which may shrink the list.
      if (i >= PySequence_Fast_GET_SIZE(fast.get())) throw OpError(ErrorKind::Runtime, "sequence changed size");
      const PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(fast.get(), i));
      if (is_array(item.get())) warn_of_arrays();
      collect(item.get(), depth + 1);
    }
  }
  const std::vector<PyRef>& all() const { return leaves_; }

 private:
  static void warn_of_arrays() {
    static std::atomic_flag said;
    warn_once(said,
              "A tensor is made from a sequence of NumPy arrays, element by element, which is slow: make one array of "
              "them first, numpy.array(sequence).");
  }
  void add(PyObject* o) {
    if (TensorRef zero_dim = tensor_from_array(o); zero_dim && zero_dim->dim() == 0) {
      leaves_.push_back(wrap_tensor(std::move(zero_dim)));
      return;
    }
    if (is_sequence(o)) throw_type_error("'%.200s' object cannot be interpreted as a number", Py_TYPE(o)->tp_name);
    if (is_tensor(o) && tensor_impl(o)->numel() != 1) {
      throw OpError(ErrorKind::Value, "only one element tensors can be converted to Python scalars");
    }
    leaves_.push_back(PyRef::borrow(o));
  }
  const DimVec& sizes_;
  std::vector<PyRef> leaves_;
};

[[noreturn]] void out_of_range(DType t) {
  throw OpError(ErrorKind::Runtime,
                "value cannot be converted to type " + std::string(info(t).name) + " without overflow");
}

// Negative integers stand for what they wrap to in uint8.
std::int64_t checked_integer(PyObject* number, DType dtype) {
  if (PyFloat_Check(number)) {
    const double d = PyFloat_AS_DOUBLE(number);
    const double low = static_cast<double>(integer_min(dtype)), high = static_cast<double>(integer_max(dtype));
    if (!(d >= low && d <= high) || d == 0x1p63) out_of_range(dtype);
    return static_cast<std::int64_t>(d);
  }
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow) throw OpError(ErrorKind::Value, "Overflow when unpacking long long");
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  const std::int64_t low = is_signed(dtype) ? integer_min(dtype) : -integer_max(dtype);
  if (v < low || v > integer_max(dtype)) out_of_range(dtype);
  return v;
}

// A leaf as a Python bool, int or float.
PyRef plain_number(PyObject* o) {
  if (is_tensor(o)) return item(*tensor_impl(o));
  if (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) return PyRef::borrow(o);
  if (PyIndex_Check(o)) return checked(PyNumber_Index(o));
  if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0) {
    return checked(PyBool_FromLong(checked(PyObject_IsTrue(o))));
  }
  if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.complex", 13) == 0) {
    const Py_complex c = PyComplex_AsCComplex(o);
    if (c.real == -1 && PyErr_Occurred()) throw PythonError{};
    return checked(PyComplex_FromCComplex(c));
  }
  if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0) return checked(PyNumber_Float(o));
  leaf_dtype(o);  // throws what is wrong with it
  throw_type_error("'%.200s' object cannot be interpreted as a number", Py_TYPE(o)->tp_name);
}

void store_stored(DType dtype, void* at, PyObject* number) {
  if (is_float8(dtype)) {
    const double d = PyFloat_AsDouble(number);
    if (d == -1 && PyErr_Occurred()) throw PythonError{};
    return store_number(dtype, at, d);
  }
  if (dtype != DType::UInt64 || !PyLong_Check(number)) return store_number(dtype, at, checked_integer(number, dtype));
  int overflow = 0;
  if (PyLong_AsLongLongAndOverflow(number, &overflow) == -1 && PyErr_Occurred()) throw PythonError{};
  if (overflow <= 0) return store_number(dtype, at, checked_integer(number, dtype));
  const unsigned long long v = PyLong_AsUnsignedLongLong(number);
  if (v == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw PythonError{};
  store_number(dtype, at, v);
}

void store(DType dtype, void* at, PyObject* leaf) {
  const PyRef number = plain_number(leaf);
  if (is_complex(dtype)) {
    const Py_complex c = PyComplex_AsCComplex(number.get());
    if (c.real == -1 && PyErr_Occurred()) throw PythonError{};
    if (dtype == DType::Complex128) {
      static_cast<double*>(at)[0] = c.real, static_cast<double*>(at)[1] = c.imag;
    } else {
      static_cast<float*>(at)[0] = static_cast<float>(c.real), static_cast<float*>(at)[1] = static_cast<float>(c.imag);
    }
    return;
  }
  if (is_storage_only(dtype)) return store_stored(dtype, at, number.get());
  visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    T& to = *static_cast<T*>(at);
    if (dtype == DType::Bool) {
      to = convert_value<T>(checked(PyObject_IsTrue(number.get())) != 0);
    } else if (is_integral(dtype)) {
      to = convert_value<T>(checked_integer(number.get(), dtype));
    } else {
      const double d = PyFloat_AsDouble(number.get());
      if (d == -1 && PyErr_Occurred()) throw PythonError{};
      to = convert_value<T>(d);
    }
  });
}

DType infer_dtype(const std::vector<PyRef>& leaves) {
  if (leaves.empty()) return default_dtype();
  DType t = leaf_dtype(leaves[0].get());
  for (const PyRef& leaf : leaves) {
    if (leaf.get() != leaves[0].get()) t = promoted(t, leaf_dtype(leaf.get()));
  }
  return t;
}

TensorRef converted(const TensorRef& t, const DType* dtype, bool copy) {
  if (dtype && *dtype != t->dtype) return call_table("convert", {Arg(t), Arg(*dtype)}).get<TensorRef>();
  return copy ? call_table("clone", {Arg(t)}).get<TensorRef>() : t;
}

// dtype, device and requires_grad arguments of a creation function.
struct Options {
  DType dtype = DType::Float32;
  bool has_dtype = false;
  bool requires_grad = false;
  std::optional<Device> device;
  const DType* wanted() const { return has_dtype ? &dtype : nullptr; }
};
Options read_options(PyObject* dtype, PyObject* device, PyObject* requires_grad) {
  Options o;
  if (dtype && dtype != Py_None) {
    o.dtype = tensor_dtype(dtype);
    o.has_dtype = true;
  }
  o.device = device_for_new(device);
  o.requires_grad = requires_grad && checked(PyObject_IsTrue(requires_grad));
  return o;
}

PyRef finish(TensorRef t, const Options& o) {
  t = moved(t, o.device);
  set_requires_grad(*t, o.requires_grad);
  return wrap_tensor(std::move(t));
}

PyRef tensor_function(const PassedArgs& call) {
  static const char* const names[] = {"data", "dtype", "device", "requires_grad", "pin_memory"};
  PyObject* out[5];
  parse_native({"tensor", names, 1, 4}, call, out);
  const Options o = read_options(out[1], out[2], out[3]);
  if (is_tensor(out[0])) {
    checked(PyErr_WarnEx(PyExc_UserWarning,
                         "tensor(x) of a tensor x makes a copy; x.detach().clone() says so, and "
                         "x.detach().clone().requires_grad_(True) where gradients are wanted.",
                         1));
  }
  PyRef made = finish(tensor_from_data(out[0], o.wanted()), o);
  return out[4] && asks_for_pinned("pin_memory", out[4]) ? made_pinned(made) : std::move(made);
}

PyRef as_tensor_function(const PassedArgs& call) {
  static const char* const names[] = {"data", "dtype", "device"};
  PyObject* out[3];
  parse_native({"as_tensor", names, 1, 2}, call, out);
  const Options o = read_options(out[1], out[2], nullptr);
  if (is_tensor(out[0])) {
    const TensorRef given(tensor_impl(out[0]));
    const TensorRef t = moved(converted(given, o.wanted(), false), o.device);
    return t == given ? PyRef::borrow(out[0]) : wrap_tensor(t);
  }
  if (PyRef shared = sharing(out[0])) {
    return wrap_tensor(moved(converted(TensorRef(tensor_impl(shared.get())), o.wanted(), false), o.device));
  }
  return wrap_tensor(moved(tensor_from_data(out[0], o.wanted()), o.device));
}

// _rebuild_tensor(bytes, sizes, dtype, requires_grad, type): the inverse of Tensor.__reduce__.
PyRef rebuild_function(const PassedArgs& call) {
  static const char* const names[] = {"data", "sizes", "dtype", "requires_grad", "type"};
  PyObject* out[5];
  parse_native({"_rebuild_tensor", names, 5}, call, out);
  const bool elsewhere = is_device(out[0]);  // where there are no bytes to keep
  if ((!elsewhere && !PyBytes_Check(out[0])) || !PyTuple_Check(out[1]) || !PyType_Check(out[4]) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(out[4]), tensor_type)) {
    throw_type_error("_rebuild_tensor() takes what pickling a tensor wrote");
  }
  DimVec sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out[1]); ++i) {
    const long long n = PyLong_AsLongLong(PyTuple_GET_ITEM(out[1], i));
    if (n == -1 && PyErr_Occurred()) throw PythonError{};
    if (n < 0) throw OpError(ErrorKind::Value, "a pickled tensor has a negative size");
    sizes.push_back(n);
  }
  const DType dtype = tensor_dtype(out[2]);
  const Device device = elsewhere ? tensor_device(out[0]) : kCpu;
  if (elsewhere && device.has_memory()) throw_type_error("_rebuild_tensor() takes what pickling a tensor wrote");
  const std::size_t bytes = checked_bytes(sizes, dtype);
  if (!elsewhere && bytes != static_cast<std::size_t>(PyBytes_GET_SIZE(out[0]))) {
    throw OpError(ErrorKind::Value, "a pickled tensor has more or fewer bytes than its sizes say");
  }
  TensorRef t = empty_tensor(sizes, dtype, device);
  if (bytes && !elsewhere) std::memcpy(t->data(), PyBytes_AS_STRING(out[0]), bytes);
  set_requires_grad(*t, checked(PyObject_IsTrue(out[3])));
  PyRef made = wrap_tensor(std::move(t));
  auto* type = reinterpret_cast<PyTypeObject*>(out[4]);
  return type == tensor_type ? made : as_subclass(made.get(), type);
}

constexpr NativeRow kFunctions[] = {
    {"tensor", tensor_function,
     "tensor(data, *, dtype=None, device=None, requires_grad=False)\n\nA new tensor with the values of `data`: "
     "numbers, "
     "nested sequences, arrays. The dtype is inferred unless given."},
    {"as_tensor", as_tensor_function,
     "as_tensor(data, *, dtype=None, device=None)\n\n`data` as a tensor, without copying a tensor or array."},
    {"_rebuild_tensor", rebuild_function, "What pickle calls to make a tensor again."},
};

// Tensor(sizes...): uninitialised; Tensor(sequence): its values; Tensor(tensor): the same elements.
// An array has __index__ whatever it holds; as a number it passes only with one integer and no dimensions.
static bool names_a_size(PyObject* o) {
  if (!is_array(o)) return PyIndex_Check(o);
  const bool number = static_cast<bool>(PyRef::steal(PyNumber_Index(o)));
  PyErr_Clear();
  return number;
}

TensorRef legacy_tensor(PyObject* args) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const DType dtype = default_dtype();
  if (n == 0) return empty_tensor({0}, dtype);
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (n == 1 && is_tensor(first)) {
    if (tensor_impl(first)->dtype != dtype) {
      throw_type_error("expected a %s tensor (got %s)", std::string(info(dtype).name).c_str(),
                       std::string(info(tensor_impl(first)->dtype).name).c_str());
    }
    return alias(TensorRef(tensor_impl(first)));
  }
  if (n == 1 && !names_a_size(first) && !is_size_type(Py_TYPE(first))) {
    if (!is_sequence(first)) throw_type_error("new(): data must be a sequence (got %.200s)", Py_TYPE(first)->tp_name);
    return tensor_from_data(first, &dtype);
  }
  DimVec sizes;
  PyObject* list = is_size_type(Py_TYPE(first)) ? first : args;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); ++i) {
    const long long size = PyLong_AsLongLong(checked(PyNumber_Index(PyTuple_GET_ITEM(list, i))).get());
    if (size == -1 && PyErr_Occurred()) throw PythonError{};
    if (size < 0) throw OpError(ErrorKind::Runtime, "Tensor(): sizes must not be negative");
    sizes.push_back(size);
  }
  return empty_tensor(sizes, dtype);
}

// An object of another library that is neither a number, a sequence nor a buffer of bytes.
bool gives_memory(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || PyList_Check(o) || PyTuple_Check(o) ||
      PyType_Check(o))
    return false;
  return has_attribute(o, "__dlpack__") || has_array_interface(o);
}

}  // namespace

TensorRef moved(const TensorRef& t, std::optional<Device> d) {
  return !d || t->device() == *d ? t : call_table("copy_to_device", {Arg(t), Arg(*d)}).get<TensorRef>();
}

TensorRef tensor_from_data(PyObject* data, const DType* dtype) {
  if (is_tensor(data)) return converted(TensorRef(tensor_impl(data)), dtype, true);
  if (TensorRef t = tensor_from_array(data)) return converted(t, dtype, true);
  if (gives_memory(data)) return converted(TensorRef(tensor_impl(sharing(data).get())), dtype, true);
  DimVec sizes;
  probe_sizes(data, sizes);
  Leaves leaves(sizes);
  leaves.collect(data, 0);
  TensorRef t = empty_tensor(sizes, dtype ? *dtype : infer_dtype(leaves.all()));
  char* at = static_cast<char*>(t->data());
  for (const PyRef& leaf : leaves.all()) {
    store(t->dtype, at, leaf.get());
    at += item_size(t->dtype);
  }
  return t;
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    // Also where a subclass's __init__ takes some: a __new__ of its own has to keep them from here.
    if (kwargs && PyDict_GET_SIZE(kwargs)) throw_type_error("%s() takes no keyword arguments", type->tp_name);
    PyRef made = wrap_tensor(legacy_tensor(args));
    return (type == tensor_type ? std::move(made) : as_subclass(made.get(), type)).release();
  });
}

std::span<const NativeRow> creation_functions() { return kFunctions; }

}  // namespace md
