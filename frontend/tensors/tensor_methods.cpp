// Methods that are not ops: questions about sizes and memory, copies for Python's protocols.
#include <cstring>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/gradients/tape.h"
#include "ir/infer/memory_formats.h"
#include "ir/run/eager.h"
#include "ir/tensor/handled.h"
#include "ir/tensor/lazy_view.h"
#include "ir/tensor/readable.h"

namespace md {

namespace {

const TensorImpl& self_of(const PassedArgs& call) { return *tensor_impl(call.args[0]); }
PyRef long_ref(std::int64_t v) { return checked(PyLong_FromLongLong(v)); }
PyRef bool_ref(bool b) { return PyRef::borrow(b ? Py_True : Py_False); }

std::size_t dimension(const TensorImpl& t, PyObject* o) {
  const long long d = PyLong_AsLongLong(o);
  if (d == -1 && PyErr_Occurred()) throw PythonError{};
  const int n = t.dim() ? t.dim() : 1;
  if (d < -n || d >= n || t.dim() == 0) {
    throw OpError(ErrorKind::Index,
                  t.dim() == 0 ? "Dimension specified as " + std::to_string(d) + " but tensor has no dimensions"
                               : "Dimension out of range (expected to be in range of [" + std::to_string(-n) + ", " +
                                     std::to_string(n - 1) + "], but got " + std::to_string(d) + ")");
  }
  return static_cast<std::size_t>(d < 0 ? d + n : d);
}

PyObject* optional_dim(const PassedArgs& call, const char* function) {
  static const char* const names[] = {"self", "dim"};
  PyObject* out[2];
  parse_native({function, names, 1}, call, out);
  return out[1] && out[1] != Py_None ? out[1] : nullptr;
}

PyRef size_method(const PassedArgs& call) {
  const TensorImpl& t = self_of(call);
  if (PyObject* dim = optional_dim(call, "size")) return long_ref(t.sizes[dimension(t, dim)]);
  return size_object(t.sizes);
}
PyRef stride_method(const PassedArgs& call) {
  const TensorImpl& t = self_of(call);
  if (PyObject* dim = optional_dim(call, "stride")) return long_ref(t.strides[dimension(t, dim)]);
  PyRef made = checked(PyTuple_New(t.dim()));
  for (int i = 0; i < t.dim(); ++i) {
    PyTuple_SET_ITEM(made.get(), i, long_ref(t.strides[static_cast<std::size_t>(i)]).release());
  }
  return made;
}
PyRef dim_method(const PassedArgs& call) {
  no_arguments("dim", call, 1);
  return long_ref(self_of(call).dim());
}
PyRef numel_method(const PassedArgs& call) {
  no_arguments("numel", call, 1);
  return long_ref(self_of(call).numel());
}
PyRef data_ptr_method(const PassedArgs& call) {
  no_arguments("data_ptr", call, 1);
  const TensorImpl& t = self_of(call);
  if (handled_of(t)) return py_int(0);
  if (t.batch) expect_elements(t, "data_ptr()");
  return checked(PyLong_FromVoidPtr(t.numel() && t.has_memory() ? t.data() : nullptr));
}
PyRef element_size_method(const PassedArgs& call) {
  no_arguments("element_size", call, 1);
  return long_ref(static_cast<std::int64_t>(item_size(self_of(call).dtype)));
}
PyRef storage_offset_method(const PassedArgs& call) {
  no_arguments("storage_offset", call, 1);
  return long_ref(self_of(call).offset);
}
PyRef is_contiguous_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "memory_format"};
  PyObject* out[2];
  parse_native({"is_contiguous", names, 1, 1}, call, out);
  const MemoryFormat f = out[1] ? named_memory_format(out[1], "is_contiguous") : MemoryFormat::Contiguous;
  if (info(f).rank == 0) return bool_ref(self_of(call).is_contiguous());
  return bool_ref(has_format(type_of(Arg(TensorRef(tensor_impl(out[0])))), f));
}
PyRef is_floating_point_method(const PassedArgs& call) {
  no_arguments("is_floating_point", call, 1);
  return bool_ref(is_floating(self_of(call).dtype));
}
PyRef is_complex_method(const PassedArgs& call) {
  no_arguments("is_complex", call, 1);
  return bool_ref(is_complex(self_of(call).dtype));
}
PyRef complex_method(const PassedArgs& call) {
  no_arguments("__complex__", call, 1);
  if (self_of(call).numel() != 1)
    throw OpError(ErrorKind::Value, "only one element tensors can be converted to Python scalars");
  const PyRef number = item(self_of(call));
  if (PyComplex_Check(number.get())) return number;
  const double real = PyFloat_AsDouble(number.get());
  if (real == -1 && PyErr_Occurred()) throw PythonError{};
  return checked(PyComplex_FromDoubles(real, 0));
}
PyRef is_conj_method(const PassedArgs& call) {
  no_arguments("is_conj", call, 1);
  return bool_ref(pending_of(self_of(call)).conjugate);
}
PyRef is_neg_method(const PassedArgs& call) {
  no_arguments("is_neg", call, 1);
  return bool_ref(pending_of(self_of(call)).negative);
}
PyRef is_signed_method(const PassedArgs& call) {
  no_arguments("is_signed", call, 1);
  return bool_ref(is_signed(self_of(call).dtype));
}
PyRef get_device_method(const PassedArgs& call) {
  no_arguments("get_device", call, 1);
  return long_ref(self_of(call).device().index);
}
PyRef requires_grad_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "requires_grad"};
  PyObject* out[2];
  parse_native({"requires_grad_", names, 1}, call, out);
  PyObject* const wanted = out[1] ? out[1] : Py_True;
  if (wanted != Py_True || tensor_impl(out[0])->is_leaf())
    checked(PyObject_SetAttrString(out[0], "requires_grad", wanted));
  return PyRef::borrow(out[0]);
}
PyRef as_subclass_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "cls"};
  PyObject* out[2];
  parse_native({"as_subclass", names, 2}, call, out);
  if (!PyType_Check(out[1]) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(out[1]), tensor_type)) {
    throw_type_error("as_subclass(): argument 'cls' must be a subclass of Tensor");
  }
  const TensorRef self(tensor_impl(out[0]));
  TensorRef same;
  if (self->requires_grad && grad_enabled()) {  // gradients go back through it as through any view
    const Arg viewed = call_table("view_as", {Arg(self), Arg(self)});
    same = viewed.get<TensorRef>();
  } else {
    same = alias(self);
    same->set_grad_state({});
  }
  return as_subclass(wrap_tensor(std::move(same)).get(), reinterpret_cast<PyTypeObject*>(out[1]));
}

