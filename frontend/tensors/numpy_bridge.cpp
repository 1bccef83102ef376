// NumPy in and out without copying, through the buffer protocol; numpy is imported by the first call that makes an
// array.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/run/lazy_calls.h"
#include "ir/run/op_recorder.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/readable.h"

namespace md {

namespace {

PyTypeObject* memory_type = nullptr;

// --- Tensor -> ndarray: an exporter of the storage that keeps it alive -----------------------------------------------

struct MemoryObject {
  PyObject_HEAD
  TensorRef* tensor;
  Py_ssize_t* layout;  // shape, then strides in bytes
};
MemoryObject* memory_of(PyObject* o) { return reinterpret_cast<MemoryObject*>(o); }

const char* format_of(DType t) {
  if (const char* format = buffer_format(t)) return format;
  throw OpError(ErrorKind::Type, "Got unsupported ScalarType BFloat16");
}

void memory_dealloc(PyObject* o) {
  delete memory_of(o)->tensor;
  delete[] memory_of(o)->layout;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

int memory_getbuffer(PyObject* o, Py_buffer* view, int flags) {
  const TensorImpl& t = **memory_of(o)->tensor;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    PyErr_SetString(PyExc_BufferError, "tensor memory is exported with strides only");
    return -1;
  }
  view->obj = Py_NewRef(o);
  view->buf = t.data();
  view->itemsize = static_cast<Py_ssize_t>(item_size(t.dtype));
  view->len = static_cast<Py_ssize_t>(t.numel()) * view->itemsize;
  view->readonly = 0;
  view->format = const_cast<char*>(format_of(t.dtype));
  view->ndim = t.dim();
  view->shape = memory_of(o)->layout;
  view->strides = memory_of(o)->layout + t.dim();
  view->suboffsets = nullptr;
  view->internal = nullptr;
  return 0;
}

PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(memory_dealloc)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(memory_getbuffer)},
    {Py_tp_doc, const_cast<char*>("Memory of a tensor, as the buffer protocol shows it.")},
    {0, nullptr},
};
PyType_Spec memory_spec = {"minidynamo._C.TensorMemory", sizeof(MemoryObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

// The type is made with the first array: most programs never need it.
PyRef make_memory(const TensorRef& t) {
  format_of(t->dtype);  // throws where NumPy has no such dtype
  if (!memory_type) {
    memory_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&memory_spec)).release());
  }
  PyRef made = checked(memory_type->tp_alloc(memory_type, 0));
  t->storage->lent = true;
  MemoryObject* m = memory_of(made.get());
  m->tensor = new TensorRef(alias(t));  // the memory, whatever becomes of the tensor
  const auto n = static_cast<std::size_t>(t->dim());
  m->layout = new Py_ssize_t[2 * n + 1];
  for (std::size_t i = 0; i < n; ++i) {
    m->layout[i] = static_cast<Py_ssize_t>(t->sizes[i]);
    m->layout[n + i] = static_cast<Py_ssize_t>(t->strides[i]) * static_cast<Py_ssize_t>(item_size(t->dtype));
  }
  return made;
}

// --- ndarray -> Tensor: the storage holds the buffer -----------------------------------------------------------------

void release_buffer(void*, std::size_t, void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  if (!Py_IsInitialized()) return;  // too late to give anything back
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(gil);
}

// Gives the buffer back unless a storage took it over.
struct ViewGuard {
  Py_buffer* view;
  ~ViewGuard() {
    if (view) PyBuffer_Release(view);
  }
};

// The dtype of an array whose buffer could not be read, for the message.
[[noreturn]] void unsupported_array(PyObject* o) {
  PyRef dtype = checked(PyObject_GetAttrString(o, "dtype"));
  PyRef order = checked(PyObject_GetAttrString(dtype.get(), "isnative"));
  if (!checked(PyObject_IsTrue(order.get()))) {
    throw OpError(ErrorKind::Value,
                  "the array's byte order is not the machine's; convert it with "
                  "a.astype(a.dtype.newbyteorder('='))");
  }
  throw_type_error(
      "can't convert np.ndarray of type %S: minidynamo has complex128, complex64, float64, float32, float16, int64, "
      "int32, int16, int8, uint8 and bool tensors",
      dtype.get());
}

void warn_read_only() {
  checked(PyErr_WarnEx(PyExc_UserWarning,
                       "The given NumPy array is not writable, and a tensor cannot be read-only: writing to the tensor "
                       "would change memory its owner declared constant. Copy the array first (a.copy()) to be safe.",
                       1));
}

