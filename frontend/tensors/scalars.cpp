// Elements as Python values: item, tolist.
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/core/scalar_builder.h"
#include "ir/graph/dynamic.h"
#include "ir/run/lazy_calls.h"
#include "ir/tensor/handled.h"
#include "ir/tensor/readable.h"
#include "ir/tensor/stored_numbers.h"
#include "ir/tensor/strided.h"

namespace md {

namespace {

thread_local int unknown_values = 0;

// Zeros have sizes of their own.
void refuse_dynamic(const Op& op) {
  PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  PyErr_Format(checked(PyObject_GetAttrString(module.get(), "DynamicShape")).get(),
               "the sizes %s() gives depend on the elements of a tensor that stands in for another while tracing",
               op.public_name.c_str());
  throw PythonError{};
}

double element_as_double(DType dtype, const char* at) {
  return dtype == DType::Float32 ? *reinterpret_cast<const float*>(at) : *reinterpret_cast<const double*>(at);
}

PyRef list_of(const TensorImpl& t, int dim, const char* at) {
  if (dim == t.dim()) return element(t.dtype, at);
  const auto d = static_cast<std::size_t>(dim);
  PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(t.sizes[d])));
  const std::int64_t step = t.strides[d] * static_cast<std::int64_t>(item_size(t.dtype));
  for (std::int64_t i = 0; i < t.sizes[d]; ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), list_of(t, dim + 1, at + i * step).release());
  }
  return list;
}

PyRef item_method(const PassedArgs& call) {
  no_arguments("item", call, 1);
  return item(*tensor_impl(call.args[0]));
}
PyRef tolist_method(const PassedArgs& call) {
  no_arguments("tolist", call, 1);
  const TensorImpl& t = *tensor_impl(call.args[0]);
  expect_elements(t, nullptr);
  expect_known();
  const TensorRef shown = readable_when_done(resolved(TensorRef(const_cast<TensorImpl*>(&t))));
  return list_of(*shown, 0, static_cast<const char*>(shown->data()));
}

constexpr NativeRow kMethods[] = {
    {"item", item_method, "item()\n\nThe only element as a Python number."},
    {"tolist", tolist_method, "tolist()\n\nThe elements as nested lists of Python numbers (0-d: the number)."},
};

}  // namespace

PyRef element(DType dtype, const void* at) {
  if (is_complex(dtype)) {
    const DType part = to_real(dtype);
    const auto* const both = static_cast<const char*>(at);
    const auto number = [&](std::size_t i) { return element_as_double(part, both + i * item_size(part)); };
    return checked(PyComplex_FromDoubles(number(0), number(1)));
  }
  if (is_storage_only(dtype)) {
    return visit_stored(dtype, at, [](auto v) {
      if constexpr (std::is_floating_point_v<decltype(v)>) return checked(PyFloat_FromDouble(v));
      return checked(PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(v)));
    });
  }
  return visit_dtype(dtype, [&](auto element) {
    const auto v = widen(*static_cast<const decltype(element)*>(at));
    using V = std::remove_const_t<decltype(v)>;
    if constexpr (std::is_same_v<V, bool>) return PyRef::borrow(v ? Py_True : Py_False);
    if constexpr (std::is_floating_point_v<V>) return checked(PyFloat_FromDouble(v));
    return checked(PyLong_FromLongLong(static_cast<long long>(v)));
  });
}

void expect_known() {
  if (!unknown_values) return;
  PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  PyErr_SetString(checked(PyObject_GetAttrString(module.get(), "DataDependentValue")).get(),
                  "the element of a tensor that stands in for another while tracing");
  throw PythonError{};
}

void expect_elements(const TensorImpl& t, const char* question) {
  if (handled_of(t)) {
    throw OpError(ErrorKind::Runtime, std::string(question ? question : "tolist()") +
                                          " asks for the elements of a tensor that only its __torch_dispatch__ knows");
  }
  if (t.batch && !pending_of(t)) {
    throw OpError(ErrorKind::Runtime,
                  std::string("vmap: ") + (question ? question : "tolist()") +
                      " asks for the elements of a tensor that differ from example to example. Compute with tensors, "
                      "or choose by torch.where() instead of by a branch");
  }
  if (t.has_memory()) return;
  const std::string where = to_string(t.device());
  if (!question) throw OpError(ErrorKind::NotImplemented, "Cannot copy out of " + where + " tensor; no data!");
  throw OpError(ErrorKind::Runtime, std::string(question) + " cannot be called on " + where + " tensors");
}

PyRef item(const TensorImpl& t) {
  const std::int64_t n = t.numel();
  if (n != 1) {
    throw OpError(ErrorKind::Runtime, "a Tensor with " + std::to_string(n) + " elements cannot be converted to Scalar");
  }
  if (in_transform())
    if (PyRef answer = handled_answer("_local_scalar_dense", {TensorRef(const_cast<TensorImpl*>(&t))})) return answer;
  expect_elements(t, "Tensor.item()");
  expect_known();
  if (pending_of(t) || !t.is_readable()) {
    const TensorRef shown = readable_when_done(resolved(TensorRef(const_cast<TensorImpl*>(&t))));
    return element(shown->dtype, shown->data());
  }
  return element(t.dtype, t.data());
}

UnknownValues::UnknownValues() {
  ++unknown_values;
  before_dynamic() = refuse_dynamic;
}
UnknownValues::~UnknownValues() {
  if (--unknown_values == 0) before_dynamic() = nullptr;
}

std::span<const NativeRow> scalar_methods() { return kMethods; }

}  // namespace md
