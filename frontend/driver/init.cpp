// Functions of minidynamo._C that the package calls: compile, reset, switches, stance, skip marks.
#include "frontend/driver/init.h"

#include <chrono>
#include <csignal>

#include "frontend/builtins/families.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/driver/call_blocks.h"
#include "frontend/driver/compiled_function.h"
#include "frontend/driver/frame_hook.h"
#include "frontend/driver/measured.h"
#include "frontend/driver/replay_reports.h"
#include "frontend/driver/run_frame.h"
#include "frontend/entries/code_cache.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/guards/guard.h"
#include "frontend/report/events.h"
#include "frontend/tensors/compiled_backward.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "frontend/values/marks.h"
#include "frontend/values/rules.h"

namespace md {

namespace {

// _compile(function, backend or None, backend_name, fullgraph, dynamic, options or None, mode, original = function)
// -> CompiledFunction; mode: see compile_style(); original: what compile() was given, which the function calls
PyObject* py_compile(PyObject*, PyObject* args) {
  PyObject *function, *backend, *options, *original = nullptr;
  const char* name;
  int fullgraph, dynamic, mode;
  if (!PyArg_ParseTuple(args, "O!OspiOi|O", &PyFunction_Type, &function, &backend, &name, &fullgraph, &dynamic,
                        &options, &mode, &original))
    return nullptr;
  return guarded([&] {
    // Here, so that the first call depends on no file, sys.path or moment. What fails is tried again at a call.
    try {
      const Disarmed plain;
      tables_are_ready();
    } catch (const PythonError&) {
      drop_exception();
    }
    CompileOptions* r = get_options(backend == Py_None ? nullptr : backend, name, fullgraph, dynamic,
                                    options == Py_None ? nullptr : options, compile_style(mode));
    return make_compiled_function(function, original ? original : function, r).release();
  });
}

PyObject* py_original(PyObject*, PyObject* o) {
  if (!is_compiled_function(o)) Py_RETURN_NONE;
  return Py_NewRef(compiled_function_original(o));
}

// _options_of(compiled function): what _compile() was given after the function
PyObject* py_options_of(PyObject*, PyObject* o) {
  if (!is_compiled_function(o)) return PyErr_Format(PyExc_TypeError, "a compiled function is expected");
  const auto* self = reinterpret_cast<CompiledFunctionObject*>(o);
  const CompileOptions& r = *self->options;
  PyObject* const backend = self->backend ? self->backend : Py_None;
  PyObject* const options = r.backend_options ? r.backend_options.get() : Py_None;
  return Py_BuildValue("OsNiOi", backend, r.backend_name.c_str(), PyBool_FromLong(r.fullgraph), r.dynamic, options,
                       number_of(r.style));
}

// _wait_for_kernels(milliseconds): until all machine code that was asked for is there; False: it is not, after so long.
PyObject* py_wait_for_kernels(PyObject*, PyObject* milliseconds) {
  const long most = PyLong_AsLong(milliseconds);
  if (most == -1 && PyErr_Occurred()) return nullptr;
  Backend* backend = find_backend("llvm");
  bool ready = true;
  Py_BEGIN_ALLOW_THREADS;
  if (backend) ready = backend->wait(std::chrono::milliseconds(most));
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(ready);
}

PyObject* py_reset(PyObject*, PyObject*) {
  return guarded([&] {
    clear_code_cache();
    reset_frame_ids();
    return Py_NewRef(Py_None);
  });
}

// _set_switches(disabled, while_traced, ContextVar of patched values or None)
PyObject* py_set_switches(PyObject*, PyObject* args) {
  int disabled, while_traced;
  PyObject* patched;
  if (!PyArg_ParseTuple(args, "ppO", &disabled, &while_traced, &patched)) return nullptr;
  set_config_switches(disabled, while_traced, patched == Py_None ? nullptr : patched);
  Py_RETURN_NONE;
}

// _set_stance(number, skip_guard_eval_unsafe, (backend or None, its name) or None): see Stance.
PyObject* py_set_stance(PyObject*, PyObject* args) {
  int stance, unsafe;
  PyObject *forced, *backend = nullptr;
  const char* name = "";
  if (!PyArg_ParseTuple(args, "ipO", &stance, &unsafe, &forced)) return nullptr;
  if (forced != Py_None && !PyArg_ParseTuple(forced, "Os", &backend, &name)) return nullptr;
  run_switches().stance = static_cast<Stance>(stance);
  run_switches().skip_guard_eval_unsafe = unsafe;
  run_switches().forces_backend = forced != Py_None;
  run_switches().backend = PyRef::borrow(backend == Py_None ? nullptr : backend);
  run_switches().backend_name = name;
  Py_RETURN_NONE;
}

// _mark_skip(code, recursive): the code runs as plain Python.
PyObject* py_mark_skip(PyObject*, PyObject* args) {
  PyObject* code;
  int recursive;
  if (!PyArg_ParseTuple(args, "O!p", &PyCode_Type, &code, &recursive)) return nullptr;
  return guarded([&] {
    FrameNotes& n = frame_notes(reinterpret_cast<PyCodeObject*>(code));
    (recursive ? n.skip_recursively : n.skip) = true;
    return Py_NewRef(Py_None);
  });
}

// _call_unhooked(function, args, kwargs): nothing below is compiled on its own.
PyObject* py_call_unhooked(PyObject*, PyObject* args) {
  PyObject *function, *positional, *keywords;
  if (!PyArg_ParseTuple(args, "OO!O!", &function, &PyTuple_Type, &positional, &PyDict_Type, &keywords)) return nullptr;
  Disarmed below;
  const DisabledHere disabled;
  return PyObject_Call(function, positional, keywords);
}

// _begin_block(compiled function or None), _end_block(): see begin_block.
PyObject* py_begin_block(PyObject*, PyObject* compiled) {
  return guarded([&] {
    if (compiled != Py_None && !is_compiled_function(compiled)) {
      PyErr_SetString(PyExc_TypeError, "a compiled function or None is needed");
      throw PythonError{};
    }
    begin_block(compiled);
    return Py_NewRef(Py_None);
  });
}
PyObject* py_end_block(PyObject*, PyObject*) {
  return guarded([&] {
    end_block();
    return Py_NewRef(Py_None);
  });
}

// _guard_rows(code): [[(name, source, create function, [code])]] of each entry, newest first.
PyObject* py_guard_rows(PyObject*, PyObject* code) {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "a code object is needed");
    return nullptr;
  }
  return guarded([&] {
    PyRef out = checked(PyList_New(0));
    for (auto& e : entries_of(reinterpret_cast<PyCodeObject*>(code), nullptr)) {
      PyRef rows = checked(PyList_New(0));
      for (auto& row : guard_rows(*e->guards)) {
        PyRef code_list = checked(PyList_New(0));
        for (auto& c : row.code) checked(PyList_Append(code_list.get(), py_str(c).get()));
        checked(PyList_Append(rows.get(), checked(PyTuple_Pack(4, py_str(row.name).get(), py_str(row.source).get(),
                                                               py_str(row.create_fn).get(), code_list.get()))
                                              .get()));
      }
      checked(PyList_Append(out.get(), rows.get()));
    }
    return out.release();
  });
}