DimVec element_strides(const Py_buffer& view) {
  DimVec strides;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0 && view.shape[i] > 1) {
      throw OpError(ErrorKind::Value,
                    "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                    "not supported; make a copy with array.copy() first");
    }
    if (view.strides[i] % view.itemsize != 0 && view.shape[i] > 1) {
      throw OpError(ErrorKind::Value,
                    "given numpy array strides not a multiple of the element byte size; copy the array "
                    "first to give the elements a uniform distance");
    }
    strides.push_back(std::max<std::int64_t>(0, view.strides[i] / view.itemsize));
  }
  return strides;
}

PyRef numpy_module() {
  if (PyRef module = PyRef::steal(import_module("numpy"))) return module;
  if (!PyErr_ExceptionMatches(PyExc_ImportError)) throw PythonError{};
  PyErr_Clear();
  throw OpError(ErrorKind::Runtime, "Numpy is not available: a tensor becomes an array only where NumPy is installed");
}

PyObject* numpy_asarray() {
  return made_once([] { return checked(PyObject_GetAttrString(numpy_module().get(), "asarray")).release(); });
}

// An array has no history, and a write to it would not be noticed.
void refuse_with_gradient(const TensorImpl& t) {
  if (!t.requires_grad) return;
  throw OpError(ErrorKind::Runtime,
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
}

PyRef numpy_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "force"};
  PyObject* out[2];
  parse_native({"numpy", names, 1, 1}, call, out);
  TensorRef t(tensor_impl(out[0]));
  if (!out[1] || !checked(PyObject_IsTrue(out[1])))
    refuse_with_gradient(*t);
  else
    t = t->has_memory() ? readable_when_done(resolved(t)) : resolved(t);
  return array_from_tensor(t);
}

// __array__(dtype=None, copy=None), as NumPy calls it: copy=False refuses to copy, copy=True always does.
PyRef array_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "dtype", "copy"};
  PyObject* out[3];
  parse_native({"__array__", names, 1}, call, out);
  refuse_with_gradient(*tensor_impl(out[0]));
  PyRef array = array_from_tensor(TensorRef(tensor_impl(out[0])));
  const bool decided = out[2] && out[2] != Py_None;
  const bool copy = decided && checked(PyObject_IsTrue(out[2]));
  if (out[1] && out[1] != Py_None) {
    PyRef wanted = checked(PyObject_CallMethod(numpy_module().get(), "dtype", "O", out[1]));
    PyRef has = checked(PyObject_GetAttrString(array.get(), "dtype"));
    if (!checked(PyObject_RichCompareBool(has.get(), wanted.get(), Py_EQ))) {
      if (decided && !copy)
        throw OpError(ErrorKind::Value, "Unable to avoid copy while creating an array as requested: the dtype differs");
      return checked(PyObject_CallMethod(array.get(), "astype", "O", wanted.get()));
    }
  }
  return copy ? checked(PyObject_CallMethod(array.get(), "copy", nullptr)) : array;
}

PyRef from_numpy_function(const PassedArgs& call) {
  static const char* const names[] = {"ndarray"};
  PyObject* out[1];
  parse_native({"from_numpy", names, 1}, call, out);
  TensorRef t = tensor_from_array(out[0], ReadOnly::Warn);
  if (!t) throw_type_error("expected np.ndarray (got %.200s)", Py_TYPE(out[0])->tp_name);
  return wrap_tensor(std::move(t));
}

// Results of NumPy functions on tensors are tensors where an operator of ndarray made them.
PyRef array_wrap_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "array", "context", "return_scalar"};
  PyObject* out[4];
  parse_native({"__array_wrap__", names, 2}, call, out);
  TensorRef t = tensor_from_array(out[1]);
  return t ? wrap_tensor(std::move(t)) : PyRef::borrow(out[1]);
}

// What a graph gave becomes the array, or where NumPy gives a scalar the scalar, that the program would have.
PyRef array_of_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "scalar", "writeable"};
  PyObject* out[3];
  parse_native({"_array_of", names, 3}, call, out);
  if (!is_tensor(out[0])) throw_type_error("expected a tensor (got %.200s)", Py_TYPE(out[0])->tp_name);
  PyRef array = array_from_tensor(TensorRef(tensor_impl(out[0])));
  if (out[1] == Py_True) return checked(PyObject_GetItem(array.get(), checked(PyTuple_New(0)).get()));
  if (out[2] != Py_True) checked(PyObject_CallMethod(array.get(), "setflags", "O", Py_False));
  return array;
}