// With memory of its own, which copies of other tensors over the same memory share: `memo` holds it by the address of
// the storage.
TensorRef copy_in_memo(const TensorImpl& t, PyObject* memo) {
  if (t.batch || !t.has_memory())
    return call_table("clone", {Arg(TensorRef(const_cast<TensorImpl*>(&t)))}).get<TensorRef>();
  PyRef key = checked(PyLong_FromVoidPtr(t.storage.get()));
  PyObject* seen = PyDict_GetItemWithError(memo, key.get());
  if (!seen && PyErr_Occurred()) throw PythonError{};
  Ref<Storage> memory;
  if (seen && is_tensor(seen)) {
    memory = tensor_impl(seen)->storage;
  } else {
    memory = copied_storage(*t.storage, t.device());
    const auto length = static_cast<std::int64_t>(memory->bytes());
    PyRef whole = wrap_tensor(make_ref<TensorImpl>(memory, DType::UInt8, DimVec{length}, DimVec{1}, 0));
    checked(PyDict_SetItem(memo, key.get(), whole.get()));
  }
  return make_ref<TensorImpl>(std::move(memory), t.dtype, t.sizes, t.strides, t.offset);
}

TensorRef fresh_copy(const TensorImpl& t, PyObject* memo) {
  if (!t.is_leaf()) {
    throw OpError(ErrorKind::Runtime,
                  "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                  "moment; detach() this one first");
  }
  const GradMode off(false);
  const auto cloned = [](const TensorImpl& x) {
    return call_table("clone", {Arg(TensorRef(const_cast<TensorImpl*>(&x)))}).get<TensorRef>();
  };
  TensorRef copy = copy_in_memo(t, memo);
  copy->set_grad_state({t.requires_grad, GradHistory::Leaf});
  if (const GradRecord* r = grad_record(t); r && r->grad) make_grad_record(*copy).grad = cloned(*r->grad);
  return copy;
}

// Copies of a subclass instance keep its type and get a copy of its attributes.
PyRef with_attributes(PyObject* self, TensorRef t, PyObject* memo_or_null) {
  PyRef made = wrap_tensor(std::move(t));
  if (!is_tensor_exact(self)) made = as_subclass(made.get(), Py_TYPE(self));
  PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
  if (!dict) return made;
  PyRef copied = PyRef::borrow(dict);
  if (memo_or_null) {
    PyRef module = checked(import_module("copy"));
    copied = checked(PyObject_CallMethod(module.get(), "deepcopy", "OO", dict, memo_or_null));
  }
  PyRef target = checked(PyObject_GetAttrString(made.get(), "__dict__"));
  checked(PyDict_Update(target.get(), copied.get()));
  return made;
}

PyRef copy_method(const PassedArgs& call) {
  no_arguments("__copy__", call, 1);
  const TensorRef copied = alias(TensorRef(tensor_impl(call.args[0])));
  copied->set_grad_state({copied->requires_grad, {}});  // a leaf, as what is unpickled
  return with_attributes(call.args[0], copied, nullptr);
}
PyRef deepcopy_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "memo"};
  PyObject* out[2];
  parse_native({"__deepcopy__", names, 2}, call, out);
  if (!PyDict_Check(out[1]))
    throw_type_error("__deepcopy__(): memo must be a dict, not %.200s", Py_TYPE(out[1])->tp_name);
  PyRef key = checked(PyLong_FromVoidPtr(out[0]));
  if (PyObject* seen = PyDict_GetItemWithError(out[1], key.get())) return PyRef::borrow(seen);
  if (PyErr_Occurred()) throw PythonError{};
  PyRef made = with_attributes(out[0], fresh_copy(self_of(call), out[1]), out[1]);
  checked(PyDict_SetItem(out[1], key.get(), made.get()));
  return made;
}

