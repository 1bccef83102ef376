// PEP 523: frames called from compiled code (a breaking call, a skipped frame) are compiled as they are entered.
#include "frontend/driver/frame_hook.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/made_once.h"
#include "frontend/driver/measured.h"
#include "frontend/driver/run_frame.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/report/events.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "ir/batching/levels.h"
#include "ir/run/op_recorder.h"

namespace md {

namespace {

bool is_module_or_class(PyObject* o) {
  PyTypeObject* const type = PyType_Check(o) ? reinterpret_cast<PyTypeObject*>(o) : Py_TYPE(o);
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && is_library_class(type, LibraryClass::Module);
}

bool mentions_tensors(PyObject* o, int depth) {
  if (is_tensor(o) || is_plain_array(o) || is_module_or_class(o)) return true;
  if (depth == 0) return false;
  if (PyList_CheckExact(o) || PyTuple_Check(o)) {
    PyObject** items = PySequence_Fast_ITEMS(o);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (mentions_tensors(items[k], depth - 1)) return true;
  }
  if (PyDict_CheckExact(o)) {
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &k, &v);)
      if (mentions_tensors(v, depth - 1)) return true;
  }
  return false;
}

bool is_library_module(PyObject* m) {
  if (!PyModule_Check(m)) return false;
  const char* name = PyModule_GetName(m);
  if (!name) {
    PyErr_Clear();
    return false;
  }
  const std::string n = name;
  return n == "minidynamo" || n.rfind("minidynamo.", 0) == 0 || n == "numpy" || n.rfind("numpy.", 0) == 0;
}

// Frames without tensors, and without the library's name among their globals, are left alone.
bool frame_uses_tensors(PyCodeObject* code, PyObject* globals, PyObject** slots) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(code->co_names); ++k) {
    PyObject* v = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(code->co_names, k));
    if (v && is_library_module(v)) return true;
  }
  const int n = code->co_nlocals;
  for (int k = 0; k < n; ++k)
    if (slots[k] && mentions_tensors(slots[k], 3)) return true;
  return false;
}

// "/usr/lib/python3.11/" of the module's file; empty if it is not loaded. Waits for no import that is under way: that
// would run code of importlib, which is a frame of which this is asked.
std::string folder_of(const char* module) {
  PyRef m = PyRef::borrow(find_item(PyImport_GetModuleDict(), module));
  PyRef file = m ? PyRef::steal(PyObject_GetAttrString(m.get(), "__file__")) : PyRef();
  clear_answer();
  const std::string path = file ? text_of(file.get()) : "";
  return path.substr(0, path.rfind('/') + 1);
}

bool is_own_file(PyCodeObject* code) {
  const std::string* const package = made_once([] { return new std::string(folder_of("minidynamo")); });
  return !package->empty() && text_of(code->co_filename).rfind(*package, 0) == 0;
}

// The interpreter changes the sign of ints that this module has made in place: they may not be an entry's constants.
bool makes_ints_for_interpreter(PyCodeObject* code) {
  const std::string* const file = made_once([] { return new std::string(folder_of("os") + "_pylong.py"); });
  return text_of(code->co_filename) == *file;
}

// In a folder of its own on sys.path (site-packages) below `folder`.
bool is_installed_below(const std::string& file, const std::string& folder) {
  PyObject* const path = PySys_GetObject("path");
  if (!path || !PyList_Check(path)) return false;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(path); ++k) {
    PyObject* const entry = PyList_GET_ITEM(path, k);
    if (!PyUnicode_Check(entry)) continue;
    const std::string inner = text_of(entry) + "/";
    if (inner.size() > folder.size() && inner.starts_with(folder) && file.starts_with(inner)) return true;
  }
  return false;
}

// Files whose frames are never compiled on their own: this package, the standard library, numpy.
bool is_skipped_file(PyCodeObject* code) {
  const std::string* const library = made_once([] { return new std::string(folder_of("os")); });
  static std::string* const numpy = new std::string();  // it may be imported later; with the GIL held
  if (numpy->empty()) *numpy = folder_of("numpy");
  const std::string file = text_of(code->co_filename);
  auto below = [&](const std::string& folder) { return !folder.empty() && file.rfind(folder, 0) == 0; };
  if (file.rfind("<frozen", 0) == 0 || is_own_file(code) || below(*numpy)) return true;
  // CPython's own tests lie in the library's folder and are programs that use it, as is what has been installed there.
  return below(*library) && !below(*library + "test/") && !is_installed_below(file, *library);
}

void log_left_alone(PyCodeObject* code) {
  Disarmed plain;
  if (log_switches().debug)
    report("log_no_torch",
           {py_str(text_of(code->co_name)), py_str(text_of(code->co_filename)), py_int(code->co_firstlineno)});
}

// What `look` finds out about a frame; true also if that fails: what cannot even be looked at runs as plain Python.
template <class Look>
bool true_or_failed(Look&& look) {
  try {
    return look();
  } catch (const PythonError&) {
    PyErr_Clear();
  } catch (const std::bad_alloc&) {
  }
  return true;
}

