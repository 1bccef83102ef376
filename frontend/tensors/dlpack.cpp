// DLPack both ways: tensors give their memory away in capsules, and live in memory others give.
#include <limits>
#include <memory>
#include <type_traits>

#include "frontend/tensors/dlpack_devices.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/run/op_recorder.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/lazy_view.h"

namespace md {

namespace {

using dlpack::Managed;
using dlpack::ManagedVersioned;

constexpr const char* kName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

template <class M>
constexpr const char* name_of() {
  return std::is_same_v<M, Managed> ? kName : kVersionedName;
}

dlpack::DataType data_type(DType t) {
  const DTypeInfo& row = info(t);
  const auto bits = static_cast<std::uint8_t>(8 * row.size);
  if (t == DType::Bool) return {dlpack::kBool, bits, 1};
  if (t == DType::BFloat16) return {dlpack::kBfloat, bits, 1};
  if (t == DType::Float8E4M3FN) return {dlpack::kFloat8E4M3FN, bits, 1};
  if (t == DType::Float8E4M3FNUZ) return {dlpack::kFloat8E4M3FNUZ, bits, 1};
  if (t == DType::Float8E5M2) return {dlpack::kFloat8E5M2, bits, 1};
  if (t == DType::Float8E5M2FNUZ) return {dlpack::kFloat8E5M2FNUZ, bits, 1};
  if (is_floating(t)) return {dlpack::kFloat, bits, 1};
  if (is_complex(t)) return {dlpack::kComplex, bits, 1};
  return {is_signed(t) ? dlpack::kInt : dlpack::kUInt, bits, 1};
}

// --- Tensor -> capsule ------------------------------------------------------------------------------------------

void describe(const TensorImpl& t, dlpack::Tensor& out) {
  out.data = t.numel() ? t.data() : nullptr;
  out.device = place_of(t.device());
  out.ndim = t.dim();
  out.dtype = data_type(t.dtype);
  out.shape = const_cast<std::int64_t*>(t.sizes.data());
  out.strides = const_cast<std::int64_t*>(t.strides.data());
  out.byte_offset = 0;
}

// What the receiver holds: the storage, and sizes that stay as they are whatever becomes of the tensor object.
template <class M>
struct Exported {
  M managed{};
  TensorRef tensor;
};

template <class M>
void delete_exported(M* m) {
  delete static_cast<Exported<M>*>(m->context);
}

template <class M>
M* export_tensor(const TensorImpl& t, std::uint64_t flags) {
  auto made = std::make_unique<Exported<M>>();
  made->tensor = make_ref<TensorImpl>(t.storage, t.dtype, t.sizes, t.strides, t.offset);
  t.storage->lent = true;
  describe(*made->tensor, made->managed.tensor);
  made->managed.context = made.get();
  made->managed.deleter = delete_exported<M>;
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    made->managed.version = {dlpack::kMajor, dlpack::kMinor};
    made->managed.flags = flags;
  }
  return &made.release()->managed;
}

// A capsule nobody took.
template <class M>
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, name_of<M>())) return;
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name_of<M>()));
  if (m->deleter) m->deleter(m);
}

template <class M>
PyRef capsule_of(const TensorImpl& t, std::uint64_t flags) {
  M* m = export_tensor<M>(t, flags);
  PyRef capsule = PyRef::steal(PyCapsule_New(m, name_of<M>(), drop_capsule<M>));
  if (!capsule) {
    m->deleter(m);
    throw PythonError{};
  }
  return capsule;
}

void check_exportable(const TensorImpl& t) {
  if (t.batch) expect_elements(t, "DLPack");
  if (const Pending p = pending_of(t)) {
    PyErr_SetString(PyExc_BufferError, p.conjugate ? "Can't export tensors with the conjugate bit set: resolve_conj()"
                                                   : "Can't export tensors with the negative bit set: resolve_neg()");
    throw PythonError{};
  }
  if (in_transform() && op_recorder()) expect_known();
  if (!t.has_memory()) {
    PyErr_Format(PyExc_BufferError, "Cannot pack tensors on %s: they have no elements", to_string(t.device()).c_str());
    throw PythonError{};
  }
  if (!t.requires_grad) return;
  PyErr_SetString(PyExc_BufferError,
                  "a tensor that requires grad cannot be given away by DLPack: use tensor.detach() first");
  throw PythonError{};
}

