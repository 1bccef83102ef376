// The functions behind python/minidynamo/include: tensors for C++ extensions.
#include "python/extension_api.h"

#include <algorithm>
#include <array>

#include "frontend/tensors/tensor_object.h"
#include "ir/infer/infer.h"
#include "ir/tensor/device_runtime.h"
#include "ir/tensor/extent.h"
#include "python/minidynamo/include/minidynamo/api.h"

namespace md {

namespace {

// c10::ScalarType: Byte, Char, Short, Int, Long, Half, Float, Double, three complex ones, Bool, three quantized ones,
// BFloat16, then (23 to 26) 8-bit floats and (27 to 29) wide unsigned integers.
constexpr std::array<std::pair<int, DType>, kDTypeCount> kNumbers = {{{0, DType::UInt8},
                                                                      {1, DType::Int8},
                                                                      {2, DType::Int16},
                                                                      {3, DType::Int32},
                                                                      {4, DType::Int64},
                                                                      {5, DType::Float16},
                                                                      {6, DType::Float32},
                                                                      {7, DType::Float64},
                                                                      {11, DType::Bool},
                                                                      {15, DType::BFloat16},
                                                                      {23, DType::Float8E5M2},
                                                                      {24, DType::Float8E4M3FN},
                                                                      {25, DType::Float8E5M2FNUZ},
                                                                      {26, DType::Float8E4M3FNUZ},
                                                                      {27, DType::UInt16},
                                                                      {28, DType::UInt32},
                                                                      {29, DType::UInt64}}};

TensorImpl* impl(MinidynamoTensor* t) { return reinterpret_cast<TensorImpl*>(t); }
MinidynamoTensor* handle(const TensorRef& t) {
  t->retain();
  return reinterpret_cast<MinidynamoTensor*>(t.get());
}

template <class F>
auto or_null(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const PythonError&) {
  } catch (const OpError& e) {
    raise_op_error(e);
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

MinidynamoTensor* from_object(PyObject* o) {
  return is_tensor(o) && tensor_impl(o)->has_memory() ? handle(TensorRef(tensor_impl(o))) : nullptr;
}
PyObject* to_object(MinidynamoTensor* t) {
  return or_null([&] { return wrap_tensor(TensorRef(impl(t))).release(); });
}
void retain(MinidynamoTensor* t) { impl(t)->retain(); }
void release(MinidynamoTensor* t) { impl(t)->release(); }
void* data(MinidynamoTensor* t) { return impl(t)->data(); }
int device(MinidynamoTensor* t) {
  const Device d = impl(t)->device();
  return d.is_cpu() ? -1 : d.index;
}
int dtype(MinidynamoTensor* t) {
  return std::ranges::find(kNumbers, impl(t)->dtype, &std::pair<int, DType>::second)->first;
}
int dim(MinidynamoTensor* t) { return impl(t)->dim(); }
const std::int64_t* sizes(MinidynamoTensor* t) { return impl(t)->sizes.data(); }
const std::int64_t* strides(MinidynamoTensor* t) { return impl(t)->strides.data(); }
int requires_grad(MinidynamoTensor* t) { return impl(t)->requires_grad; }

MinidynamoTensor* make(int number, int ordinal, int rank, const std::int64_t* size, const std::int64_t* stride) {
  return or_null([&]() -> MinidynamoTensor* {
    const auto row = std::ranges::find(kNumbers, number, &std::pair<int, DType>::first);
    if (row == kNumbers.end()) throw OpError(ErrorKind::Runtime, "a tensor of an element type that is not supported");
    if (rank < 0 || (rank > 0 && !size)) throw OpError(ErrorKind::Runtime, "a tensor of no sizes");
    DimVec dims, steps;
    for (int d = 0; d < rank; ++d) {
      dims.push_back(size[d]);
      if (stride) steps.push_back(stride[d]);
    }
    const Device place = ordinal < 0 ? kCpu : available(numbered_device(ordinal));
    if (!stride) return handle(empty_tensor(dims, row->second, place));
    // Memory for all that the strides reach, which may be more or less than the elements.
    Ref<Storage> storage = allocate_storage(checked_bytes(dims, steps, 0, row->second), place);
    return handle(make_ref<TensorImpl>(std::move(storage), row->second, dims, steps, 0));
  });
}

const MinidynamoApi kApi = {
    MINIDYNAMO_API_VERSION, from_object, to_object, retain, release, data, device, dtype, dim, sizes, strides,
    requires_grad,          make};

}  // namespace

int init_extension_api(PyObject* module) {
  PyObject* capsule = PyCapsule_New(const_cast<MinidynamoApi*>(&kApi), "minidynamo._C._extension_api", nullptr);
  if (!capsule) return -1;
  const int failed = PyModule_AddObjectRef(module, "_extension_api", capsule);
  Py_DECREF(capsule);
  return failed;
}

}  // namespace md
