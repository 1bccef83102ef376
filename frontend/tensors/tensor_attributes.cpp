// x.shape, x.dtype, ...: attributes that are read off the TensorImpl.
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/gradients.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/batching/levels.h"
#include "ir/gradients/tape.h"
#include "ir/tensor/batched.h"

namespace md {

namespace {

const TensorImpl& of(PyObject* o) { return *tensor_impl(o); }

PyObject* get_shape(PyObject* o, void*) {
  return guarded([&] { return size_object(of(o).sizes).release(); });
}
PyObject* get_dtype(PyObject* o, void*) { return Py_NewRef(dtype_object(of(o).dtype)); }
PyObject* get_device(PyObject* o, void*) {
  return guarded([&] { return device_object(of(o).device()).release(); });
}
PyObject* get_is_cpu(PyObject* o, void*) { return PyBool_FromLong(of(o).device().is_cpu()); }
PyObject* get_is_cuda(PyObject* o, void*) { return PyBool_FromLong(of(o).device().type == DeviceType::Cuda); }
PyObject* get_is_meta(PyObject* o, void*) { return PyBool_FromLong(of(o).device().type == DeviceType::Meta); }
PyObject* get_ndim(PyObject* o, void*) { return PyLong_FromLong(of(o).dim()); }
PyObject* get_itemsize(PyObject* o, void*) { return PyLong_FromSize_t(item_size(of(o).dtype)); }
PyObject* get_nbytes(PyObject* o, void*) {
  return PyLong_FromLongLong(of(o).numel() * static_cast<std::int64_t>(item_size(of(o).dtype)));
}
PyObject* get_layout(PyObject*, void*) {
  return guarded([&]() -> PyObject* {
    PyRef module = checked(import_module("minidynamo._C"));
    return PyObject_GetAttrString(module.get(), "strided");
  });
}
// Whether it requires grad, or says where a gradient goes, may have changed with the tensor it is a view of.
const TensorImpl& with_base(PyObject* o) {
  if (of(o).base) follow_base(tensor_impl(o));
  if (const Batch* b = batch_of(of(o))) {
    if (b->all->base) follow_base(b->all);
    renew_grad_state(*tensor_impl(o));
  }
  return of(o);
}
PyObject* get_requires_grad(PyObject* o, void*) {
  return guarded([&] { return PyBool_FromLong(with_base(o).requires_grad); });
}
int set_requires_grad(PyObject* o, PyObject* value, void*) {
  if (!value || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  PyObject* const done = guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(o);
    if (!transform_levels().empty()) {
      throw OpError(ErrorKind::Runtime,
                    "requires_grad cannot be set inside a function that a transform of torch.func is applied to: ask "
                    "for gradients by grad(), vjp() or jacrev()");
    }
    if (!t.is_leaf()) {
      throw OpError(ErrorKind::Runtime,
                    "you can only change requires_grad flags of leaf variables; detach() gives a "
                    "tensor that requires no grad");
    }
    if (value == Py_True && t.storage->inference && !thread_modes.inference) {
      throw OpError(ErrorKind::Runtime,
                    "an inference tensor cannot require grad outside of inference mode; clone() gives an ordinary "
                    "tensor");
    }
    md::set_requires_grad(t, value == Py_True);
    return Py_None;
  });
  return done ? 0 : -1;
}
PyObject* get_is_leaf(PyObject* o, void*) {
  return guarded([&] { return PyBool_FromLong(with_base(o).is_leaf()); });
}
PyObject* get_retains_grad(PyObject* o, void*) { return PyBool_FromLong(of(o).retains_grad); }
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_data(PyObject* o, void*) {
  return guarded([&] {
    TensorRef t = alias(TensorRef(tensor_impl(o)));
    t->set_grad_state({});
    return wrap_tensor(std::move(t)).release();
  });
}
// A real tensor is its own real part.
PyObject* get_part(PyObject* o, const char* name) {
  return guarded(
      [&] { return wrap_tensor(call_table(name, {Arg(TensorRef(tensor_impl(o)))}).get<TensorRef>()).release(); });
}
int set_part(PyObject* o, PyObject* value, const char* name) {
  PyObject* ok = guarded([&]() -> PyObject* {
    if (!value) throw_type_error("the %s part of a tensor cannot be deleted", name);
    const PyRef part = checked(PyObject_GetAttrString(o, name));
    return PyObject_CallMethod(part.get(), "copy_", "O", value);
  });
  Py_XDECREF(ok);
  return ok ? 0 : -1;
}
PyObject* get_real(PyObject* o, void*) { return is_complex(of(o).dtype) ? get_part(o, "real") : Py_NewRef(o); }
int set_real(PyObject* o, PyObject* value, void*) { return set_part(o, value, "real"); }
PyObject* get_imag(PyObject* o, void*) { return get_part(o, "imag"); }
int set_imag(PyObject* o, PyObject* value, void*) { return set_part(o, value, "imag"); }
PyObject* get_version(PyObject* o, void*) {
  if (!of(o).storage->inference) return PyLong_FromUnsignedLong(of(o).storage->version);
  PyErr_SetString(PyExc_RuntimeError, "writes to inference tensors are not counted");
  return nullptr;
}
PyObject* get_priority(PyObject*, void*) { return PyLong_FromLong(1000); }

}  // namespace