bool takes_versions(PyObject* max_version) {
  if (!max_version || max_version == Py_None) return false;
  PyRef major = checked(PySequence_GetItem(max_version, 0));
  const long n = PyLong_AsLong(major.get());
  if (n == -1 && PyErr_Occurred()) throw PythonError{};
  return n >= static_cast<long>(dlpack::kMajor);
}

TensorRef copy_of(const TensorRef& t) { return *call_table("clone", {Arg(t)}).get_if<TensorRef>(); }

PyRef dlpack_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "stream", "max_version", "dl_device", "copy"};
  PyObject* out[5];
  parse_native({"__dlpack__", names, 1, 4}, call, out);
  TensorRef t(tensor_impl(out[0]));
  check_exportable(*t);
  wait_for_consumer(*t, out[1]);
  const std::optional<Device> wanted = device_of_pair(out[3]);
  const bool decided = out[4] && out[4] != Py_None;
  bool copy = decided && checked(PyObject_IsTrue(out[4]));
  if (wanted && !(*wanted == t->device())) {
    if (decided && !copy) {
      PyErr_SetString(PyExc_BufferError, "a tensor cannot be given to another device without a copy (copy=False)");
      throw PythonError{};
    }
    t = moved(t, wanted);
    copy = true;
  } else if (copy) {
    t = copy_of(t);
  }
  if (takes_versions(out[2])) return capsule_of<ManagedVersioned>(*t, copy ? dlpack::kCopied : 0);
  return capsule_of<Managed>(*t, 0);
}

PyRef dlpack_device_method(const PassedArgs& call) {
  no_arguments("__dlpack_device__", call, 1);
  const Device d = tensor_impl(call.args[0])->device();
  if (!d.has_memory()) throw OpError(ErrorKind::Value, "Unknown device type " + to_string(d) + " for Dlpack");
  const dlpack::Device place = place_of(d);
  return checked(Py_BuildValue("(ii)", place.type, place.id));
}

PyRef to_dlpack_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"to_dlpack", names, 1}, call, out);
  if (!is_tensor(out[0])) throw_type_error("to_dlpack(): expected a tensor (got %.200s)", Py_TYPE(out[0])->tp_name);
  check_exportable(*tensor_impl(out[0]));
  return capsule_of<Managed>(*tensor_impl(out[0]), 0);
}

// --- capsule -> Tensor ------------------------------------------------------------------------------------------

// The owner's code may be Python, which runs well only where no exception is on its way.
template <class M>
void give_back(M* m) {
  if (!m->deleter) return;
  const bool held = Py_IsInitialized() && PyGILState_Check();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  if (held) PyErr_Fetch(&type, &value, &traceback);
  m->deleter(m);
  if (held) PyErr_Restore(type, value, traceback);
}

template <class M>
void release_imported(void*, std::size_t, void* context) {
  give_back(static_cast<M*>(context));
}

DType dtype_of(const dlpack::DataType& given) {
  for (const DTypeInfo& row : kDTypes) {
    const dlpack::DataType ours = data_type(row.dtype);
    if (given.lanes == 1 && given.code == ours.code && given.bits == ours.bits) return row.dtype;
  }
  throw OpError(ErrorKind::Runtime, "DLPack type (code " + std::to_string(given.code) + ", " +
                                        std::to_string(given.bits) + " bits, " + std::to_string(given.lanes) +
                                        " lanes) has no tensor dtype");
}

struct Layout {
  DType dtype;
  DimVec sizes, strides;
  std::size_t bytes;
};