bool leave_alone(PyCodeObject* code, PyObject* globals, PyObject** slots) {
  return true_or_failed([&] {
    if (is_skipped_file(code)) return true;
    if (frame_uses_tensors(code, globals, slots)) return false;
    if (!std::exchange(frame_notes(code).left_alone, true)) log_left_alone(code);
    return true;
  });
}

// Under `run --everything` a thread is armed for good when its first frame is entered.
bool join_everything() {
  struct Leave {
    bool joined = false;
    ~Leave() { end_thread(); }
  };
  thread_local Leave here;
  CompileOptions* options = run_switches().everything;
  if (!options || here.joined || is_disarmed_here()) return false;
  here.joined = true;
  arm();
  current_options() = options;
  return true;
}

// Under `run --everything` every frame is compiled except those of this package and of the interpreter's integer code.
// Frames compiled before are not of these; for others the answer is kept in the notes.
bool is_own_code(PyCodeObject* code) {
  if (FrameNotes* notes = find_frame_notes(code); notes && (notes->own_code || notes->frame_id >= 0))
    return notes->own_code;
  return true_or_failed(
      [&] { return frame_notes(code).own_code = is_own_file(code) || makes_ints_for_interpreter(code); });
}

struct SlotCopy {
  std::vector<PyObject*> slots;
  // Free slots are still empty at entry: the function's closure fills them.
  SlotCopy(PyCodeObject* code, PyFunctionObject* fn, PyObject** live) : slots(live, live + code->co_nlocalsplus) {
    if (!fn->func_closure) return;
    const auto n = static_cast<std::size_t>(PyTuple_GET_SIZE(fn->func_closure));
    for (std::size_t k = 0; k < n; ++k)
      slots[slots.size() - n + k] = PyTuple_GET_ITEM(fn->func_closure, static_cast<Py_ssize_t>(k));
  }
};

// Whether the frame is a call of `key`: the function itself, a bound method's, or a callable object's __call__.
bool is_call_of(PyObject* key, Frame* frame) {
  auto* function = reinterpret_cast<PyObject*>(frame_function(frame));
  if (key == function) return true;
  if (PyMethod_Check(key))
    return PyMethod_GET_FUNCTION(key) == function && frame_slots(frame)[0] == PyMethod_GET_SELF(key);
  if (PyFunction_Check(key) || frame_code(frame)->co_argcount == 0 || frame_slots(frame)[0] != key) return false;
  PyRef call = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(key)), "__call__"));
  PyErr_Clear();
  return call.get() == function;
}

// A parameter, wherever the call has put it.
PyObject* argument_named(PyObject* name, PyCodeObject* code, PyObject** slots) {
  const int named = code->co_argcount + code->co_kwonlyargcount;
  PyRef names = checked(PyCode_GetVarnames(code));
  for (int k = 0; k < named; ++k)
    if (checked(PyUnicode_Compare(PyTuple_GET_ITEM(names.get(), k), name) == 0)) return slots[k];
  if (!(code->co_flags & CO_VARKEYWORDS)) return nullptr;
  return PyDict_GetItemWithError(slots[named + ((code->co_flags & CO_VARARGS) ? 1 : 0)], name);
}

// The arguments of the call that is repeated, in the order in which the program wrote them.
std::vector<PyObject*> written_arguments(const OpaqueCall& call, Frame* frame) {
  PyCodeObject* code = frame_code(frame);
  PyObject** slots = frame_slots(frame);
  const std::size_t self = PyFunction_Check(call.key.get()) ? 0 : 1;
  const auto parameters = static_cast<std::size_t>(code->co_argcount);
  std::vector<PyObject*> out;
  for (std::size_t k = self; k < call.positional + self && k < parameters; ++k) out.push_back(slots[k]);
  if (call.positional + self > parameters && (code->co_flags & CO_VARARGS))
    out.push_back(slots[code->co_argcount + code->co_kwonlyargcount]);
  for (Py_ssize_t k = 0; call.keywords && k < PyTuple_GET_SIZE(call.keywords.get()); ++k)
    if (PyObject* v = argument_named(PyTuple_GET_ITEM(call.keywords.get(), k), code, slots)) out.push_back(v);
  return out;
}

// A call that the graph has made before it failed. True: `result` is what the frame gives, null with an exception set.
bool is_replayed(Frame* frame, PyObject*& result) {
  if (!is_call_of(next_replayed(), frame)) return false;
  result = guarded([&] { return replay_arguments(written_arguments(next_call(), frame)).release(); });
  return result || PyErr_Occurred();
}

constexpr unsigned kQuietVisits = 16;
constexpr unsigned kLookAgain = 64;
thread_local std::uint64_t frames_to_compile = 0;  // entered so far, compiled before or not
thread_local bool looking_again = false;           // at a quiet frame, and so at quiet frames below it