// (rebuild, (memory, sizes, strides, offset, dtype, requires_grad, type), attributes): the memory is all that is behind
// the tensor.
PyRef reduce_over_memory(PyObject* self, const TensorImpl& own) {
  PyRef module = checked(import_module("minidynamo.storage"));
  PyRef memory = checked(PyObject_CallMethod(module.get(), "_pickled_memory", "O", self));
  PyRef rebuild = checked(PyObject_GetAttrString(module.get(), "_rebuild_over"));
  PyRef sizes = size_object(own.sizes);
  PyRef strides = checked(PyObject_CallMethod(self, "stride", nullptr));
  PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
  return checked(Py_BuildValue("(O(OOOLOOO)O)", rebuild.get(), memory.get(), sizes.get(), strides.get(),
                               static_cast<long long>(own.offset), dtype_object(own.dtype),
                               own.requires_grad ? Py_True : Py_False, reinterpret_cast<PyObject*>(Py_TYPE(self)),
                               dict ? dict : Py_None));
}

// (rebuild, (what lies in memory, is it conjugate, is it negative))
PyRef reduce_pending(const TensorRef& self, Pending p) {
  const PyRef module = checked(import_module("minidynamo.real_tensors"));
  const PyRef rebuild = checked(PyObject_GetAttrString(module.get(), "_pending_again"));
  const TensorRef memory = alias(self);
  set_pending(*memory, {});
  return checked(Py_BuildValue("(O(NOO))", rebuild.get(), wrap_tensor(memory).release(),
                               p.conjugate ? Py_True : Py_False, p.negative ? Py_True : Py_False));
}

