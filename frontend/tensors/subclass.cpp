// Collects overriding types, calls their __torch_function__ in order, and converts results to the subclass.
#include "frontend/tensors/subclass.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace md {

namespace {

PyObject* torch_function_name = nullptr;     // interned "__torch_function__"
PyObject* default_torch_function = nullptr;  // Tensor's own, as found in its dict

PyTypeObject* parameter_type = nullptr;  // nn.Parameter, once its module has run; kept for the life of the process

thread_local int torch_function_disabled = 0;

struct DisableTorchFunction {
  DisableTorchFunction() { ++torch_function_disabled; }
  ~DisableTorchFunction() { --torch_function_disabled; }
};

bool plain_value(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return t == tensor_type || t == parameter_type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type ||
         o == Py_None || t == &PyUnicode_Type || t == &PySlice_Type;
}

// Looks at arguments and, one level down, into lists and tuples, as the reference does.
template <class F>
void for_each_candidate(const PassedArgs& call, F&& f) {
  const Py_ssize_t n = call.nargs + call.keyword_count();
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = call.args[i];
    if (plain_value(o)) continue;
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
        PyObject* item = PySequence_Fast_GET_ITEM(o, k);
        if (!plain_value(item)) f(item);
      }
    } else {
      f(o);
    }
  }
}

// Subclasses before their bases, otherwise left to right, each type once.
void add_overloaded(std::vector<PyObject*>& list, PyObject* o) {
  for (PyObject* seen : list) {
    if (Py_TYPE(seen) == Py_TYPE(o)) return;
  }
  auto at = list.begin();
  while (at != list.end() && !PyType_IsSubtype(Py_TYPE(o), Py_TYPE(*at))) ++at;
  list.insert(at, o);
}

// A dispatch that is under way. Other libraries' handlers may answer by calling the function again, which comes here
// with the same arguments, and so on: such a handler has no answer of its own.
class Dispatch {
 public:
  Dispatch(PyObject* callable, const PassedArgs& call) : callable_(callable), call_(call) {}
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;
  ~Dispatch() {
    if (entered_) innermost_ = outer_;
  }
  void enter() { entered_ = true, outer_ = std::exchange(innermost_, this); }
  bool goes_round() const {
    int times = 0;
    for (const Dispatch* d = innermost_; d && times < kMostTimes; d = d->outer_) times += d->same(*this);
    return times >= kMostTimes;
  }

 private:
  static constexpr int kMostTimes = 2;
  bool same(const Dispatch& o) const {
    const Py_ssize_t n = call_.nargs + call_.keyword_count();
    return callable_ == o.callable_ && n == o.call_.nargs + o.call_.keyword_count() &&
           std::equal(call_.args, call_.args + n, o.call_.args);
  }
  static thread_local Dispatch* innermost_;
  Dispatch* outer_ = nullptr;
  PyObject* callable_;
  const PassedArgs& call_;
  bool entered_ = false;
};
constinit thread_local Dispatch* Dispatch::innermost_ = nullptr;

PyRef keyword_dict(const PassedArgs& call) {
  PyRef kwargs = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    checked(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.kwnames, i), call.args[call.nargs + i]));
  }
  return kwargs;
}

// Tensors of exact type inside `result` (tuples and lists included) become `type`.
PyRef convert_result(PyRef result, PyTypeObject* type) {
  PyObject* r = result.get();
  if (is_tensor_exact(r)) return as_subclass(r, type);
  if (!PyTuple_CheckExact(r) && !PyList_CheckExact(r)) return result;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(r);
  PyRef made = checked(PyTuple_CheckExact(r) ? PyTuple_New(n) : PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = convert_result(PyRef::borrow(PySequence_Fast_GET_ITEM(r, i)), type).release();
    PyTuple_CheckExact(r) ? PyTuple_SET_ITEM(made.get(), i, item) : PyList_SET_ITEM(made.get(), i, item);
  }
  return made;
}

// The function Tensor.__torch_function__ is calling in this thread. Nothing of ours asks overrides meanwhile: when the
// same function comes back, it is another library's, which knows no other answer than to ask here.
thread_local PyObject* being_called = nullptr;