// A skipped frame costs nothing below it once nothing below it was to compile for a while.
PyObject* run_skipped(PyThreadState* thread, Frame* frame, int throwflag, FrameNotes& notes,
                      const CompileOptions* options) {
  QuietVisits& quiet = notes.quiet;
  const std::uint64_t version = dict_version(frame_globals(frame));
  if (quiet.options != options || quiet.globals_version != version) quiet = {options, version, 0};
  const bool is_quiet = quiet.count >= kQuietVisits;
  if (is_quiet && ++quiet.count % kLookAgain != 0 && !looking_again) {
    Disarmed below;
    return run_default(thread, frame, throwflag);
  }
  const PyRef code = PyRef::borrow(reinterpret_cast<PyObject*>(frame_code(frame)));  // the frame may be its last owner
  const std::uint64_t before = frames_to_compile;
  const bool outer = std::exchange(looking_again, looking_again || is_quiet);
  PyObject* result = pass_through(thread, frame, throwflag);
  looking_again = outer;
  if (FrameNotes* now = find_frame_notes(reinterpret_cast<PyCodeObject*>(code.get()))) {  // none after reset()
    if (frames_to_compile != before)
      now->quiet.count = 0;
    else if (!is_quiet)
      ++now->quiet.count;
  }
  return result;
}

// Whether the code may have sys.monitoring observe its own frame from the middle on.
bool may_observe(PyCodeObject* code) {
  static PyObject* const names[] = {PyUnicode_InternFromString("set_events"),
                                    PyUnicode_InternFromString("set_local_events")};
  PyObject** const used = PySequence_Fast_ITEMS(code->co_names);
  return std::any_of(used, used + PyTuple_GET_SIZE(code->co_names),
                     [](PyObject* name) { return std::ranges::find(names, name) != std::end(names); });
}

PyObject* run_plain(PyThreadState* thread, Frame* frame, int throwflag) {
  return may_observe(frame_code(frame)) ? run_observed(thread, frame, throwflag)
                                        : pass_through(thread, frame, throwflag);
}

// The frame from a copy of its slots.
RunOutcome run_copied(Frame* frame, CompileOptions* options, PyRef& result) {
  PyCodeObject* code = frame_code(frame);
  PyObject** live = frame_slots(frame);
  std::optional<SlotCopy> copy;
  std::string name;
  const bool failed = true_or_failed([&] {
    copy.emplace(code, frame_function(frame), live);
    name = text_of(code->co_name);
    return false;
  });
  if (failed) return RunOutcome::Plain;
  return run_frame(
      {code, {copy->slots.data(), frame_globals(frame), frame_builtins(frame)}, options, std::move(name), live},
      result);
}

PyObject* hook(PyThreadState* thread, Frame* frame, int throwflag) {
  release_passed_on();
  const bool observed = is_observed(thread, frame_code(frame)) && !compiles_while_traced();
  if (overrides_are_changed() && !replays()) return pass_through(thread, frame, throwflag);
  if (observed && !replays()) return run_observed(thread, frame, throwflag);
  if ((!is_armed_here() && !join_everything()) || !is_function_entry(frame, throwflag))
    return pass_through(thread, frame, throwflag);
  if (PyObject * result; replays() && is_replayed(frame, result)) return finish_frame(thread, frame, result);
  if (is_failed_frame(reinterpret_cast<PyObject*>(frame_function(frame)))) {
    const ObservedPlain measured(frame_code(frame));
    return run_plain(thread, frame, throwflag);
  }
  if (!compiles_in_replay()) return pass_through(thread, frame, throwflag);
  CompileOptions* options = current_options();
  PyCodeObject* code = frame_code(frame);
  FrameNotes* notes = find_frame_notes(code);
  if (!options || observed || (notes && notes->own_code) || (in_transform() && (is_in_transform() || op_recorder())))
    return pass_through(thread, frame, throwflag);
  if (notes && notes->runs_plain(*options)) {
    const ObservedPlain measured(notes, code);
    count_skipped(code);
    if (options == run_switches().everything) return run_plain(thread, frame, throwflag);  // every frame is counted
    return run_skipped(thread, frame, throwflag, *notes, options);
  }
  if (notes && notes->runs_plain_below(*options)) {
    const ObservedPlain measured(notes, code);
    count_skipped(code);
    Disarmed below;
    return run_default(thread, frame, throwflag);
  }
  PyObject** live = frame_slots(frame);
  // A frame that was only inlined so far is looked at like a new one.
  const bool everything = options == run_switches().everything;
  if (everything ? is_own_code(code) : (!notes || notes->frame_id < 0) && leave_alone(code, frame_globals(frame), live))
    return pass_through(thread, frame, throwflag);
  ++frames_to_compile;
  PyRef result;
  switch (run_copied(frame, options, result)) {
    case RunOutcome::Done:
      return finish_frame(thread, frame, result.release());
    case RunOutcome::Raised:
      return finish_frame(thread, frame, nullptr);
    case RunOutcome::Plain:
      count_skipped(code);
      break;
  }
  const Replaying repeated;
  const ObservedPlain measured(code);
  return run_plain(thread, frame, throwflag);
}

}  // namespace

void run_everything(CompileOptions* options) {
  if (run_switches().everything == options) return;
  current_options() = run_switches().everything = options;
  options ? arm() : disarm();
  keep_hook(options != nullptr);
}

bool install_hook() { return install_frame_hook(hook); }

}  // namespace md
