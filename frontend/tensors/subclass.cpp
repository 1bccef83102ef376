// Collects overriding types, calls their __torch_function__ in order, and converts results to the subclass.
#include "frontend/tensors/subclass.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/cpython/method_wrapper.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/handlers.h"

namespace md {

namespace {

PyObject* torch_function_name = nullptr;      // interned "__torch_function__"
PyObject* default_torch_function = nullptr;   // Tensor's own, as found in its dict
PyObject* disabled_torch_function = nullptr;  // _C._disabled_torch_function_impl

PyTypeObject* parameter_type = nullptr;  // nn.Parameter, once its module has run; kept for the life of the process

bool asks_subclasses() { return overrides_asked() == Overrides::All; }

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

// Tensors inside `result` (tuples, lists and classes below them included) that are no `type` become one.
PyRef convert_result(PyRef result, PyTypeObject* type) {
  PyObject* r = result.get();
  if (is_tensor(r)) return PyObject_TypeCheck(r, type) ? result : as_subclass(r, type);
  if (!PyTuple_Check(r) && !PyList_Check(r)) return result;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(r);
  PyRef made = checked(PyList_New(n));
  bool changed = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const before = PySequence_Fast_GET_ITEM(r, i);
    PyObject* const item = convert_result(PyRef::borrow(before), type).release();
    changed |= item != before;
    PyList_SET_ITEM(made.get(), i, item);
  }
  if (!changed) return result;
  if (PyList_CheckExact(r)) return made;
  if (PyTuple_CheckExact(r)) return checked(PyList_AsTuple(made.get()));
  return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(r)), made.get()));
}

// Whether `cls` is below (or is) each of the classes.
bool is_below_all(PyTypeObject* cls, PyObject* types) {
  const PyRef all = checked(PySequence_Tuple(types));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* const of = PyTuple_GET_ITEM(all.get(), i);
    if (!checked(PyObject_IsSubclass(reinterpret_cast<PyObject*>(cls), of))) return false;
  }
  return true;
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
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    if (func == being_called || !is_below_all(type, types)) Py_RETURN_NOTIMPLEMENTED;
    PyRef positional = call_args ? checked(PySequence_Tuple(call_args)) : checked(PyTuple_New(0));
    const LessOverrides disabled(Overrides::Modes);
    const Calling calling(func);
    PyObject* keywords = call_kwargs && call_kwargs != Py_None ? call_kwargs : nullptr;
    PyRef result = checked(PyObject_Call(func, positional.get(), keywords));
    if (type == tensor_type || is_unconverted(func)) return result.release();
    return convert_result(std::move(result), type).release();
  });
}
PyMethodDef torch_function_def = {
    "__torch_function__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_torch_function)),
    METH_VARARGS | METH_KEYWORDS | METH_CLASS, "Answers a call with an instance of this class among its arguments."};

PyObject* set_parameter_type(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of Tensor is expected");
    return nullptr;
  }
  Py_XSETREF(parameter_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(type)));
  Py_RETURN_NONE;
}

}  // namespace

bool is_unconverted(PyObject* function) {
  if (!function || !is_method_wrapper(function)) return false;
  const PyRef of = checked(PyObject_GetAttrString(function, "__self__"));
  if (Py_TYPE(of.get()) != &PyGetSetDescr_Type) return false;
  const auto* attribute = reinterpret_cast<PyDescrObject*>(of.get());
  const char* const name = PyUnicode_AsUTF8(attribute->d_name);
  return attribute->d_type == tensor_type && name && std::ranges::find(kUnconverted, name) != std::end(kUnconverted);
}

bool is_parameter(PyObject* o) { return Py_TYPE(o) == parameter_type; }

bool overrides_torch_function(PyObject* o) {
  if (plain_value(o) || !asks_subclasses() || PyType_Check(o)) return false;
  PyObject* found = _PyType_Lookup(Py_TYPE(o), torch_function_name);                   // borrowed
  if (found == default_torch_function && class_has_handler(Py_TYPE(o))) return false;  // asked below, by operator
  return found && found != disabled_torch_function && found != Py_None;
}

namespace {

bool has_own_answer(PyObject* o) { return _PyType_Lookup(Py_TYPE(o), torch_function_name) != default_torch_function; }

PyRef types_of(const std::vector<PyObject*>& overloaded) {
  PyRef types = checked(PyTuple_New(static_cast<Py_ssize_t>(overloaded.size())));
  for (std::size_t i = 0; i < overloaded.size(); ++i) {
    PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(overloaded[i]))));
  }
  return types;
}

[[noreturn]] void throw_no_answer(PyObject* callable, PyObject* types) {
  throw_type_error("no implementation found for %R on types that implement __torch_function__: %R", callable, types);
}

// Of classes that leave everything to Tensor one has to be below all others.
void expect_one_line(PyObject* callable, const std::vector<PyObject*>& overloaded) {
  const auto below_all = [&](PyObject* o) {
    return std::ranges::all_of(overloaded, [&](PyObject* other) { return PyObject_TypeCheck(o, Py_TYPE(other)); });
  };
  if (!std::ranges::any_of(overloaded, below_all)) throw_no_answer(callable, types_of(overloaded).get());
}

struct HandedOn {
  PyRef args, kwargs;  // a tuple, and a dict or nothing
};
HandedOn handed_on(const PassedArgs& call) {
  PyRef args = checked(PyTuple_New(call.nargs));
  for (Py_ssize_t i = 0; i < call.nargs; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(call.args[i]));
  return {std::move(args), call.keyword_count() == 0 ? PyRef() : keyword_dict(call)};
}

