// CompiledFunction: what compile() returns. A call that hits runs guards, kernel and plan in C++.
#include "frontend/driver/compiled_function.h"

#include <structmember.h>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/interpreter_lock.h"
#include "frontend/driver/measured.h"
#include "frontend/driver/run_frame.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/guards/arguments.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/report/events.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/values/constant.h"
#include "ir/batching/levels.h"
#include "ir/run/op_recorder.h"
#include "ir/tensor/handled.h"

namespace md {

namespace {

CompiledFunctionObject* cast(PyObject* o) { return reinterpret_cast<CompiledFunctionObject*>(o); }

// Hooked if there are options.
PyObject* call_plain(CompiledFunctionObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames,
                     CompileOptions* options) {
  const auto call = [&] {
    return or_sleep_at_exit([&] { return PyObject_Vectorcall(self->function, args, nargsf, kwnames); });
  };
  if (!options) return call();
  CompileOptions* outer = current_options();
  current_options() = options;
  PyObject* r;
  {
    Armed below;
    r = call();
  }
  current_options() = outer;
  return r;
}

// A generator's frame is the generator: it cannot be replaced. False: an exception is set (fullgraph).
bool give_up_generator(CompileOptions* options, PyCodeObject* code) {
  try {
    GraphBreak b = make_break<GB0003>();
    const std::vector<UserFrame> none;  // nothing of it has run: what called it is shown
    if (options->fullgraph) raise_unsupported(b, none);
    frame_notes(code).broke = true;
    count_break(code, b, "");
    PyRef error = break_parts_call("left_plain", b, none);
    report("skip_after",
           {py_str(text_of(code->co_name)), py_str(text_of(code->co_filename)), py_int(code->co_firstlineno), error});
    return true;
  } catch (const PythonError&) {
    return false;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return false;
  }
}

// The same options with the backend of the stance. Null: an exception is set.
CompileOptions* forced_options(const CompileOptions& r) {
  const RunSwitches& s = run_switches();
  try {
    return get_options(s.backend.get(), s.backend_name, r.fullgraph, r.dynamic, nullptr, r.style);
  } catch (const PythonError&) {
    return nullptr;
  }
}

// Function transforms (vmap, grad) of eager mode run what they are applied to as plain Python. With fullgraph that is
// an error, except of the backend that is plain Python.
[[gnu::cold, gnu::noinline]] PyObject* call_transformed(CompiledFunctionObject* self, PyObject* const* args,
                                                        std::size_t nargsf, PyObject* kwnames) {
  auto* fn = reinterpret_cast<PyFunctionObject*>(self->function);
  BoundArguments bound;
  if (!op_recorder() && self->options->fullgraph && self->options->backend_name != "eager" &&
      bound.bind(fn, args, nargsf, kwnames) && bound.complete()) {
    PyRef result;
    const FrameRequest request{reinterpret_cast<PyCodeObject*>(fn->func_code), bound.frame(), self->options,
                               std::string()};
    if (run_missed(request, result) == RunOutcome::Raised) return nullptr;
  }
  if (PyErr_Occurred()) return nullptr;
  Disarmed below;
  return call_plain(self, args, nargsf, kwnames, nullptr);
}

// With fullgraph: operators are a mode's of the program to answer, so that nothing of the function would be compiled.
[[gnu::cold, gnu::noinline]] void refuse_modes() {
  const PyRef module = checked(import_module("minidynamo._aten.modes"));
  checked(PyObject_CallMethod(module.get(), "refuse_to_compile", nullptr));
}

[[gnu::noinline, gnu::cold]] EntryRef look_up_measured(PyCodeObject* code, CodeState& state,
                                                       const CompileOptions* options, const FrameArgs& args,
                                                       LoadedValues& found) {
  const Observed observed([&] { return guards_slot(static_cast<const FrameNotes*>(state.notes.get())); },
                          [&] { return about_code(PartKind::Guards, code); });
  return find_entry(state, options, args, found);
}
// Measuring is apart: what it needs in memory stays in registers here.
[[gnu::noinline]] EntryRef look_up(PyCodeObject* code, CodeState& state, const CompileOptions* options,
                                   const FrameArgs& args, LoadedValues& found) {
  if (is_anything_observed()) [[unlikely]]
    return look_up_measured(code, state, options, args, found);
  return find_entry(state, options, args, found);
}

// `Single`: an entry that only returns one output is run the short way. It holds neither code nor arguments: while its
// kernel runs, another thread may replace the function's code or defaults. Where it has done nothing, the call begins
// again from the function as it is then.
template <bool Single>
PyObject* compiled_call(PyObject* o, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) try {
  auto* self = cast(o);
  auto* fn = reinterpret_cast<PyFunctionObject*>(self->function);
  auto* code = reinterpret_cast<PyCodeObject*>(fn->func_code);
  const RunSwitches& switches = run_switches();
  if ((switches.disabling && is_disabled_here()) || switches.stance == Stance::ForceEager ||
      (is_observed(PyThreadState_Get(), code) && !compiles_while_traced()) || overrides_are_changed()) {
    const bool plain_by_wish = (switches.disabling && is_disabled_here()) || switches.stance == Stance::ForceEager;
    if (self->options->fullgraph && handlers_here().modes != 0 && !plain_by_wish) refuse_modes();
    Disarmed below;
    return call_plain(self, args, nargsf, kwnames, nullptr);
  }
  if (in_transform() && (is_in_transform() || op_recorder())) [[unlikely]]
    return call_transformed(self, args, nargsf, kwnames);
  CompileOptions* options = self->options;
  PyRef kept;  // also if the stance ends meanwhile
  if (switches.forces_backend) {
    kept = switches.backend;
    options = forced_options(*options);
    if (!options) return nullptr;
  }
  BoundArguments bound;
  if (!bound.bind(fn, args, nargsf, kwnames))
    return PyErr_Occurred() ? nullptr : call_plain(self, args, nargsf, kwnames, nullptr);
  CodeState* state = code_state(code);
  const FrameNotes* notes = state ? static_cast<const FrameNotes*>(state->notes.get()) : nullptr;
  const bool runs_plain = notes && notes->runs_plain(*options);
  if (!runs_plain || notes->runs_plain_below(*options)) {
    LoadedValues found;
    EntryRef entry = !state                   ? EntryRef()
                     : is_anything_observed() ? look_up(code, *state, options, bound.frame(), found)
                                              : find_entry(*state, options, bound.frame(), found);
    if (Single && entry && !runs_plain && is_single(*entry) && !counting_frames()) [[likely]] {
      bool repeat = false;
      PyObject* out = run_single(*entry, code, found, bound.frame(), repeat);
      if (!repeat) [[likely]]
        return out;
      return compiled_call<false>(o, args, nargsf, kwnames);
    }
    const PyRef held_code = PyRef::borrow(fn->func_code), held_defaults = PyRef::borrow(fn->func_defaults);
    bound.hold_defaults();
    FrameRequest request{code, bound.frame(), options, std::string()};
    PyRef result;
    if (!entry && notes && notes->runs_plain_below(*options)) {
      const ObservedPlain observed(notes, code);
      Disarmed below;
      return call_plain(self, args, nargsf, kwnames, nullptr);
    }
    RunOutcome outcome = RunOutcome::Plain;
    if (entry && !runs_plain) [[likely]] {
      outcome = run_found(std::move(entry), found, request, result);
    } else if (!runs_plain) {
      if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
        if (!give_up_generator(options, code)) return nullptr;
        return call_plain(self, args, nargsf, kwnames, options);
      }
      if (!bound.complete()) return nullptr;
      request.args = bound.frame();
      outcome = run_missed(request, result);
    }
    if (outcome == RunOutcome::Done) return result.release();
    if (outcome == RunOutcome::Raised) return nullptr;
  }
  // What a stance runs as plain Python is not looked at again below.
  const bool hooked = switches.stance == Stance::Default;
  if (hooked) {
    const Replaying repeated(self->function);
    return call_plain(self, args, nargsf, kwnames, options);
  }
  Disarmed below;
  const Replaying repeated(nullptr, false);
  return call_plain(self, args, nargsf, kwnames, nullptr);
} catch (const PythonError&) {
  return nullptr;
} catch (const std::bad_alloc&) {  // before anything was run
  return PyErr_NoMemory();
}

int compiled_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(cast(o)->function);
  Py_VISIT(cast(o)->original);
  Py_VISIT(cast(o)->backend);
  Py_VISIT(cast(o)->dict);
  return 0;
}

