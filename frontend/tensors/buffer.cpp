// PEP 3118: memoryview(tensor), and tensors over the memory of any object with a buffer.
#include <array>
#include <memory>
#include <vector>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/tensor_parts.h"

namespace md {

namespace {

// What a view of a tensor keeps, whatever becomes of the tensor object.
struct Exported {
  Ref<Storage> storage;
  std::vector<Py_ssize_t> layout;  // shape, then strides in bytes
};

bool is_dense(const TensorImpl& t) {
  std::int64_t expect = 1;
  for (int d = t.dim() - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    if (t.sizes[i] == 0) return true;
    if (t.sizes[i] != 1 && t.strides[i] != expect) return false;
    expect *= t.sizes[i];
  }
  return true;
}

// Null: out of memory.
Exported* exported(const TensorImpl& t) {
  try {
    auto kept = std::make_unique<Exported>(Exported{t.storage, {}});
    const auto item = static_cast<Py_ssize_t>(item_size(t.dtype));
    for (std::int64_t n : t.sizes) kept->layout.push_back(static_cast<Py_ssize_t>(n));
    for (std::int64_t n : t.strides) kept->layout.push_back(static_cast<Py_ssize_t>(n) * item);
    t.storage->lent = true;
    return kept.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

int refuse(const char* reason) {
  PyErr_SetString(PyExc_BufferError, reason);
  return -1;
}

// Takes the buffer of `o` for the life of a storage.
struct Held {
  Py_buffer view{};
  static void release(void*, std::size_t, void* context) {
    if (!Py_IsInitialized()) return;  // too late to give anything back
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyBuffer_Release(&static_cast<Held*>(context)->view);
    delete static_cast<Held*>(context);
    PyGILState_Release(gil);
  }
};

Ref<Storage> storage_over(PyObject* o) {
  auto held = std::make_unique<Held>();
  if (PyObject_GetBuffer(o, &held->view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, &held->view, PyBUF_SIMPLE) < 0) throw PythonError{};
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "The given buffer is not writable, and a tensor cannot be read-only: writing to the tensor would "
                     "change memory its owner declared constant. Copy the buffer first to be safe.",
                     1) < 0) {
      PyBuffer_Release(&held->view);
      throw PythonError{};
    }
  }
  const auto bytes = static_cast<std::size_t>(held->view.len);
  void* data = held->view.buf;
  if (held->view.len < 0 || (held->view.len > 0 && !data)) {
    PyBuffer_Release(&held->view);
    throw OpError(ErrorKind::Value, "the object's buffer has a length, but no memory");
  }
  auto storage = make_ref<Storage>(data, bytes, Held::release, held.release());
  storage->foreign = true;
  return storage;
}

std::int64_t int_of(PyObject* o, std::int64_t otherwise) {
  if (!o) return otherwise;
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonError{};
  return n;
}

// frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)
PyRef frombuffer_function(const PassedArgs& call) {
  static const char* const names[] = {"buffer", "dtype", "count", "offset", "requires_grad"};
  PyObject* out[5];
  parse_native({"frombuffer", names, 2, 4}, call, out);
  if (!PyObject_CheckBuffer(out[0]))
    throw_type_error("frombuffer(): expected an object with a buffer (got %.200s)", Py_TYPE(out[0])->tp_name);
  const DType dtype = tensor_dtype(out[1]);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  std::int64_t count = int_of(out[2], -1);
  const std::int64_t offset = int_of(out[3], 0);
  Ref<Storage> whole = storage_over(out[0]);
  const auto bytes = static_cast<std::int64_t>(whole->bytes());
  const auto fail = [&](const std::string& what) {
    throw OpError(ErrorKind::Value, "frombuffer(): " + what + " (a buffer of " + std::to_string(bytes) + " bytes)");
  };
  if (bytes == 0 || count == 0) fail("the buffer is empty, or no elements are asked for");
  if (offset < 0 || offset >= bytes) fail("offset " + std::to_string(offset) + " is outside of the buffer");
  if (count < 0 && (bytes - offset) % item != 0)
    fail("what follows offset " + std::to_string(offset) + " is not a multiple of the element size " +
         std::to_string(item));
  if (count < 0) count = (bytes - offset) / item;
  if (count > (bytes - offset) / item) fail(std::to_string(count) + " elements do not fit");
  if ((reinterpret_cast<std::uintptr_t>(whole->data()) + static_cast<std::uintptr_t>(offset)) %
          static_cast<std::uintptr_t>(item) !=
      0)
    fail("offset " + std::to_string(offset) + " does not lie at a multiple of the element size");
  // The offset counts bytes: a storage that begins there and keeps the whole.
  auto* keep = new Ref<Storage>(whole);
  auto storage = make_ref<Storage>(
      static_cast<char*>(whole->data()) + offset, static_cast<std::size_t>(count * item),
      [](void*, std::size_t, void* context) { delete static_cast<Ref<Storage>*>(context); }, keep);
  storage->foreign = true;
  DimVec sizes, strides;
  sizes.push_back(count), strides.push_back(1);
  auto t = make_ref<TensorImpl>(std::move(storage), dtype, std::move(sizes), std::move(strides), 0);
  set_requires_grad(*t, out[4] && checked(PyObject_IsTrue(out[4])));
  return wrap_tensor(std::move(t));
}

}  // namespace

bool has_array_interface(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o) || PyLong_Check(o) || PyFloat_Check(o)) return false;
  return has_attribute(o, "__cuda_array_interface__");
}

