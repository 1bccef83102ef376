// The stack of modes, what switches overrides off, and the functions torch.overrides builds on.
#include "frontend/tensors/function_modes.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/subclass.h"
#include "ir/tensor/handled.h"

namespace md {

constinit std::atomic<int> function_modes{0};
constinit std::atomic<int> changed_overrides{0};

namespace {

bool changes_answers(PyObject* mode);

// Freed with its thread: a thread that ends inside a mode takes it along.
struct Modes {
  std::vector<PyRef> stack;
  ~Modes() {
    function_modes -= static_cast<int>(stack.size());
    for (PyRef& mode : stack) {
      if (changes_answers(mode.get())) --changed_overrides;
      mode.release();
    }  // the thread may not hold the interpreter's lock any more
  }
};
thread_local Modes modes;
thread_local Overrides asked = Overrides::All;

PyTypeObject* region_type = nullptr;     // kept for the life of the process
thread_local int word_of_overrides = 0;  // overrides_word(); the number goes up to more than kMostModes
PyObject* shown_modes = nullptr;         // modes_list()

bool changes_answers(PyObject* mode) { return Py_TYPE(mode) != region_type; }
bool is_region(const PyRef& mode) { return region_type && Py_TYPE(mode.get()) == region_type; }

void push(PyRef mode) {
  if (!is_region(mode)) ++changed_overrides, word_of_overrides += 1 << kModesShift;
  modes.stack.push_back(std::move(mode));
  ++function_modes;
}

PyRef pop() {
  PyRef mode = std::move(modes.stack.back());
  modes.stack.pop_back();
  --function_modes;
  if (!is_region(mode)) --changed_overrides, word_of_overrides -= 1 << kModesShift;
  if (PyList_GET_SIZE(shown_modes) != 0) PyList_SetSlice(shown_modes, 0, PyList_GET_SIZE(shown_modes), nullptr);
  return mode;
}

void show_modes() {
  const Py_ssize_t shown = PyList_GET_SIZE(shown_modes);
  const auto is_shown = [](const PyRef& mode, PyObject* other) { return mode.get() == other; };
  PyObject** const first = PySequence_Fast_ITEMS(shown_modes);
  if (std::ranges::equal(modes.stack, std::span(first, static_cast<std::size_t>(shown)), is_shown)) return;
  const PyRef now = checked(PyList_New(0));
  for (const PyRef& mode : modes.stack)
    if (PyList_Append(now.get(), mode.get()) < 0) throw PythonError{};
  if (PyList_SetSlice(shown_modes, 0, shown, now.get()) < 0) throw PythonError{};
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  return guarded([&]() -> PyObject* {
    push(PyRef::borrow(mode));
    Py_RETURN_NONE;
  });
}

PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (modes.stack.empty()) throw OpError(ErrorKind::Runtime, "no TorchFunctionMode is active in this thread");
    return pop().release();
  });
}

PyObject* set_region_type(PyObject*, PyObject* type) {
  Py_XSETREF(region_type, reinterpret_cast<PyTypeObject*>(Py_NewRef(type)));
  Py_RETURN_NONE;
}
PyObject* set_autocast_word(PyObject*, PyObject* word) {
  return guarded([&]() -> PyObject* {
    const long value = PyLong_AsLong(word);
    if (value == -1 && PyErr_Occurred()) throw PythonError{};
    constexpr int kRegions = (1 << kCurrentDeviceShift) - 1;
    word_of_overrides = (word_of_overrides & ~kRegions) | (static_cast<int>(value) & kRegions);
    Py_RETURN_NONE;
  });
}

PyObject* count_modes(PyObject*, PyObject*) { return PyLong_FromSize_t(modes.stack.size()); }

// The i-th from the outermost on.
PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) throw PythonError{};
    if (i < 0 || i >= static_cast<Py_ssize_t>(modes.stack.size())) {
      throw OpError(ErrorKind::Index, "there is no TorchFunctionMode at this place of the stack");
    }
    return Py_NewRef(modes.stack[static_cast<std::size_t>(i)].get());
  });
}

PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(asked == Overrides::All); }
PyObject* is_all_disabled(PyObject*, PyObject*) { return PyBool_FromLong(asked == Overrides::None); }

// The answer of a class that overrides nothing: the plain call.
PyObject* disabled_torch_function(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"func", "types", "args", "kwargs", nullptr};
    PyObject *func, *types, *call_args = nullptr, *call_kwargs = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:_disabled_torch_function_impl", const_cast<char**>(names),
                                     &func, &types, &call_args, &call_kwargs)) {
      throw PythonError{};
    }
    const PyRef positional = call_args ? checked(PySequence_Tuple(call_args)) : checked(PyTuple_New(0));
    const LessOverrides disabled(Overrides::Modes);
    return PyObject_Call(func, positional.get(), call_kwargs && call_kwargs != Py_None ? call_kwargs : nullptr);
  });
}

// Whether one of the values answers calls itself, or a mode is active.
PyObject* has_torch_function(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (asked != Overrides::None && !modes.stack.empty()) Py_RETURN_TRUE;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (overrides_torch_function(args[i])) Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
  });
}
PyObject* has_torch_function_of(PyObject* module, PyObject* values) {
  return guarded([&]() -> PyObject* {
    const PyRef all = checked(PySequence_Tuple(values));
    return has_torch_function(module, PySequence_Fast_ITEMS(all.get()), PyTuple_GET_SIZE(all.get()));
  });
}

