// Methods that give a tensor another shape, memory or both, in place: t_, squeeze_, resize_, set_, x.data = y.
#include <cstring>
#include <optional>

#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/written_tensors.h"
#include "ir/gradients/tape.h"
#include "ir/infer/memory_formats.h"
#include "ir/run/eager.h"
#include "ir/tensor/batched.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/lazy_view.h"
#include "ir/tensor/readable.h"

namespace md {

namespace {

void adopt(TensorImpl& self, const TensorImpl& from) {
  if (!(self.device() == from.device()) && !(self.has_memory() && from.has_memory())) {
    throw OpError(ErrorKind::Runtime, "a tensor on device '" + to_string(self.device()) +
                                          "' cannot take over the storage of one on device '" +
                                          to_string(from.device()) + "'; the devices must match");
  }
  if (self.storage != from.storage) self.base = nullptr;
  self.storage = from.storage;
  self.sizes = from.sizes;
  self.strides = from.strides;
  self.offset = from.offset;
  self.dtype = from.dtype;
  self.batch = from.batch;
}

// The tensor becomes what the view op of the same name returns.
PyRef become_view(const PassedArgs& call, const char* view) {
  TensorImpl& self = *tensor_impl(call.args[0]);
  check_grad_write(self);
  PyRef made = call_overloads(overloads(view), view, call, false);
  adopt(self, *tensor_impl(made.get()));
  const GradRecord* r = grad_record(*tensor_impl(made.get()));
  if (r && r->node) set_history(self, r->node, r->result);
  renew_grad_state(self);
  return PyRef::borrow(call.args[0]);
}
PyRef transposed(const PassedArgs& call) { return become_view(call, "t"); }
PyRef swapped(const PassedArgs& call) { return become_view(call, "transpose"); }
PyRef squeezed(const PassedArgs& call) { return become_view(call, "squeeze"); }
PyRef unsqueezed(const PassedArgs& call) { return become_view(call, "unsqueeze"); }
PyRef strided(const PassedArgs& call) { return become_view(call, "as_strided"); }
PyRef detached(const PassedArgs& call) {
  no_arguments("detach_", call, 1);
  TensorImpl& self = *tensor_impl(call.args[0]);
  if (self.batch && !pending_of(self)) {
    adopt(self, *call_table("detach", {Arg(TensorRef(&self))}).get<TensorRef>());
    renew_grad_state(self);
    return PyRef::borrow(call.args[0]);
  }
  if (self.history == GradHistory::LeafView)
    throw OpError(ErrorKind::Runtime, "Can't detach views in-place. Use detach() instead.");
  self.set_grad_state({});
  self.base = nullptr;
  if (GradRecord* const r = grad_record(self)) r->node = nullptr, r->result = 0;
  return PyRef::borrow(call.args[0]);
}

DimVec int_list(PyObject* o, const char* function) {
  PyRef items = checked(PySequence_Fast(o, "expected a sequence of ints"));
  DimVec list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!PyLong_Check(item) || PyBool_Check(item)) {
      throw_type_error("%s(): sizes and strides must be ints, not %.200s", function, Py_TYPE(item)->tp_name);
    }
    const long long v = PyLong_AsLongLong(item);
    if (v == -1 && PyErr_Occurred()) throw PythonError{};
    if (v < 0) throw OpError(ErrorKind::Runtime, std::string(function) + "(): sizes and strides must not be negative");
    list.push_back(v);
  }
  return list;
}

// Memory of at least so many bytes, keeping what is there, for all tensors that share it.
void grow(TensorImpl& t, std::size_t bytes) {
  if (bytes <= t.storage->bytes()) return;
  if (t.storage->foreign) {
    throw OpError(ErrorKind::Runtime,
                  "resize_() cannot enlarge memory that belongs to an array or a buffer; clone() the tensor first");
  }
  if (t.storage->lent && t.storage->use_count() > 1) {
    throw OpError(ErrorKind::Runtime,
                  "resize_() cannot enlarge memory that an array or a buffer was made over; clone() the tensor first");
  }
  if (t.storage->at_work.load(std::memory_order_relaxed)) {
    throw OpError(ErrorKind::Runtime, "resize_() cannot enlarge memory that another thread is computing with");
  }
  const Ref<Storage> larger = allocate_storage(bytes, t.device());
  if (t.has_memory()) copy_bytes(larger->data(), t.device(), t.storage->data(), t.device(), t.storage->bytes());
  t.storage->exchange(*larger);
}