struct Calling {
  explicit Calling(PyObject* function) : before(std::exchange(being_called, function)) {}
  ~Calling() { being_called = before; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
  PyObject* before;
};

// Tensor.__torch_function__(cls, func, types, args=(), kwargs=None): the plain call, its tensors turned into cls.
PyObject* tensor_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *func, *types, *call_args = nullptr, *call_kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:__torch_function__", const_cast<char**>(names), &func, &types,
                                     &call_args, &call_kwargs)) {
      throw PythonError{};
    }
    if (func == being_called) Py_RETURN_NOTIMPLEMENTED;
    PyRef positional = call_args ? checked(PySequence_Tuple(call_args)) : checked(PyTuple_New(0));
    const DisableTorchFunction disabled;
    const Calling calling(func);
    PyObject* keywords = call_kwargs && call_kwargs != Py_None ? call_kwargs : nullptr;
    PyRef result = checked(PyObject_Call(func, positional.get(), keywords));
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    return (type == tensor_type ? std::move(result) : convert_result(std::move(result), type)).release();
  });
}
PyMethodDef torch_function_def = {
    "__torch_function__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_torch_function)),
    METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Answers a call with an instance of this class among its arguments."};

// with DisableTorchFunctionSubclass(): from here on no override is asked.
PyObject* disable_enter(PyObject*, PyObject*) {
  ++torch_function_disabled;
  Py_RETURN_NONE;
}
PyObject* disable_exit(PyObject*, PyObject*) {
  if (torch_function_disabled > 0) --torch_function_disabled;
  Py_RETURN_NONE;
}
PyMethodDef disable_methods[] = {
    {"__enter__", disable_enter, METH_NOARGS, nullptr}, {"__exit__", disable_exit, METH_VARARGS, nullptr}, {}};
PyType_Slot disable_slots[] = {
    {Py_tp_methods, disable_methods},
    {Py_tp_doc, const_cast<char*>("Context manager: calls inside ask no __torch_function__.")},
    {0, nullptr},
};
PyType_Spec disable_spec = {"minidynamo._C.DisableTorchFunctionSubclass", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                            disable_slots};

PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(torch_function_disabled == 0); }
PyObject* set_parameter_type(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of Tensor is expected");
    return nullptr;
  }
  Py_XSETREF(parameter_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(type)));
  Py_RETURN_NONE;
}
PyMethodDef module_functions[] = {
    {"_set_parameter_type", set_parameter_type, METH_O, "Says which class is nn.Parameter."},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, "True unless overrides are switched off."},
    {},
};

}  // namespace

bool is_parameter(PyObject* o) { return Py_TYPE(o) == parameter_type; }

bool overrides_torch_function(PyObject* o) {
  if (plain_value(o) || torch_function_disabled || PyType_Check(o)) return false;
  PyObject* found = _PyType_Lookup(Py_TYPE(o), torch_function_name);  // borrowed
  return found && found != default_torch_function && found != Py_None;
}

PyRef try_torch_function(PyObject* callable, const PassedArgs& call) {
  if (torch_function_disabled) return {};
  std::vector<PyObject*> overloaded;
  for_each_candidate(call, [&](PyObject* o) {
    if (overrides_torch_function(o)) add_overloaded(overloaded, o);
  });
  if (overloaded.empty()) return {};
  Dispatch dispatch(callable, call);
  if (dispatch.goes_round()) std::erase_if(overloaded, [](PyObject* o) { return !is_tensor(o); });
  if (overloaded.empty()) return {};
  dispatch.enter();
  PyRef types = checked(PyTuple_New(static_cast<Py_ssize_t>(overloaded.size())));
  for (std::size_t i = 0; i < overloaded.size(); ++i) {
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))));
  }
  PyRef args = checked(PyTuple_New(call.nargs));
  for (Py_ssize_t i = 0; i < call.nargs; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.args[i]));
  PyRef kwargs = keyword_dict(call);
  for (PyObject* o : overloaded) {
    PyRef handler = checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), torch_function_name));
    PyRef answer =
        checked(PyObject_CallFunctionObjArgs(handler.get(), callable, types.get(), args.get(), kwargs.get(), nullptr));
    if (answer.get() != Py_NotImplemented) return answer;
  }
  throw_type_error("no implementation found for %R on types that implement __torch_function__: %R", callable,
                   types.get());
}

PyRef keep_subclass(PyRef result, const PassedArgs& call) {
  if (torch_function_disabled) return result;
  PyTypeObject* type = nullptr;
  for_each_candidate(call, [&](PyObject* o) {
    if (!is_tensor(o)) return;
    PyTypeObject* t = Py_TYPE(o);
    // A class that sets __torch_function__ = None (a parameter) leaves results plain.
    if (_PyType_Lookup(t, torch_function_name) != default_torch_function) return;
    if (!type || PyType_IsSubtype(t, type)) type = t;
  });
  return type ? convert_result(std::move(result), type) : result;
}

int init_subclass(PyObject* module) {
  torch_function_name = PyUnicode_InternFromString("__torch_function__");
  if (!torch_function_name) return -1;
  PyObject* descriptor = PyDescr_NewClassMethod(tensor_type, &torch_function_def);
  if (!descriptor) return -1;
  default_torch_function = descriptor;  // kept for the life of the process
  if (PyObject_SetAttr(reinterpret_cast<PyObject*>(tensor_type), torch_function_name, descriptor) < 0) return -1;
  PyObject* disable = PyType_FromModuleAndSpec(module, &disable_spec, nullptr);
  // Not exported with the rest: programs reach it as _C.DisableTorchFunctionSubclass.
  if (!disable || PyModule_AddObject(module, "DisableTorchFunctionSubclass", disable) < 0) return -1;
  return PyModule_AddFunctions(module, module_functions);
}

}  // namespace md