int compiled_clear(PyObject* o) {
  Py_CLEAR(cast(o)->function);
  Py_CLEAR(cast(o)->original);
  Py_CLEAR(cast(o)->dict);
  return 0;
}

void compiled_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  PyTypeObject* type = Py_TYPE(o);
  if (cast(o)->weakrefs) PyObject_ClearWeakRefs(o);
  compiled_clear(o);
  Py_CLEAR(cast(o)->backend);
  type->tp_free(o);
  Py_DECREF(type);
}

// What is no function decides itself whether it is bound to instances.
PyObject* get_like_original(PyObject* self, PyObject* instance, PyObject* owner) {
  PyObject* original = cast(self)->original;
  const descrgetfunc get = Py_TYPE(original)->tp_descr_get;
  PyRef got = get ? PyRef::steal(get(original, instance, owner)) : PyRef::borrow(original);
  if (got.get() == original) return Py_NewRef(self);
  const bool bound = got && PyMethod_Check(got.get()) && PyMethod_GET_FUNCTION(got.get()) == original;
  return bound ? PyMethod_New(self, PyMethod_GET_SELF(got.get())) : got.release();
}

PyObject* compiled_get(PyObject* self, PyObject* instance, PyObject* owner) {
  if (cast(self)->original != cast(self)->function) return get_like_original(self, instance, owner);
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* compiled_repr(PyObject* o) { return PyUnicode_FromFormat("<compiled %R>", cast(o)->original); }

PyObject* compiled_getattro(PyObject* o, PyObject* name) {
  PyObject* v = PyObject_GenericGetAttr(o, name);
  if (v || !PyErr_ExceptionMatches(PyExc_AttributeError)) return v;
  PyErr_Clear();
  return PyObject_GetAttr(cast(o)->original, name);
}

// What a call runs is the function's: a module that is reloaded in place (autoreload) changes it there.
int compiled_setattro(PyObject* o, PyObject* name, PyObject* value) {
  PyObject* const function = cast(o)->function;
  if (cast(o)->original == function && PyUnicode_Check(name))
    for (const char* of_function : {"__code__", "__defaults__", "__kwdefaults__"})
      if (PyUnicode_CompareWithASCIIString(name, of_function) == 0) return PyObject_SetAttr(function, name, value);
  return PyObject_GenericSetAttr(o, name, value);
}

PyObject* compiled_reduce(PyObject* o, PyObject*) {
  return guarded([&] {
    const PyRef module = checked(import_module("minidynamo._dynamo.pickling"));
    return checked(PyObject_CallMethod(module.get(), "reduced", "O", o)).release();
  });
}

// Here, since otherwise that of the original would be found.
PyObject* compiled_setstate(PyObject* o, PyObject* state) {
  PyObject* const dict = PyObject_GenericGetDict(o, nullptr);
  const int failed = dict ? PyDict_Update(dict, state) : -1;
  Py_XDECREF(dict);
  return failed ? nullptr : Py_NewRef(Py_None);
}

// As a function is: the same one.
PyObject* compiled_copy(PyObject* o, PyObject*) { return Py_NewRef(o); }

PyMemberDef kMembers[] = {
    {"__wrapped__", T_OBJECT, offsetof(CompiledFunctionObject, original), READONLY, nullptr},
    {"_torchdynamo_orig_callable", T_OBJECT, offsetof(CompiledFunctionObject, original), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef kGetSet[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef kCompiledFunctionMethods[] = {{"__reduce__", compiled_reduce, METH_NOARGS, nullptr},
                                          {"__setstate__", compiled_setstate, METH_O, nullptr},
                                          {"__copy__", compiled_copy, METH_NOARGS, nullptr},
                                          {"__deepcopy__", compiled_copy, METH_O, nullptr},
                                          {nullptr, nullptr, 0, nullptr}};
PyType_Slot kSlots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(compiled_dealloc)},
                        {Py_tp_traverse, reinterpret_cast<void*>(compiled_traverse)},
                        {Py_tp_clear, reinterpret_cast<void*>(compiled_clear)},
                        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                        {Py_tp_descr_get, reinterpret_cast<void*>(compiled_get)},
                        {Py_tp_repr, reinterpret_cast<void*>(compiled_repr)},
                        {Py_tp_getattro, reinterpret_cast<void*>(compiled_getattro)},
                        {Py_tp_setattro, reinterpret_cast<void*>(compiled_setattro)},
                        {Py_tp_members, kMembers},
                        {Py_tp_getset, kGetSet},
                        {Py_tp_methods, kCompiledFunctionMethods},
                        {0, nullptr}};
PyType_Spec kSpec = {
    "minidynamo.CompiledFunction", sizeof(CompiledFunctionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};

}  // namespace

PyRef make_compiled_function(PyObject* function, PyObject* original, CompileOptions* options) {
  PyRef o = checked(compiled_type()->tp_alloc(compiled_type(), 0));
  auto* self = cast(o.get());
  self->vectorcall = compiled_call<true>;
  self->function = Py_NewRef(function);
  self->original = Py_NewRef(original);
  self->options = options;
  self->backend = Py_XNewRef(options->backend);
  for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__"}) {
    PyRef v = PyRef::steal(PyObject_GetAttrString(function, name));
    if (!v || PyObject_SetAttrString(o.get(), name, v.get()) < 0) PyErr_Clear();
  }
  return o;
}

int init_compiled_function(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (!type) return -1;
  set_compiled_type(reinterpret_cast<PyTypeObject*>(type));
  return PyModule_AddObjectRef(module, "CompiledFunction", type);
}

}  // namespace md