// _run_everything(on): see run_everything.
PyObject* py_run_everything(PyObject*, PyObject* on) {
  return guarded([&] {
    const int wanted = PyObject_IsTrue(on);
    if (wanted < 0) throw PythonError{};
    run_everything(wanted ? get_options(nullptr, "llvm", false, -1, nullptr) : nullptr);
    return Py_NewRef(Py_None);
  });
}

// _is_asynchronous(traceback)
PyObject* py_is_asynchronous(PyObject*, PyObject* traceback) { return PyBool_FromLong(is_asynchronous(traceback)); }

// _end_with(exception): what the interpreter does with an exception that leaves a program, short of exiting: the hook
// prints it; Ctrl-C ends the process by its signal once everything is shut down.
PyObject* py_end_with(PyObject*, PyObject* error) {
  const bool interrupted = PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt);
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error))), Py_NewRef(error),
                PyException_GetTraceback(error));
  PyErr_Print();
  if (interrupted)
    Py_AtExit([] {
      std::signal(SIGINT, SIG_DFL);
      std::raise(SIGINT);
    });
  Py_RETURN_NONE;
}

// _count_frames(on), and _frame_counts() -> a list of dicts: see frame_counts_list.
PyObject* py_count_frames(PyObject*, PyObject* on) {
  const int wanted = PyObject_IsTrue(on);
  if (wanted < 0) return nullptr;
  count_frames(wanted);
  Py_RETURN_NONE;
}

PyObject* py_frame_counts(PyObject*, PyObject*) {
  return guarded([&] { return frame_counts_list().release(); });
}

// config.compiled_autograd: the options of the compiled function that is under way hold for backward() as well.
PyRef compiler_of_running_code() {
  const CompileOptions* const options = current_options();
  if (!options) return {};
  const PyRef config = checked(import_module("minidynamo._dynamo.config"));
  const PyRef wanted = checked(PyObject_GetAttrString(config.get(), "compiled_autograd"));
  if (!checked(PyObject_IsTrue(wanted.get()))) return {};
  const PyRef module = checked(import_module("minidynamo._dynamo.compiled_autograd"));
  const auto or_none = [](PyObject* o) { return o ? o : Py_None; };
  return checked(PyObject_CallMethod(module.get(), "_compiler_with", "OsOiOi", or_none(options->backend),
                                     options->backend_name.c_str(), options->fullgraph ? Py_True : Py_False,
                                     options->dynamic, or_none(options->backend_options.get()),
                                     number_of(options->style)));
}

PyMethodDef kDriverFunctions[] = {{"_compile", py_compile, METH_VARARGS, nullptr},
                                  {"_original", py_original, METH_O, nullptr},
                                  {"_options_of", py_options_of, METH_O, nullptr},
                                  {"_reset", py_reset, METH_NOARGS, nullptr},
                                  {"_wait_for_kernels", py_wait_for_kernels, METH_O, nullptr},
                                  {"_set_switches", py_set_switches, METH_VARARGS, nullptr},
                                  {"_set_stance", py_set_stance, METH_VARARGS, nullptr},
                                  {"_mark_skip", py_mark_skip, METH_VARARGS, nullptr},
                                  {"_call_unhooked", py_call_unhooked, METH_VARARGS, nullptr},
                                  {"_begin_block", py_begin_block, METH_O, nullptr},
                                  {"_end_block", py_end_block, METH_NOARGS, nullptr},
                                  {"_guard_rows", py_guard_rows, METH_O, nullptr},
                                  {"_run_everything", py_run_everything, METH_O, nullptr},
                                  {"_is_asynchronous", py_is_asynchronous, METH_O, nullptr},
                                  {"_end_with", py_end_with, METH_O, nullptr},
                                  {"_count_frames", py_count_frames, METH_O, nullptr},
                                  {"_frame_counts", py_frame_counts, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace

int init_frontend(PyObject* module) {
  install_replay_reports();
  if (PyModule_AddFunctions(module, kDriverFunctions) < 0) return -1;
  if (init_compiled_function(module) < 0 || init_measured(module) < 0) return -1;
  init_marks(module);
  init_rules();
  set_compiler_of_code(compiler_of_running_code);
  install_hook();
  return 0;
}

}  // namespace md
