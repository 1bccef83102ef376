// Checks and resizes `out=` tensors and copies results into them.
#include "frontend/tensors/out_argument.h"

#include <algorithm>
#include <vector>

#include "frontend/tensors/tensor_parts.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"

namespace md {

namespace {

// The call without `out`, which comes back apart.
struct SplitCall {
  std::vector<PyObject*> args;
  PyRef names;
  PyObject* out = nullptr;

  explicit SplitCall(const PassedArgs& call) : args(call.args, call.args + call.nargs) {
    std::vector<PyObject*> kept;
    for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
      PyObject* name = PyTuple_GET_ITEM(call.kwnames, i);
      PyObject* value = call.args[call.nargs + i];
      if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        out = value;
        continue;
      }
      kept.push_back(name);
      args.push_back(value);
    }
    names = checked(PyTuple_New(static_cast<Py_ssize_t>(kept.size())));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(kept[i]));
    }
  }
  PassedArgs passed() const {
    const Py_ssize_t keywords = PyTuple_GET_SIZE(names.get());
    return {args.data(), static_cast<Py_ssize_t>(args.size()) - keywords, keywords ? names.get() : nullptr};
  }
};

void require_tensor(PyObject* o, const char* function) {
  if (is_tensor(o)) return;
  throw_type_error("%s(): argument 'out' must be Tensor, not %.200s", function, Py_TYPE(o)->tp_name);
}

// Another size is taken over, with a warning where there were elements, as the mirrored functions do.
void take_sizes(PyObject* out, const TensorImpl& result, const char* function) {
  const TensorImpl& t = *tensor_impl(out);
  if (t.sizes == result.sizes) return;
  if (t.numel() > 0 && PyErr_WarnFormat(PyExc_UserWarning, 1,
                                        "%s(): a tensor given as out has other sizes than the result and is resized; "
                                        "give one without elements, or of the result's sizes",
                                        function) < 0) {
    throw PythonError{};
  }
  PyRef sizes = size_object(result.sizes);
  checked(PyObject_CallMethod(out, "resize_", "O", sizes.get()));
}

void store(PyObject* out, PyObject* result, const char* function) {
  const TensorRef r(tensor_impl(result));
  if (!fits_out(r->dtype, tensor_impl(out)->dtype)) {
    throw OpError(ErrorKind::Runtime, std::string(function) + "(): result type " + std::string(info(r->dtype).name) +
                                          " can't be cast to the desired output type " +
                                          std::string(info(tensor_impl(out)->dtype).name));
  }
  if (grad_enabled() && (r->requires_grad || tensor_impl(out)->requires_grad)) {
    throw OpError(ErrorKind::Runtime, std::string(function) + "(): out=... does not go with tensors that require grad");
  }
  const Device made_on = r->device(), wanted_on = tensor_impl(out)->device();
  if (!(made_on == wanted_on)) {
    throw OpError(ErrorKind::Runtime,
                  std::string(function) +
                      "(): Expected all tensors to be on the same device, but found at least two devices, " +
                      to_string(made_on) + " and " + to_string(wanted_on) + "!");
  }
  take_sizes(out, *r, function);
  const Arg args[] = {Arg(TensorRef(tensor_impl(out))), Arg(r), false};
  call_inplace(op(id::Copy), std::span<const Arg>(args, op(id::Copy).schema.params.size()));
}

// While it lives, functions that make tensors from nothing make them where `out` is.
class MadeWhere {
 public:
  explicit MadeWhere(PyObject* out) : before_(default_device()) {
    if (out && is_tensor(out)) thread_modes.default_device = tensor_impl(out)->device();
  }
  ~MadeWhere() { thread_modes.default_device = before_; }
  MadeWhere(const MadeWhere&) = delete;
  MadeWhere& operator=(const MadeWhere&) = delete;

 private:
  const Device before_;
};

PyRef made(const OpFunctionObject& f, const SplitCall& split) {
  const MadeWhere place(split.out);
  return call_overloads({f.overloads, static_cast<std::size_t>(f.overload_count)}, f.public_name, split.passed(),
                        f.inplace);
}

}  // namespace

bool takes_out(std::span<const OpId> overloads) {
  return !overloads.empty() && std::ranges::all_of(overloads, [](OpId id) {
    const Op& o = op(id);
    return o.kind() != OpKind::View && o.schema.find("out") < 0;
  });
}

bool fits_out(DType result, DType out) { return info(result).category <= info(out).category; }

PyRef call_into(const OpFunctionObject& f, const PassedArgs& call) {
  const SplitCall split(call);
  PyRef result = made(f, split);
  if (split.out == Py_None) return result;
  if (is_tensor(result.get())) {
    require_tensor(split.out, f.public_name);
    store(split.out, result.get(), f.public_name);
    return PyRef::borrow(split.out);
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(result.get());
  PyRef outs = checked(PySequence_Tuple(split.out));
  if (PyTuple_GET_SIZE(outs.get()) != count) {
    throw_type_error("%s(): argument 'out' must hold %zd tensors, not %zd", f.public_name, count,
                     PyTuple_GET_SIZE(outs.get()));
  }
  for (Py_ssize_t i = 0; i < count; ++i) require_tensor(PyTuple_GET_ITEM(outs.get(), i), f.public_name);
  for (Py_ssize_t i = 0; i < count; ++i) {
    store(PyTuple_GET_ITEM(outs.get(), i), PyTuple_GET_ITEM(result.get(), i), f.public_name);
  }
  if (PyTuple_CheckExact(result.get())) return outs;
  return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(result.get())), outs.get()));
}

}  // namespace md