constexpr int kMostDims = 64;  // as NumPy; a larger number is a damaged capsule

Layout layout_of(const dlpack::Tensor& t) {
  if (!device_at(t.device.type, t.device.id)) {
    throw OpError(ErrorKind::Runtime, "the DLPack tensor is on device type " + std::to_string(t.device.type) +
                                          ": minidynamo reads the memory of the CPU (1) only");
  }
  if (t.ndim < 0 || t.ndim > kMostDims) {
    throw OpError(ErrorKind::Runtime, "the DLPack tensor has " + std::to_string(t.ndim) +
                                          " dimensions: a tensor has 0 to " + std::to_string(kMostDims));
  }
  if (t.ndim && !t.shape) throw OpError(ErrorKind::Runtime, "the DLPack tensor has dimensions, but no shape");
  Layout out{dtype_of(t.dtype), {}, {}, 0};
  for (int d = 0; d < t.ndim; ++d) out.sizes.push_back(t.shape[d]);
  checked_numel(out.sizes);
  out.strides = contiguous_strides(out.sizes);
  for (int d = 0; t.strides && d < t.ndim; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (t.strides[d] >= 0) {
      out.strides[i] = t.strides[d];
    } else if (out.sizes[i] > 1) {
      throw OpError(ErrorKind::Value, "the DLPack tensor has a negative stride; copy it first");
    }
  }
  out.bytes = checked_bytes(out.sizes, out.strides, 0, out.dtype);
  return out;
}

// Where the elements begin, which has to be memory.
char* first_element(const dlpack::Tensor& t, const Layout& layout) {
  if (layout.bytes && !t.data) throw OpError(ErrorKind::Runtime, "the DLPack tensor has elements, but no memory");
  const auto base = reinterpret_cast<std::uintptr_t>(t.data);
  std::uintptr_t address = 0, end = 0;
  if (__builtin_add_overflow(base, t.byte_offset, &address) || __builtin_add_overflow(address, layout.bytes, &end) ||
      end > std::numeric_limits<std::uintptr_t>::max() / 2)
    throw OpError(ErrorKind::Runtime, "the DLPack tensor reaches beyond the end of memory");
  if (layout.bytes && address % item_size(layout.dtype) != 0) {
    throw OpError(ErrorKind::Value,
                  "the DLPack tensor's elements do not lie at multiples of their size; copy it first");
  }
  return reinterpret_cast<char*>(address);
}

// Takes `m` over, whatever happens.
template <class M>
TensorRef import_managed(M* m) {
  struct Owner {
    M* m;
    ~Owner() {
      if (m) give_back(m);
    }
  } owner{m};
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    if (m->version.major != dlpack::kMajor) {
      throw OpError(ErrorKind::Runtime, "DLPack version " + std::to_string(m->version.major) +
                                            " is not understood: minidynamo knows version 1");
    }
    if (m->flags & dlpack::kReadOnly) {
      checked(PyErr_WarnEx(PyExc_UserWarning,
                           "The memory received by DLPack is read-only, and a tensor cannot be: writing to the tensor "
                           "would change memory its owner declared constant. Ask for a copy (copy=True) to be safe.",
                           1));
    }
  }
  Layout layout = layout_of(m->tensor);
  char* const data = first_element(m->tensor, layout);
  const Device device = *device_at(m->tensor.device.type, m->tensor.device.id);
  auto storage = make_ref<Storage>(data, layout.bytes, release_imported<M>, m, device);
  owner.m = nullptr;
  storage->foreign = true;
  return make_ref<TensorImpl>(std::move(storage), layout.dtype, std::move(layout.sizes), std::move(layout.strides), 0);
}

template <class M>
TensorRef import_capsule(PyObject* capsule) {
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name_of<M>()));
  if (!m) throw PythonError{};
  // It is used up from here on, and its own destructor knows by the name.
  constexpr const char* used = std::is_same_v<M, Managed> ? "used_dltensor" : "used_dltensor_versioned";
  if (PyCapsule_SetName(capsule, used) < 0) throw PythonError{};
  return import_managed(m);
}