PyRef sharing(PyObject* o) {
  if (is_tensor(o)) return PyRef::borrow(o);
  if (is_array(o)) return wrap_tensor(tensor_from_array(o, ReadOnly::Warn));
  if (PyType_Check(o)) return {};
  if (PyCapsule_CheckExact(o) || has_attribute(o, "__dlpack__")) {
    PyRef module = checked(import_module("minidynamo._C"));
    return checked(PyObject_CallMethod(module.get(), "from_dlpack", "O", o));
  }
  if (has_array_interface(o)) {
    PyRef module = checked(import_module("minidynamo.cuda._array_interface"));
    return checked(PyObject_CallMethod(module.get(), "tensor_of", "O", o));
  }
  const bool bytes = PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyUnicode_Check(o);
  // NumPy's scalars make arrays of themselves, too: they are numbers.
  if (!bytes && (PyNumber_Check(o) || PySequence_Check(o) || !has_attribute(o, "__array__"))) return {};
  PyRef numpy = PyRef::steal(import_module("numpy"));
  if (!numpy) {
    PyErr_Clear();
    return {};
  }
  PyRef array = checked(PyObject_CallMethod(numpy.get(), "asarray", "O", o));
  TensorRef over = tensor_from_array(array.get(), ReadOnly::Warn);
  return over ? wrap_tensor(std::move(over)) : PyRef();
}

namespace {

// asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)
PyRef asarray_function(const PassedArgs& call) {
  static const char* const names[] = {"obj", "dtype", "device", "copy", "requires_grad"};
  PyObject* out[5];
  parse_native({"asarray", names, 1, 4}, call, out);
  const std::optional<Device> device = device_for_new(out[2]);
  const bool typed = out[1] && out[1] != Py_None;
  const DType dtype = typed ? tensor_dtype(out[1]) : DType::Float32;
  const bool decided = out[3] && out[3] != Py_None;
  const bool copy = decided && checked(PyObject_IsTrue(out[3]));
  const bool grad = out[4] && checked(PyObject_IsTrue(out[4]));
  PyRef shared = sharing(out[0]);
  if (!shared) {
    if (decided && !copy)
      throw OpError(ErrorKind::Value, "asarray(): copy=False, but the values of this object can only be copied");
    TensorRef made = tensor_from_data(out[0], typed ? &dtype : nullptr);
    made = moved(made, device);
    set_requires_grad(*made, grad);
    return wrap_tensor(std::move(made));
  }
  TensorRef t(tensor_impl(shared.get()));
  const bool moves = device && !(t->device() == *device);
  const bool converts = typed && t->dtype != dtype;
  if ((converts || moves) && decided && !copy)
    throw OpError(ErrorKind::Value,
                  std::string("asarray(): copy=False, but the ") + (moves ? "device" : "dtype") + " has to change");
  if (!converts && !moves && !copy && grad == t->requires_grad) return shared;
  if (moves) {
    t = moved(converts ? *call_table("to", {Arg(t), Arg(dtype)}).get_if<TensorRef>() : t, device);
    t->requires_grad = grad;
    return wrap_tensor(std::move(t));
  }
  if (converts)
    t = *call_table("to", {Arg(t), Arg(dtype)}).get_if<TensorRef>();
  else
    t = copy ? *call_table("clone", {Arg(t)}).get_if<TensorRef>() : alias(t);
  set_requires_grad(*t, grad);
  return wrap_tensor(std::move(t));
}

constexpr NativeRow kFunctions[] = {
    {"frombuffer", frombuffer_function,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n\nA 1-d tensor over the memory of an "
     "object with a buffer."},
    {"asarray", asarray_function,
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)\n\nA tensor that shares memory with "
     "`obj` where that can be, else one with its values."},
};

}  // namespace

std::span<const NativeRow> buffer_functions() { return kFunctions; }

const char* buffer_format(DType t) {
  if (is_complex(t)) return t == DType::Complex64 ? "Zf" : "Zd";
  // Texts of one character: a consumer keeps the pointer.
  static constexpr auto kTexts = [] {
    std::array<std::array<char, 2>, kDTypeCount> texts{};
    for (int i = 0; i < kDTypeCount; ++i)
      texts[static_cast<std::size_t>(i)][0] = kDTypes[static_cast<std::size_t>(i)].format;
    return texts;
  }();
  return info(t).format ? kTexts[static_cast<std::size_t>(t)].data() : nullptr;
}

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const TensorImpl& t = *tensor_impl(self);
  const char* format = buffer_format(t.dtype);
  if (!format)
    return refuse("the buffer protocol has no name for bfloat16 and 8-bit floats: such tensors have no buffer");
  if (t.batch) return refuse("a tensor that stands for one example inside vmap has no buffer");
  if (!t.has_memory()) return refuse("a tensor without elements (device 'meta') has no buffer");
  if (!t.is_readable()) return refuse("a tensor on another device than the CPU has no buffer: use tensor.cpu() first");
  if (t.requires_grad) return refuse("a tensor that requires grad has no buffer: use tensor.detach() first");
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !is_dense(t))
    return refuse("the tensor is not contiguous, and its buffer was asked for without strides");
  if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !is_dense(t))
    return refuse("the tensor is not C-contiguous");
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && t.dim() > 1)
    return refuse("a tensor of several dimensions is not given in Fortran's order");
  Exported* kept = exported(t);
  if (!kept) {
    PyErr_NoMemory();
    return -1;
  }
  const auto item = static_cast<Py_ssize_t>(item_size(t.dtype));
  view->obj = Py_NewRef(self);
  view->buf = t.data();
  view->itemsize = item;
  view->len = static_cast<Py_ssize_t>(t.numel()) * item;
  view->readonly = 0;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  view->ndim = t.dim();
  view->shape = flags & PyBUF_ND ? kept->layout.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? kept->layout.data() + t.dim() : nullptr;
  view->suboffsets = nullptr;
  view->internal = kept;
  return 0;
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

}  // namespace md
