// Hands calls to minidynamo/_aten, makes wrappers, counts the modes of a thread.
#include "frontend/tensors/handlers.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/shown_gradients.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/untouched_memory.h"
#include "ir/run/handled_calls.h"
#include "ir/tensor/extent.h"

namespace md {

namespace {

PyObject* handler_name = nullptr;  // interned "__torch_dispatch__"
PyObject* no_handler = nullptr;    // _C._disabled_torch_dispatch_impl

struct HeldLock {
  HeldLock() : state(PyGILState_Ensure()) {}
  ~HeldLock() { PyGILState_Release(state); }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  PyGILState_STATE state;
};

// Below the record of gradients nothing is recorded.
struct Unrecorded {
  Unrecorded() : before(grad_enabled()) { set_grad_enabled(false); }
  ~Unrecorded() { set_grad_enabled(before); }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;
  bool before;
};

PyRef answer_of(const char* function, PyObject* name, bool inplace, PyObject* args) {
  const PyRef module = checked(import_module("minidynamo._aten.dispatch"));
  const PyRef answer = checked(PyObject_GetAttrString(module.get(), function));
  const Disarmed below;  // what a handler does is no program to be compiled by itself
  return checked(PyObject_CallFunctionObjArgs(answer.get(), name, inplace ? Py_True : Py_False, args, nullptr));
}

PyRef asked(const char* function, PyObject* name, bool inplace, PyObject* args) {
  const Unrecorded plain;
  return answer_of(function, name, inplace, args);
}

std::optional<Arg> answer_of_handlers(const Op& op, std::span<const Arg> bound, Asking how) {
  const HeldLock lock;
  PyRef args = checked(PyTuple_New(static_cast<Py_ssize_t>(bound.size())));
  for (std::size_t i = 0; i < bound.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), from_arg(bound[i]).release());
  const PyRef name = checked(PyUnicode_FromString(std::string(op.name()).c_str()));
  const bool inplace = how == Asking::Write;
  const PyRef answer = how == Asking::Recorded ? answer_of("answer_recorded", name.get(), false, args.get())
                       : how == Asking::Saved  ? asked("answer_saved", name.get(), false, args.get())
                                               : asked("answer", name.get(), inplace, args.get());
  if (answer.get() == Py_NotImplemented) return std::nullopt;
  if (inplace) return bound[0];
  return to_arg(answer.get());
}

// The object is about to end: the tensor keeps it if the record of gradients, or a graph, still needs the tensor.
void keep_face(PyObject* tensor) {
  TensorImpl* const t = tensor_impl(tensor);
  Handled* const h = t ? handled_of(*t) : nullptr;
  if (!h || h->face != tensor || h->kept || (t->use_count() == 1 && h->use_count() == 1)) return;
  h->kept = make_ref<Held>(PyRef::borrow(tensor));
}

void attach(TensorImpl& t, PyObject* face) {
  auto handled = make_ref<Handled>();
  handled->face = face;
  t.batch = std::move(handled);
}

PyTypeObject* subclass_argument(PyObject* o, const char* function) {
  if (!PyType_Check(o) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o), tensor_type))
    throw_type_error("%s(): cls must be a class below torch.Tensor", function);
  return reinterpret_cast<PyTypeObject*>(o);
}

DimVec dims_of(PyObject* given) {
  const PyRef all = checked(PySequence_Tuple(given));
  DimVec dims;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    const PyRef number = checked(PyNumber_Index(PyTuple_GET_ITEM(all.get(), i)));
    const long long v = PyLong_AsLongLong(number.get());
    if (v == -1 && PyErr_Occurred()) throw PythonError{};
    dims.push_back(v);
  }
  return dims;
}