TensorRef from_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) return import_capsule<ManagedVersioned>(capsule);
  if (PyCapsule_IsValid(capsule, kName)) return import_capsule<Managed>(capsule);
  const char* name = PyCapsule_GetName(capsule);
  PyErr_Clear();
  throw OpError(ErrorKind::Runtime, std::string("from_dlpack() takes a capsule once, named 'dltensor' or "
                                                "'dltensor_versioned'; this one is named '") +
                                        (name ? name : "") + "'");
}

// The producer's table of functions; null if it has none we understand.
const dlpack::ExchangeApi* exchange_api(PyObject* o) {
  PyRef capsule =
      PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__dlpack_c_exchange_api__"));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return nullptr;
  }
  auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  while (api && api->version.major != dlpack::kMajor) api = api->previous;
  return api && api->from_object ? api : nullptr;
}

// o.__dlpack__() with what it understands; `copied`: it has seen to the copy.
PyRef ask_for_capsule(PyObject* o, Device device, PyObject* copy, bool& copied) {
  PyRef method = checked(PyObject_GetAttrString(o, "__dlpack__"));
  PyRef none = checked(PyTuple_New(0));
  for (int attempt = 0; attempt < 3; ++attempt) {
    PyRef kwargs = checked(PyDict_New());
    copied = copy && attempt < 2;
    if (attempt == 0) {
      PyRef version = checked(Py_BuildValue("(ii)", dlpack::kMajor, 0));
      checked(PyDict_SetItemString(kwargs.get(), "max_version", version.get()));
    }
    if (copied) checked(PyDict_SetItemString(kwargs.get(), "copy", copy));
    if (!device.is_readable()) checked(PyDict_SetItemString(kwargs.get(), "stream", stream_of(device).get()));
    if (PyRef made = PyRef::steal(PyObject_Call(method.get(), none.get(), kwargs.get()))) return made;
    if (attempt == 2 || !PyErr_ExceptionMatches(PyExc_TypeError)) break;
    PyErr_Clear();
  }
  throw PythonError{};
}

TensorRef from_object(PyObject* o, PyObject* copy, bool& copied) {
  if (PyCapsule_CheckExact(o)) return from_capsule(o);
  if (const dlpack::ExchangeApi* api = exchange_api(o)) {
    ManagedVersioned* m = nullptr;
    if (api->from_object(o, &m) != 0) throw PythonError{};
    return import_managed(m);
  }
  if (!PyObject_HasAttrString(o, "__dlpack__")) {
    throw_type_error("from_dlpack() takes a capsule or an object with __dlpack__ (got %.200s)", Py_TYPE(o)->tp_name);
  }
  const PyRef pair = checked(PyObject_CallMethod(o, "__dlpack_device__", nullptr));
  PyRef capsule = ask_for_capsule(o, device_of_pair(pair.get()).value_or(kCpu), copy, copied);
  if (!PyCapsule_CheckExact(capsule.get())) {
    throw_type_error("__dlpack__() must give a capsule (got %.200s)", Py_TYPE(capsule.get())->tp_name);
  }
  return from_capsule(capsule.get());
}

PyRef from_dlpack_function(const PassedArgs& call) {
  static const char* const names[] = {"ext_tensor", "device", "copy"};
  PyObject* out[3];
  parse_native({"from_dlpack", names, 1, 2}, call, out);
  const std::optional<Device> device = device_argument(out[1]);
  if (device && !device->has_memory())
    throw OpError(ErrorKind::Value, "from_dlpack(): memory of DLPack stays on the CPU; use x.to('" +
                                        to_string(*device) + "') afterwards");
  PyObject* copy = out[2] && out[2] != Py_None ? out[2] : nullptr;
  const bool wanted = copy && checked(PyObject_IsTrue(copy));
  bool copied = false;
  TensorRef t = from_object(out[0], copy, copied);
  if (device && !(t->device() == *device)) {
    if (copy && !wanted)
      throw OpError(ErrorKind::Value, "from_dlpack(): the tensor is on " + to_string(t->device()) + ", not on " +
                                          to_string(*device) + ", and copy=False");
    return wrap_tensor(moved(t, device));
  }
  return wrap_tensor(wanted && !copied ? copy_of(t) : t);
}