void set_requires_grad(TensorImpl& x, bool wanted) {
  if (wanted && !is_differentiable(x.dtype))
    throw OpError(ErrorKind::Runtime, "only Tensors of floating point and complex dtype can require gradients");
  x.set_grad_state({wanted, GradHistory::Leaf});
}

PyGetSetDef tensor_getset[] = {
    {"__dict__", tensor_get_dict, tensor_set_dict, nullptr, nullptr},
    {"shape", get_shape, nullptr, "Sizes of all dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "Element type.", nullptr},
    {"device", get_device, nullptr, "Where the elements live.", nullptr},
    {"layout", get_layout, nullptr, "strided.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients are asked for.", nullptr},
    {"grad", tensor_grad, set_tensor_grad, "The gradient that backward() added up: of a leaf, or after retain_grad().",
     nullptr},
    {"_grad", tensor_grad, set_tensor_grad, "Another name of grad.", nullptr},
    {"grad_fn", tensor_grad_fn, nullptr, "None for leaves; else the operation that gradients go back through.",
     nullptr},
    {"output_nr", tensor_output_nr, nullptr, "Which result of grad_fn this is.", nullptr},
    {"_base", tensor_base, nullptr, "Of a view the tensor it shows a part of; else None.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "False for what was computed from tensors that require grad.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad() was called on a computed tensor.", nullptr},
    {"is_cuda", get_is_cuda, nullptr, "Whether the elements live on a CUDA device.", nullptr},
    {"is_cpu", get_is_cpu, nullptr, "Whether the elements live on the CPU.", nullptr},
    {"is_sparse", get_false, nullptr, "False: every tensor is strided.", nullptr},
    {"is_quantized", get_false, nullptr, "False: there are no quantised tensors.", nullptr},
    {"is_meta", get_is_meta, nullptr, "Whether the tensor has sizes and a dtype, but no elements.", nullptr},
    {"is_nested", get_false, nullptr, "False: there are no nested tensors.", nullptr},
    {"is_sparse_csr", get_false, nullptr, "False: every tensor is strided.", nullptr},
    {"is_xpu", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_mps", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_mkldnn", get_false, nullptr, "False: every tensor is strided.", nullptr},
    {"is_ipu", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_mtia", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_vulkan", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_xla", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"is_maia", get_false, nullptr, "False: no tensor lives on such a device.", nullptr},
    {"data", get_data, set_tensor_data, "The same elements, without gradient history.", nullptr},
    {"real", get_real, set_real, "The real parts, a view; the tensor itself if it is not complex.", nullptr},
    {"imag", get_imag, set_imag, "The imaginary parts of a complex tensor, a view.", nullptr},
    {"_version", get_version, nullptr, "Counts in-place writes to the storage.", nullptr},
    {"__array_priority__", get_priority, nullptr, "NumPy leaves mixed operators to the tensor.", nullptr},
    {},
};

bool is_false_of_tensors(const std::string& name) {
  const PyGetSetDef* row = tensor_getset;
  while (row->name && name != row->name) ++row;
  return row->name && row->get == get_false;
}

}  // namespace md