DimVec strides_in(MemoryFormat f, const DimVec& sizes) {
  if (info(f).rank == 0) return contiguous_strides(sizes);
  DimVec strides;
  for (const Size s : format_strides(f, SizeVec(sizes.begin(), sizes.end()))) strides.push_back(s.value());
  return strides;
}

// Nothing: the strides stay where the sizes do.
using NamedFormat = std::optional<MemoryFormat>;

NamedFormat format_argument(PyObject* o, const char* function) {
  return o && o != Py_None ? NamedFormat(named_memory_format(o, function)) : NamedFormat();
}

PyRef resize(PyObject* self, const DimVec& sizes, NamedFormat format, const char* function) {
  TensorImpl& t = *tensor_impl(self);
  if (t.batch)
    throw OpError(ErrorKind::Runtime, std::string(function) + "() has no meaning for one example inside vmap");
  if (t.requires_grad) throw OpError(ErrorKind::Runtime, "cannot resize variables that require grad");
  if (format == MemoryFormat::Preserve) {
    throw OpError(ErrorKind::Runtime, std::string(function) + "(): preserve_format is of a tensor, not of sizes");
  }
  if (!format && t.sizes == sizes) return PyRef::borrow(self);
  const DimVec strides = strides_in(format.value_or(MemoryFormat::Contiguous), sizes);
  grow(t, checked_bytes(sizes, strides, t.offset, t.dtype));
  t.sizes = sizes;
  t.strides = strides;
  return PyRef::borrow(self);
}

// resize_(sizes) and resize_(*sizes)
PyRef resize_method(const PassedArgs& call) {
  PyObject* given = nullptr;
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(call.kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "memory_format") != 0) {
      throw_type_error("resize_() got an unexpected keyword argument '%U'", name);
    }
    given = call.args[call.nargs + i];
  }
  const NamedFormat format = format_argument(given, "resize_");
  if (call.nargs == 2 && (PyTuple_Check(call.args[1]) || PyList_Check(call.args[1]))) {
    return resize(call.args[0], int_list(call.args[1], "resize_"), format, "resize_");
  }
  PyRef sizes = checked(PyTuple_New(call.nargs - 1));
  for (Py_ssize_t i = 1; i < call.nargs; ++i) PyTuple_SET_ITEM(sizes.get(), i - 1, Py_NewRef(call.args[i]));
  return resize(call.args[0], int_list(sizes.get(), "resize_"), format, "resize_");
}
PyRef resize_as_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "the_template", "memory_format"};
  PyObject* out[3];
  parse_native({"resize_as_", names, 2, 1}, call, out);
  if (!is_tensor(out[1]))
    throw_type_error("resize_as_(): argument must be Tensor, not %.200s", Py_TYPE(out[1])->tp_name);
  const TensorRef like(tensor_impl(out[1]));
  NamedFormat format = format_argument(out[2], "resize_as_");
  if (format == MemoryFormat::Preserve) format = suggested_format(type_of(Arg(like)));
  return resize(out[0], like->sizes, format, "resize_as_");
}

// All of the memory of a torch.storage as elements of one dtype.
PyRef elements_of_storage(PyObject* storage, DType dtype) {
  PyRef made = PyRef::steal(PyObject_CallMethod(storage, "_as_elements", "O", dtype_object(dtype)));
  if (made && is_tensor(made.get())) return made;
  if (made || PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    throw_type_error("set_(): argument 'source' must be Tensor or Storage, not %.200s", Py_TYPE(storage)->tp_name);
  }
  throw PythonError{};
}