// --- the table of functions -------------------------------------------------------------------------------------

template <class F>
int reported(F&& f) {
  PyObject* done = guarded([&]() -> PyObject* {
    f();
    return Py_None;
  });
  return done ? 0 : -1;
}

int api_allocate(dlpack::Tensor* prototype, ManagedVersioned** out, void* error_context, dlpack::SetError set_error) {
  try {
    dlpack::Tensor dense = *prototype;
    dense.strides = nullptr;
    dense.data = nullptr;
    dense.byte_offset = 0;
    Layout layout = layout_of(dense);
    const Device device = *device_at(dense.device.type, dense.device.id);
    const auto made = make_ref<TensorImpl>(allocate_storage(layout.bytes, device), layout.dtype,
                                           std::move(layout.sizes), std::move(layout.strides), 0);
    *out = export_tensor<ManagedVersioned>(*made, 0);
    return 0;
  } catch (const OpError& e) {
    set_error(error_context, e.kind == ErrorKind::Memory ? "MemoryError" : "RuntimeError", e.what());
  } catch (const std::exception& e) {
    set_error(error_context, "MemoryError", e.what());
  }
  return -1;
}

int api_from_object(void* object, ManagedVersioned** out) {
  return reported([&] {
    const TensorImpl& t = *tensor_impl(static_cast<PyObject*>(object));
    check_exportable(t);
    *out = export_tensor<ManagedVersioned>(t, 0);
  });
}

int api_to_object(ManagedVersioned* tensor, void** out) {
  return reported([&] { *out = wrap_tensor(import_managed(tensor)).release(); });
}

int api_view_object(void* object, dlpack::Tensor* out) {
  return reported([&] {
    const TensorImpl& t = *tensor_impl(static_cast<PyObject*>(object));
    check_exportable(t);
    describe(t, *out);
  });
}

int api_work_stream(std::int32_t type, std::int32_t ordinal, void** out) {
  *out = nullptr;
  return reported([&] {
    if (const std::optional<Device> d = device_at(type, ordinal)) *out = current_stream(*d);
  });
}

constexpr dlpack::ExchangeApi kApi = {{dlpack::kMajor, dlpack::kMinor},
                                      nullptr,
                                      api_allocate,
                                      api_from_object,
                                      api_to_object,
                                      api_view_object,
                                      api_work_stream};

constexpr NativeRow kMethods[] = {
    {"__dlpack__", dlpack_method,
     "__dlpack__(*, stream=-1, max_version=None, dl_device=None, copy=None)\n\nA DLPack capsule over the same memory."},
    {"__dlpack_device__", dlpack_device_method, "(1, 0): the CPU."},
};
constexpr NativeRow kFunctions[] = {
    {"from_dlpack", from_dlpack_function,
     "from_dlpack(ext_tensor, *, device=None, copy=None)\n\nA tensor over the memory of a DLPack capsule or of an "
     "object that gives one."},
    {"_to_dlpack", to_dlpack_function, "_to_dlpack(tensor): a capsule of the first kind, without a version."},
};

}  // namespace

std::span<const NativeRow> dlpack_methods() { return kMethods; }
std::span<const NativeRow> dlpack_functions() { return kFunctions; }

int init_dlpack() {
  PyRef capsule = PyRef::steal(PyCapsule_New(const_cast<dlpack::ExchangeApi*>(&kApi), "dlpack_exchange_api", nullptr));
  if (!capsule) return -1;
  return PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__dlpack_c_exchange_api__", capsule.get());
}

}  // namespace md