// _make_wrapper_subclass(cls, size, strides, storage_offset, dtype, device, requires_grad): defaults are filled in.
PyObject* make_wrapper(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 7) throw_type_error("_make_wrapper() takes 7 arguments");
    PyTypeObject* const type = subclass_argument(args[0], "_make_wrapper_subclass");
    if (!class_has_handler(type)) {
      throw_type_error(
          "_make_wrapper_subclass(): %s needs a __torch_dispatch__ of its own, which is what is asked "
          "about calls of the tensor",
          type->tp_name);
    }
    const DimVec sizes = dims_of(args[1]);
    const DimVec strides = args[2] == Py_None ? contiguous_strides(sizes) : dims_of(args[2]);
    const long long offset = PyLong_AsLongLong(args[3]);
    if (offset == -1 && PyErr_Occurred()) throw PythonError{};
    DType dtype{};
    if (!as_dtype(args[4], dtype)) throw_type_error("_make_wrapper_subclass(): dtype must be a torch.dtype");
    const Arg device = to_arg(args[5]);
    const Device where = device.is<Device>() ? device.get<Device>() : kCpu;
    const std::size_t bytes = checked_bytes(sizes, strides, offset, dtype);
    Ref<Storage> storage = untouched_zeros(bytes, where);
    const PyRef plain = wrap_tensor(make_ref<TensorImpl>(std::move(storage), dtype, sizes, strides, offset));
    PyRef made = as_subclass(plain.get(), type);
    set_requires_grad(*tensor_impl(made.get()), checked(PyObject_IsTrue(args[6])));
    return made.release();
  });
}

PyObject* set_modes(PyObject*, PyObject* count) {
  return guarded([&]() -> PyObject* {
    const long n = PyLong_AsLong(count);
    if (n == -1 && PyErr_Occurred()) throw PythonError{};
    const int more = static_cast<int>(n) - handlers_here().modes;
    handlers_here().modes = static_cast<int>(n);
    transforms_in_use += more;
    changed_overrides += more;
    Py_RETURN_NONE;
  });
}

// Calls function(*args, **kwargs) without asking the handlers of tensors.
PyObject* disabled_handler(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *func, *types, *call_args = nullptr, *call_kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:_disabled_torch_dispatch_impl", const_cast<char**>(names),
                                     &func, &types, &call_args, &call_kwargs)) {
      throw PythonError{};
    }
    const PyRef positional = call_args ? checked(PySequence_Tuple(call_args)) : checked(PyTuple_New(0));
    struct Off {
      Off() { ++handlers_here().tensors_off; }
      ~Off() { --handlers_here().tensors_off; }
      Off(const Off&) = delete;
      Off& operator=(const Off&) = delete;
    };
    const Off off;
    const LessOverrides disabled(Overrides::Modes);
    return PyObject_Call(func, positional.get(), call_kwargs && call_kwargs != Py_None ? call_kwargs : nullptr);
  });
}

// Zeros of the same sizes, strides and dtype that take no memory.
PyObject* untouched_like(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(o)) throw_type_error("_untouched_like() takes a tensor");
    const TensorImpl& t = *tensor_impl(o);
    const std::size_t bytes = checked_bytes(t.sizes, t.strides, t.offset, t.dtype);
    Ref<Storage> storage = untouched_zeros(bytes, t.device());
    return wrap_tensor(make_ref<TensorImpl>(std::move(storage), t.dtype, t.sizes, t.strides, t.offset)).release();
  });
}

PyObject* is_handled(PyObject*, PyObject* o) {
  return PyBool_FromLong(is_tensor(o) && handled_of(*tensor_impl(o)) != nullptr);
}

// Whether a handler has a say in a call with these values and lists of values; no record of gradients may be needed.
PyObject* asks_handlers(PyObject*, PyObject* values) {
  return guarded([&]() -> PyObject* {
    if (!in_transform()) Py_RETURN_FALSE;
    const PyRef all = checked(PySequence_Tuple(values));
    std::vector<Arg> tensors;
    const auto add = [&](PyObject* o) {
      if (is_tensor(o)) tensors.emplace_back(TensorRef(tensor_impl(o)));
    };
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
      PyObject* const o = PyTuple_GET_ITEM(all.get(), i);
      add(o);
      if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) continue;
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) add(PySequence_Fast_GET_ITEM(o, k));
    }
    return PyBool_FromLong(is_for_handlers(tensors) && !needs_record(tensors));
  });
}

PyObject* class_handles(PyObject*, PyObject* o) {
  return PyBool_FromLong(PyType_Check(o) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(o), tensor_type) &&
                         class_has_handler(reinterpret_cast<PyTypeObject*>(o)));
}