// The first answer that is not NotImplemented: the mode's, then those of the classes. Handlers get keywords if there
// are any. A handler may be a method of instances, though it is meant to be one of the class.
PyRef first_answer(PyObject* mode, const std::vector<PyObject*>& overloaded, PyObject* callable, const HandedOn& call) {
  const PyRef types = types_of(overloaded);
  const auto answer_of = [&](PyObject* who) {
    const PyRef handler = checked(PyObject_GetAttr(who, torch_function_name));
    return checked(PyObject_CallFunctionObjArgs(handler.get(), callable, types.get(), call.args.get(),
                                                call.kwargs.get(), nullptr));
  };
  if (mode) {
    if (PyRef answer = answer_of(mode); answer.get() != Py_NotImplemented) return answer;
  }
  for (PyObject* o : overloaded) {
    if (PyRef answer = answer_of(o); answer.get() != Py_NotImplemented) return answer;
  }
  throw_no_answer(callable, types.get());
}

}  // namespace

PyRef try_torch_function(PyObject* callable, const PassedArgs& call) {
  std::vector<PyObject*> overloaded;
  for_each_candidate(call, [&](PyObject* o) {
    if (overrides_torch_function(o)) add_overloaded(overloaded, o);
  });
  const AnsweringMode mode;
  if (!mode.get() && std::ranges::none_of(overloaded, has_own_answer)) {
    if (overloaded.size() > 1) expect_one_line(callable, overloaded);
    return {};
  }
  Dispatch dispatch(callable, call);
  if (dispatch.goes_round()) std::erase_if(overloaded, [](PyObject* o) { return !is_tensor(o); });
  if (overloaded.empty() && !mode.get()) return {};
  dispatch.enter();
  return first_answer(mode.get(), overloaded, callable, handed_on(call));
}

namespace {

std::vector<PyObject*> overloaded_of(PyObject* relevant) {
  std::vector<PyObject*> overloaded;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(relevant); ++i) {
    PyObject* const o = PyTuple_GET_ITEM(relevant, i);
    if (overrides_torch_function(o)) add_overloaded(overloaded, o);
  }
  return overloaded;
}

// _handle_torch_function(callable, relevant, args, kwargs): the answer for a function written in Python, whose
// arguments that may override it are `relevant`.
PyObject* handle_torch_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 4) throw_type_error("_handle_torch_function() takes 4 arguments");
    const PyRef relevant = checked(PySequence_Tuple(args[1]));
    const std::vector<PyObject*> overloaded = overloaded_of(relevant.get());
    const HandedOn call{checked(PySequence_Tuple(args[2])), PyRef::borrow(args[3])};
    const AnsweringMode mode;
    return first_answer(mode.get(), overloaded, args[0], call).release();
  });
}

// _overloaded_args(relevant): those whose classes are asked, in the order in which they are.
PyObject* list_overloaded(PyObject*, PyObject* relevant) {
  return guarded([&]() -> PyObject* {
    const PyRef all = checked(PySequence_Tuple(relevant));
    PyRef list = checked(PyList_New(0));
    for (PyObject* o : overloaded_of(all.get())) checked(PyList_Append(list.get(), o));
    return list.release();
  });
}

PyMethodDef module_functions[] = {
    {"_set_parameter_type", set_parameter_type, METH_O, "Says which class is nn.Parameter."},
    {"_handle_torch_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(handle_torch_function)),
     METH_FASTCALL, "The answer of modes and overrides to a call of a function; TypeError if nobody has one."},
    {"_overloaded_args", list_overloaded, METH_O, "Of some values those whose classes are asked, in that order."},
    {},
};

}  // namespace

PyRef ask_overrides(const char* name, std::initializer_list<PyObject*> operands) {
  const PyRef function = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  return try_torch_function(function.get(),
                            PassedArgs{operands.begin(), static_cast<Py_ssize_t>(operands.size()), nullptr});
}

PyRef keep_subclass(PyRef result, const PassedArgs& call) {
  if (!asks_subclasses()) return result;
  PyTypeObject* type = nullptr;
  for_each_candidate(call, [&](PyObject* o) {
    if (!is_tensor(o)) return;
    PyTypeObject* t = Py_TYPE(o);
    // A class without overrides (a parameter) leaves results plain.
    if (_PyType_Lookup(t, torch_function_name) != default_torch_function || class_has_handler(t)) return;
    if (!type || PyType_IsSubtype(t, type)) type = t;
  });
  return type ? convert_result(std::move(result), type) : result;
}

bool is_default_torch_function(PyObject* on_class) { return on_class == default_torch_function; }
bool is_disabled_torch_function(PyObject* on_class) { return on_class == disabled_torch_function; }
PyTypeObject* class_of_default_torch_function(PyObject* bound) {
  if (!PyCFunction_Check(bound)) return nullptr;
  auto* function = reinterpret_cast<PyCFunctionObject*>(bound);
  return function->m_ml == &torch_function_def ? reinterpret_cast<PyTypeObject*>(function->m_self) : nullptr;
}

int init_subclass(PyObject* module) {
  torch_function_name = PyUnicode_InternFromString("__torch_function__");
  if (!torch_function_name) return -1;
  PyObject* descriptor = PyDescr_NewClassMethod(tensor_type, &torch_function_def);
  if (!descriptor) return -1;
  default_torch_function = descriptor;  // kept for the life of the process
  if (PyObject_SetAttr(reinterpret_cast<PyObject*>(tensor_type), torch_function_name, descriptor) < 0) return -1;
  disabled_torch_function = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
  if (!disabled_torch_function) return -1;
  return PyModule_AddFunctions(module, module_functions);
}

}  // namespace md