// set_(), set_(source), set_(source, offset, sizes, strides)
PyRef set_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "source", "storage_offset", "size", "stride"};
  PyObject* out[5];
  parse_native({"set_", names, 1}, call, out);
  TensorImpl& self = *tensor_impl(out[0]);
  check_grad_write(self);
  if (!out[1]) {
    adopt(self, *empty_tensor({0}, self.dtype, self.device()));
    return PyRef::borrow(out[0]);
  }
  const bool storage = !is_tensor(out[1]);  // torch.storage: its memory from the first byte
  PyRef of_storage = storage ? elements_of_storage(out[1], self.dtype) : PyRef::borrow(out[1]);
  const TensorImpl& source = *tensor_impl(of_storage.get());
  if (source.dtype != self.dtype) {
    throw OpError(ErrorKind::Runtime, "set_() needs a source of dtype " + std::string(info(self.dtype).name) +
                                          ", not " + std::string(info(source.dtype).name));
  }
  TensorRef made = alias(TensorRef(const_cast<TensorImpl*>(&source)));
  if (out[2] && source.batch)
    throw OpError(ErrorKind::Runtime, "set_() takes no offset into the storage of one example inside vmap");
  if (out[2]) {
    made->offset = PyLong_AsLongLong(out[2]);
    if (made->offset == -1 && PyErr_Occurred()) throw PythonError{};
    if (!out[3]) throw_type_error("set_() with an offset needs sizes too");
    made->sizes = int_list(out[3], "set_");
    made->strides = out[4] ? int_list(out[4], "set_") : contiguous_strides(made->sizes);
    const auto available = static_cast<std::int64_t>(source.storage->bytes() / item_size(source.dtype));
    if (made->strides.size() != made->sizes.size() || made->offset < 0 ||
        checked_reach(made->sizes, made->strides, made->offset) > available) {
      throw OpError(ErrorKind::Runtime, "set_(): offset, sizes and strides reach outside the storage of the source");
    }
  }
  adopt(self, *made);
  return PyRef::borrow(out[0]);
}

// Every tensor is dense.
[[noreturn]] void refuse_sparse(const char* name) {
  throw OpError(ErrorKind::NotImplemented, std::string(name) + "() is for sparse tensors, and this one is dense");
}
PyRef sparse_resize(const PassedArgs&) { refuse_sparse("sparse_resize_"); }
PyRef sparse_resize_and_clear(const PassedArgs&) { refuse_sparse("sparse_resize_and_clear_"); }
PyRef is_inference(const PassedArgs& call) {
  no_arguments("is_inference", call, 1);
  return PyRef::borrow(tensor_impl(call.args[0])->storage->inference ? Py_True : Py_False);
}

constexpr NativeRow kMethods[] = {
    {"sparse_resize_", sparse_resize,
     "sparse_resize_(size, sparse_dim, dense_dim)\n\nNotImplementedError: there are no sparse tensors."},
    {"sparse_resize_and_clear_", sparse_resize_and_clear,
     "sparse_resize_and_clear_(size, sparse_dim, dense_dim)\n\nNotImplementedError: there are no sparse tensors."},
    {"is_inference", is_inference, "is_inference()\n\nWhether its memory was made in inference mode."},
    {"t_", transposed, "t_()\n\nt() in place: the same elements, other sizes."},
    {"transpose_", swapped, "transpose_(dim0, dim1)\n\ntranspose() in place: the same elements, other sizes."},
    {"squeeze_", squeezed, "squeeze_(dim=None)\n\nsqueeze() in place: the same elements, other sizes."},
    {"unsqueeze_", unsqueezed, "unsqueeze_(dim)\n\nunsqueeze() in place: the same elements, other sizes."},
    {"swapaxes_", swapped, "swapaxes_(axis0, axis1)\n\ntranspose_() by another name."},
    {"swapdims_", swapped, "swapdims_(dim0, dim1)\n\ntranspose_() by another name."},
    {"as_strided_", strided,
     "as_strided_(size, stride, storage_offset=None)\n\nas_strided() in place: other sizes and strides over the "
     "memory."},
    {"detach_", detached, "detach_()\n\ndetach() in place: the tensor requires no grad any more."},
    {"resize_", resize_method,
     "resize_(*sizes, memory_format=None)\n\nOther sizes over the same memory, which grows if it must; new elements "
     "are uninitialised. Strides are of the format, row-major without one; equal sizes keep theirs."},
    {"resize_as_", resize_as_method,
     "resize_as_(the_template, *, memory_format=None)\n\nresize_ to the sizes of another tensor, with "
     "torch.preserve_format to its format too."},
    {"set_", set_method,
     "set_(source=None, storage_offset=0, size=None, stride=None)\n\nMakes this tensor a view of the source's memory."},
};

}  // namespace

int set_tensor_data(PyObject* self, PyObject* value, void*) {
  if (!value || !is_tensor(value)) {
    PyErr_SetString(PyExc_TypeError, "Variable data has to be a tensor");
    return -1;
  }
  PyObject* ok = guarded([&]() -> PyObject* {
    adopt(*tensor_impl(self), *tensor_impl(value));
    return Py_None;
  });
  return ok ? 0 : -1;
}

std::span<const NativeRow> metadata_methods() { return kMethods; }

}  // namespace md