// Without elements: (rebuild, (device, sizes, dtype, requires_grad, type), attributes)
PyRef reduce_method(const PassedArgs& call) {
  PyObject* self = call.args[0];
  const TensorImpl& own = *tensor_impl(self);
  if (handled_of(own)) {
    const PyRef wrappers = checked(import_module("minidynamo._aten.stand_ins"));
    return checked(PyObject_CallMethod(wrappers.get(), "reduced", "O", self));
  }
  if (own.batch) expect_elements(own, "pickling");
  if (const Pending p = pending_of(own)) return reduce_pending(TensorRef(tensor_impl(self)), p);
  if (own.has_memory()) return reduce_over_memory(self, own);
  const TensorRef flat = call_table("contiguous", {Arg(TensorRef(tensor_impl(self)))}).get<TensorRef>();
  PyRef data = device_object(own.device());
  PyRef module = checked(import_module("minidynamo._C"));
  PyRef rebuild = checked(PyObject_GetAttrString(module.get(), "_rebuild_tensor"));
  PyRef sizes = size_object(flat->sizes);
  PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
  return checked(Py_BuildValue("(O(OOOOO)O)", rebuild.get(), data.get(), sizes.get(), dtype_object(flat->dtype),
                               tensor_impl(self)->requires_grad ? Py_True : Py_False,
                               reinterpret_cast<PyObject*>(Py_TYPE(self)), dict ? dict : Py_None));
}

constexpr NativeRow kMethods[] = {
    {"size", size_method, "size(dim=None)\n\nSizes of all dimensions, or of one."},
    {"stride", stride_method, "stride(dim=None)\n\nElements between neighbours of each dimension, or of one."},
    {"dim", dim_method, "dim()\n\nNumber of dimensions."},
    {"ndimension", dim_method, "ndimension()\n\nNumber of dimensions."},
    {"numel", numel_method, "numel()\n\nNumber of elements."},
    {"nelement", numel_method, "nelement()\n\nNumber of elements."},
    {"data_ptr", data_ptr_method, "data_ptr()\n\nAddress of the first element; 0 without elements."},
    {"element_size", element_size_method, "element_size()\n\nBytes of one element."},
    {"storage_offset", storage_offset_method, "storage_offset()\n\nElements before the first one in the storage."},
    {"is_contiguous", is_contiguous_method,
     "is_contiguous(*, memory_format=torch.contiguous_format)\n\nWhether the elements lie without gaps in the order "
     "of the format: row-major unless told."},
    {"is_floating_point", is_floating_point_method, "is_floating_point()\n\nWhether the dtype is a floating one."},
    {"is_complex", is_complex_method, "is_complex()\n\nWhether the dtype is complex."},
    {"__complex__", complex_method, "The element as a complex number."},
    {"is_neg", is_neg_method, "is_neg()\n\nWhether its memory holds the negatives of what it shows."},
    {"is_conj", is_conj_method, "is_conj()\n\nWhether its memory holds the conjugates of what it shows."},
    {"is_signed", is_signed_method, "is_signed()\n\nWhether the dtype has negative values."},
    {"get_device", get_device_method, "get_device()\n\nThe ordinal of its device; -1 on the CPU, which has none."},
    {"requires_grad_", requires_grad_method, "requires_grad_(requires_grad=True)\n\nSets requires_grad, returns self."},
    {"as_subclass", as_subclass_method, "as_subclass(cls)\n\nThe same tensor as an instance of `cls`.", true},
    {"__copy__", copy_method, "A tensor sharing the elements."},
    {"__deepcopy__", deepcopy_method, "A tensor with elements of its own."},
    {"__reduce__", reduce_method, "Pickled as bytes, sizes and dtype."},
};

}  // namespace

TensorRef alias(const TensorRef& t) {
  if (handled_of(*t)) return call_table("detach", {Arg(t)}).get<TensorRef>();
  if (const Batch* b = batch_of(*t)) return batched_tensor(alias(b->all), b->levels);
  TensorRef made = make_ref<TensorImpl>(t->storage, t->dtype, t->sizes, t->strides, t->offset);
  made->set_grad_state({t->requires_grad, t->history});
  set_pending(*made, pending_of(*t));
  return made;
}

Arg call_table(std::string_view name, std::initializer_list<Arg> args) {
  const OpId id = find_op(name);
  if (id == kNoOp) throw InternalError("no op named " + std::string(name));
  BoundArgs bound(args);
  const std::vector<Param>& params = op(id).schema.params;
  for (std::size_t i = bound.size(); i < params.size(); ++i) bound.push_back(params[i].default_value);
  return call_op(op(id), bound);
}

std::span<const NativeRow> tensor_native_methods() { return kMethods; }

}  // namespace md