// with DisableTorchFunction(): each instance remembers what it found, so that it can be entered again.
struct SwitchObject {
  PyObject_HEAD
  std::vector<Overrides>* before;
};
PyObject* switch_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<SwitchObject*>(o)->before = new std::vector<Overrides>;
  return o;
}
void switch_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  delete reinterpret_cast<SwitchObject*>(o)->before;
  type->tp_free(o);
  Py_DECREF(type);
}
template <Overrides kLeft>
PyObject* switch_enter(PyObject* o, PyObject*) {
  const Overrides inside = kLeft == Overrides::All ? kLeft : std::max(asked, kLeft);
  reinterpret_cast<SwitchObject*>(o)->before->push_back(std::exchange(asked, inside));
  ++changed_overrides;
  Py_RETURN_NONE;
}
PyObject* switch_exit(PyObject* o, PyObject*) {
  std::vector<Overrides>& before = *reinterpret_cast<SwitchObject*>(o)->before;
  if (!before.empty()) asked = before.back(), before.pop_back(), --changed_overrides;
  Py_RETURN_NONE;
}
template <Overrides kLeft>
PyMethodDef switch_methods[] = {
    {"__enter__", switch_enter<kLeft>, METH_NOARGS, nullptr}, {"__exit__", switch_exit, METH_VARARGS, nullptr}, {}};
template <Overrides kLeft>
int add_switch(PyObject* module, const char* name, const char* full_name, const char* doc) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(switch_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(switch_dealloc)},
                         {Py_tp_methods, switch_methods<kLeft>},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
  PyType_Spec spec = {full_name, sizeof(SwitchObject), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  // Not exported with the rest: programs reach it through torch._C.
  return type ? PyModule_AddObject(module, name, type) : -1;
}

PyMethodDef module_functions[] = {
    {"_push_on_torch_function_stack", push_mode, METH_O, "Makes a mode the innermost one of this thread."},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, "Takes the innermost mode off the stack and returns it."},
    {"_set_region_type", set_region_type, METH_O, "Says which class regions of autocast are of."},
    {"_set_autocast_word", set_autocast_word, METH_O, "Says which region of autocast this thread is in."},
    {"_len_torch_function_stack", count_modes, METH_NOARGS, "How many modes are active in this thread."},
    {"_get_function_stack_at", mode_at, METH_O, "The i-th mode, counted from the outermost one."},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, "True unless overrides are switched off."},
    {"_is_torch_function_all_disabled", is_all_disabled, METH_NOARGS, "True while modes are not asked either."},
    {"_disabled_torch_function_impl",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(disabled_torch_function)), METH_VARARGS | METH_KEYWORDS,
     "As __torch_function__ of a class: the call without asking subclasses, its result as it is."},
    {"_has_torch_function", has_torch_function_of, METH_O, "Whether an override would be asked about these values."},
    {"_has_torch_function_unary", [](PyObject* m, PyObject* o) { return has_torch_function(m, &o, 1); }, METH_O,
     "The same for one value."},
    {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(has_torch_function)),
     METH_FASTCALL, "The same for the arguments of the call."},
    {},
};

}  // namespace

Overrides overrides_asked() { return asked; }
int autocast_word() { return word_of_overrides & ((1 << kCurrentDeviceShift) - 1); }
void note_current_device(int ordinal) {
  constexpr int kDevices = (1 << (kModesShift - kCurrentDeviceShift)) - 1;
  word_of_overrides = (word_of_overrides & ~(kDevices << kCurrentDeviceShift)) | (ordinal & kDevices)
                                                                                     << kCurrentDeviceShift;
}
int overrides_word() { return word_of_overrides; }
PyObject* modes_list() { return shown_modes; }
PyTypeObject* autocast_region_type() { return region_type; }
// In what order modes and regions of autocast stand is not guarded: code under both runs as plain Python.
bool overrides_are_changed_here() {
  if (asked != Overrides::All || handlers_here().modes != 0) return true;
  if (modes_around() == 0) return false;
  if (modes_around() > kMostModes || std::ranges::any_of(modes.stack, is_region)) return true;
  show_modes();
  return false;
}

LessOverrides::LessOverrides(Overrides left) : before_(std::exchange(asked, std::max(asked, left))) {
  ++changed_overrides;
}
LessOverrides::~LessOverrides() {
  asked = before_;
  --changed_overrides;
}

AnsweringMode::AnsweringMode() {
  if (asked != Overrides::None && !modes.stack.empty()) mode_ = pop();
}
AnsweringMode::~AnsweringMode() {
  if (mode_) push(std::move(mode_));
}

int init_function_modes(PyObject* module) {
  if (!shown_modes && !(shown_modes = PyList_New(0))) return -1;
  if (add_switch<Overrides::Modes>(module, "DisableTorchFunctionSubclass", "minidynamo._C.DisableTorchFunctionSubclass",
                                   "Context manager: calls inside ask no subclass's __torch_function__.") < 0 ||
      add_switch<Overrides::None>(module, "DisableTorchFunction", "minidynamo._C.DisableTorchFunction",
                                  "Context manager: calls inside ask neither subclasses nor modes.") < 0 ||
      add_switch<Overrides::All>(module, "_EnableTorchFunction", "minidynamo._C._EnableTorchFunction",
                                 "Context manager: overrides are asked again inside.") < 0) {
    return -1;
  }
  return PyModule_AddFunctions(module, module_functions);
}

}  // namespace md