PyMethodDef handler_functions[] = {
    {"_make_wrapper", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_wrapper)), METH_FASTCALL,
     "A tensor without elements of a class whose __torch_dispatch__ answers its calls."},
    {"_set_dispatch_modes", set_modes, METH_O, "How many modes with __torch_dispatch__ this thread has."},
    {"_is_handled", is_handled, METH_O, "Whether calls of the tensor are answered by its __torch_dispatch__."},
    {"_untouched_like", untouched_like, METH_O, "Zeros like the tensor that take no memory until they are written."},
    {"_asks_handlers", asks_handlers, METH_O, "Whether handlers have a say in a call with these values."},
    {"_class_has_handler", class_handles, METH_O, "Whether the class has a __torch_dispatch__ of its own."},
    {"_disabled_torch_dispatch_impl", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(disabled_handler)),
     METH_VARARGS | METH_KEYWORDS, "As __torch_dispatch__ of a class: the call on the tensors' own elements."},
    {},
};

}  // namespace

bool class_has_handler(PyTypeObject* type) {
  if (type == tensor_type || !handler_name) return false;
  PyObject* const found = _PyType_Lookup(type, handler_name);  // borrowed
  return found && found != no_handler && found != Py_None;
}

void give_to_handler(PyObject* tensor) {
  TensorImpl& t = *tensor_impl(tensor);
  if (!t.batch) attach(t, tensor);
  PyTypeObject* const type = Py_TYPE(tensor);
  if (!type->tp_finalize) type->tp_finalize = keep_face;
}

PyObject* face_of_handled(const TensorImpl& t) {
  const Handled* h = handled_of(t);
  return h ? static_cast<PyObject*>(h->face) : nullptr;
}

bool has_finalizer(PyTypeObject* type) { return (type->tp_finalize && type->tp_finalize != keep_face) || type->tp_del; }

PyRef handled_answer(const char* name, std::initializer_list<Arg> args) {
  if (!in_transform() || !is_for_handlers(args)) return {};
  PyRef given = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  Py_ssize_t i = 0;
  for (const Arg& a : args) PyTuple_SET_ITEM(given.get(), i++, from_arg(a).release());
  return asked("answer_named", checked(PyUnicode_FromString(name)).get(), false, given.get());
}

PyRef whole_answer(PyObject* function, const PassedArgs& call) {
  if (!in_transform()) return {};
  std::vector<Arg> tensors;
  for (Py_ssize_t i = 0; i < call.nargs + call.keyword_count(); ++i)
    if (is_tensor(call.args[i])) tensors.emplace_back(TensorRef(tensor_impl(call.args[i])));
  if (!is_for_handlers(tensors)) return {};
  const PyRef args = checked(PyTuple_New(call.nargs));
  for (Py_ssize_t i = 0; i < call.nargs; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.args[i]));
  const PyRef kwargs = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.kwnames, i), call.args[call.nargs + i]) < 0)
      throw PythonError{};
  const PyRef module = checked(import_module("minidynamo._aten.composites"));
  const PyRef answer = checked(PyObject_GetAttrString(module.get(), "answer"));
  const Disarmed below;
  PyRef made = checked(PyObject_CallFunctionObjArgs(answer.get(), function, args.get(), kwargs.get(), nullptr));
  return made.get() == Py_NotImplemented ? PyRef() : made;
}

PyRef lifted(PyRef tensor) {
  if (handlers_here().modes == 0) return tensor;
  const PyRef given = checked(PyTuple_Pack(1, tensor.get()));
  const PyRef name = checked(PyUnicode_FromString("lift_fresh"));
  return asked("answer_named", name.get(), false, given.get());
}

int init_handlers(PyObject* module) {
  handler_name = PyUnicode_InternFromString("__torch_dispatch__");
  if (!handler_name || PyModule_AddFunctions(module, handler_functions) < 0) return -1;
  no_handler = PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl");
  if (!no_handler) return -1;
  set_answer_call(answer_of_handlers);
  init_shown_gradients();
  return PyObject_SetAttr(reinterpret_cast<PyObject*>(tensor_type), handler_name, no_handler);
}

}  // namespace md
