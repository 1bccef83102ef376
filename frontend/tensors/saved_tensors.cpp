// Tensors in files: the memory of a storage as a tensor of bytes, and views made over such memory again.
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/tensor/extent.h"

namespace md {

namespace {

// _storage_bytes(tensor): a uint8 tensor over all memory the tensor's views share, and which memory that is.
PyRef storage_bytes_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"_storage_bytes", names, 1}, call, out);
  if (!is_tensor(out[0])) throw_type_error("_storage_bytes(): expected a tensor");
  const Ref<Storage>& storage = tensor_impl(out[0])->storage;
  DimVec sizes, strides;
  sizes.push_back(static_cast<std::int64_t>(storage->bytes())), strides.push_back(1);
  PyRef bytes = wrap_tensor(make_ref<TensorImpl>(storage, DType::UInt8, sizes, strides, 0));
  PyRef key = checked(PyLong_FromVoidPtr(storage.get()));
  return checked(PyTuple_Pack(2, bytes.get(), key.get()));
}

std::int64_t number(PyObject* o) {
  if (!PyLong_Check(o)) throw_type_error("a saved tensor has a size that is no int");
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonError{};
  return n;
}

DimVec numbers(PyObject* tuple) {
  if (!PyTuple_Check(tuple)) throw_type_error("a saved tensor has sizes that are no tuple");
  DimVec list;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) list.push_back(number(PyTuple_GET_ITEM(tuple, i)));
  return list;
}

// _rebuild_view(bytes, sizes, strides, offset, dtype, requires_grad, type). ValueError for what reaches outside.
PyRef rebuild_view_function(const PassedArgs& call) {
  static const char* const names[] = {"bytes", "sizes", "strides", "offset", "dtype", "requires_grad", "type"};
  PyObject* out[7];
  parse_native({"_rebuild_view", names, 7}, call, out);
  if (!is_tensor(out[0]) || !PyType_Check(out[6]) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(out[6]), tensor_type))
    throw_type_error("_rebuild_view() takes what save() wrote");
  const TensorImpl& base = *tensor_impl(out[0]);
  const DType dtype = tensor_dtype(out[4]);
  const DimVec sizes = numbers(out[1]), strides = numbers(out[2]);
  const std::int64_t offset = number(out[3]);
  if (base.offset != 0 || checked_bytes(sizes, strides, offset, dtype) > base.storage->bytes() ||
      checked_shift(offset, dtype) > static_cast<std::int64_t>(base.storage->bytes()))
    throw OpError(ErrorKind::Value, "a saved tensor reaches outside its memory");
  for (const std::int64_t s : strides)
    if (s < 0) throw OpError(ErrorKind::Value, "a saved tensor has a negative stride");
  TensorRef t = make_ref<TensorImpl>(base.storage, dtype, sizes, strides, offset);
  set_requires_grad(*t, checked(PyObject_IsTrue(out[5])));
  PyRef made = wrap_tensor(std::move(t));
  auto* type = reinterpret_cast<PyTypeObject*>(out[6]);
  return type == tensor_type ? std::move(made) : as_subclass(made.get(), type);
}

constexpr NativeRow kFunctions[] = {
    {"_storage_bytes", storage_bytes_function, "The memory of a tensor as bytes, and a number that stands for it."},
    {"_rebuild_view", rebuild_view_function, "What load() calls to make a tensor over memory it has read."},
};

}  // namespace

std::span<const NativeRow> saved_tensor_functions() { return kFunctions; }

}  // namespace md