PyRef tensor_over_function(const PassedArgs& call) {
  static const char* const names[] = {"array"};
  PyObject* out[1];
  parse_native({"_tensor_over", names, 1}, call, out);
  PyRef tensor = array_tensor(out[0]);
  if (!tensor) throw_type_error("expected an array (got %.200s)", Py_TYPE(out[0])->tp_name);
  return tensor;
}

constexpr NativeRow kMethods[] = {
    {"numpy", numpy_method, "numpy(*, force=False)\n\nAn ndarray over the same memory."},
    {"__array__", array_method, "The ndarray over the same memory, converted if asked."},
    {"__array_wrap__", array_wrap_method, "The tensor over the memory of an ndarray NumPy computed."},
};
constexpr NativeRow kFunctions[] = {
    {"_array_of", array_of_function, "_array_of(tensor, scalar, writeable): rebuilds an array after a graph."},
    {"_tensor_over", tensor_over_function, "_tensor_over(array): the tensor a graph sees in its place."},
    {"from_numpy", from_numpy_function, "from_numpy(ndarray)\n\nA tensor over the array's memory.", true},
};

}  // namespace

bool is_array(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (std::strcmp(t->tp_name, "numpy.ndarray") == 0) return true;
  if (!t->tp_as_buffer || !t->tp_as_buffer->bf_getbuffer || is_tensor(o)) return false;
  for (PyTypeObject* base = t->tp_base; base; base = base->tp_base) {  // numpy.matrix, memmap, user classes
    if (std::strcmp(base->tp_name, "numpy.ndarray") == 0) return true;
  }
  return false;
}

TensorRef tensor_from_array(PyObject* o, ReadOnly read_only) {
  return is_array(o) ? tensor_over_buffer(o, read_only) : nullptr;
}

TensorRef tensor_over_buffer(PyObject* o, ReadOnly read_only) {
  auto view = std::make_unique<Py_buffer>();
  bool writable = true;
  if (PyObject_GetBuffer(o, view.get(), PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
      PyErr_Clear();
      unsupported_array(o);
    }
    writable = false;
  }
  ViewGuard guard{view.get()};
  const Py_buffer* v = view.get();
  DType dtype;
  if (!dtype_of_buffer(v->format, v->itemsize, dtype)) unsupported_array(o);
  DimVec strides = element_strides(*v);
  DimVec sizes;
  for (int i = 0; i < v->ndim; ++i) sizes.push_back(v->shape[i]);
  if (!writable && read_only == ReadOnly::Warn) warn_read_only();
  // What the strides reach may be more or less than the length of the buffer.
  const std::size_t bytes = checked_bytes(sizes, strides, 0, dtype);
  guard.view = nullptr;
  Ref<Storage> storage = make_ref<Storage>(v->buf, bytes, release_buffer, view.release());
  storage->foreign = true;
  return make_ref<TensorImpl>(std::move(storage), dtype, std::move(sizes), std::move(strides), 0);
}

PyRef array_from_tensor(const TensorRef& t) {
  if (t->batch) expect_elements(*t, "numpy()");
  if (const Pending p = pending_of(*t)) {
    throw OpError(ErrorKind::Runtime, p.conjugate ? "Can't call numpy() on Tensor that has conjugate bit set. Use "
                                                    "tensor.resolve_conj().numpy() instead."
                                                  : "Can't call numpy() on Tensor that has negative bit set. Use "
                                                    "tensor.resolve_neg().numpy() instead.");
  }
  if (in_transform() && op_recorder()) expect_known();
  if (!t->has_memory()) {
    throw_type_error("can't convert a tensor on device '%s' to numpy: it has no elements",
                     to_string(t->device()).c_str());
  }
  if (!t->is_readable()) {
    throw_type_error(
        "can't convert %s device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
        to_string(t->device()).c_str());
  }
  PyObject* asarray = numpy_asarray();
  PyRef memory = make_memory(t);
  PyRef array = checked(PyObject_CallOneArg(asarray, memory.get()));
  // Where memory lacks for a look at the buffer NumPy makes an array with the object as its only element.
  if (checked(PyObject_GetAttrString(array.get(), "base")).get() == Py_None) {
    PyErr_NoMemory();
    throw PythonError{};
  }
  return array;
}

std::span<const NativeRow> numpy_methods() { return kMethods; }
std::span<const NativeRow> numpy_functions() { return kFunctions; }

}  // namespace md
