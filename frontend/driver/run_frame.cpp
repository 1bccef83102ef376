// The loop of a frame's run: find or compile an entry, run its plan, execute the breaking instruction, go on.
#include "frontend/driver/run_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "frontend/bytecode/split.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/interpreter_lock.h"
#include "frontend/cpython/shown_frame.h"
#include "frontend/cpython/traceback_frames.h"
#include "frontend/driver/measured.h"
#include "frontend/driver/recompile.h"
#include "frontend/driver/shown_run.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/report/events.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"

namespace md {

CompileOptions*& current_options() {
  thread_local CompileOptions* options = nullptr;
  return options;
}

namespace {

struct OptionsInForce {
  CompileOptions*& current = current_options();
  CompileOptions* const outer = current;
  explicit OptionsInForce(CompileOptions* r) { current = r; }
  ~OptionsInForce() { current = outer; }
};

// A function over its limit is looked at again now and then: entries may have died.
constexpr unsigned kLimitedMisses = 256;

// A defect of ours, with nothing done yet: said once, and the frame runs as plain Python.
[[gnu::cold, gnu::noinline]] void go_on_plain(const FrameRequest& r, const std::string& what) {
  PyErr_Clear();
  Disarmed plain;
  PyRef error = report("internal_error", {py_str(what), frames_list(std::vector<UserFrame>{})});
  if (r.options->fullgraph) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }
  frame_notes(r.code).broke = true;
  note_plain_reason(r.code, "internal error: " + what);
  report("warn_internal", {py_str(text_of(r.code->co_name)), py_str(text_of(r.code->co_filename)),
                           py_int(r.code->co_firstlineno), error});
}

// Too little memory, with nothing done yet: nobody is told, and the frame runs as plain Python, this time.
[[gnu::cold, gnu::noinline]] void go_on_without_memory(const FrameRequest& r) {
  if (r.options->fullgraph) {
    PyErr_NoMemory();
    throw PythonError{};
  }
  note_plain_reason(r.code, "raised MemoryError");
}

// Runs `attempt`, which has done nothing if it fails in a way that is not the program's own; false: it failed so.
template <class F>
bool survived(const FrameRequest& r, F&& attempt) {
  std::string what;
  try {
    attempt();
    return true;
  } catch (const PythonError&) {
    throw;
  } catch (const OpError&) {
    throw;
  } catch (const GraphBreak& b) {
    what = b.type + ": " + b.context;
  } catch (const std::bad_alloc&) {
    go_on_without_memory(r);
    return false;
  } catch (const std::exception& e) {
    what = e.what();
  }
  go_on_plain(r, what);
  return false;
}

// Notes the numbers of a call that runs as plain Python: those that differ in the call that compiles will be symbols.
struct Observer {
  ObservedInputs& inputs;
  int left = 1000;  // objects that are looked at: containers may be large, and hold themselves

  void see(PyObject* o, const std::string& name) {
    if (!o || --left < 0) return;
    if (PyCell_Check(o)) return see(PyCell_GET(o), name);
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
        see(PySequence_Fast_GET_ITEM(o, i), name + "[" + std::to_string(i) + "]");
    } else if (PyDict_CheckExact(o)) {
      PyObject *key, *value;
      for (Py_ssize_t at = 0; left > 0 && PyDict_Next(o, &at, &key, &value);)
        see(value, name + "[" + constant_repr(key) + "]");
    } else {
      note(o, name);
    }
  }

 private:
  void note(PyObject* o, const std::string& name) {
    if (is_tensor(o)) {
      observe(inputs, name, tensor_impl(o)->dim(), numbers_of(*tensor_impl(o)));
    } else if (PyLong_CheckExact(o)) {
      int overflow = 0;
      const std::int64_t n = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (!overflow) observe(inputs, name, kObservedInt, {n});
    }
  }
};

void observe_arguments(const FrameRequest& r) {
  Observer observer{frame_notes(r.code).observed};
  const auto body = decoded_body(r.code);
  for (std::size_t k = 0; k < body->slot_names.size(); ++k)
    observer.see(r.args.localsplus[k], "L['" + text_of(body->slot_names[k].get()) + "']");
}

// What the stance says of a frame without an entry; true: it runs as plain Python.
bool stance_keeps_plain(const FrameRequest& r) {
  const RunSwitches& s = run_switches();
  if (s.stance == Stance::FailOnRecompile || s.skip_guard_eval_unsafe) {
    const bool fails = s.stance == Stance::FailOnRecompile;
    PyRef error = report("stance_error", {PyRef::borrow(fails ? Py_True : Py_False), py_str(text_of(r.code->co_name)),
                                          py_str(text_of(r.code->co_filename)), py_int(r.code->co_firstlineno)});
    PyErr_SetObject(PyExc_RuntimeError, error.get());
    throw PythonError{};
  }
  if (s.stance == Stance::EagerOnRecompile) return true;
  if (s.stance != Stance::EagerThenCompile || std::exchange(frame_notes(r.code).ran_eagerly, true)) return false;
  observe_arguments(r);
  return true;
}

EntryRef compile_missing(const FrameRequest& asked) {
  if (is_interpreter_ending()) return {};  // modules are taken apart, ours among them
  const std::shared_ptr<FrameNotes> notes = held_frame_notes(asked.code);
  FrameRequest r = asked;
  if (r.printed_name.empty() && notes) r.printed_name = notes->printed_name;
  if (r.printed_name.empty()) r.printed_name = text_of(r.code->co_name);
  if (notes && (notes->runs_plain(*r.options) || notes->compiling)) return {};
  if (run_switches().disabling && is_disabled_here()) return {};
  if (run_switches().stance != Stance::Default || run_switches().skip_guard_eval_unsafe) {
    Disarmed plain;
    if (stance_keeps_plain(r)) return {};
  }
  if (notes && notes->limited == r.options && ++notes->limited_misses % kLimitedMisses != 0) return {};
  CompileReport told(r);
  if (notes) {
    Disarmed plain;
    if (compiled_in_vain(r, *notes)) return {};
    drop_dead_entries_in_turn(r.code);
    if (over_limit(r, *notes)) return {};
    const int made = notes->entries_made;
    told.before(*notes);
    // Log handlers are code of the program, and other threads may have compiled meanwhile.
    if (notes->entries_made != made)
      if (EntryRef e = find_entry(r.code, r.options, r.args)) return e;
  }
  const ShownFrame shown(r.code);
  EntryRef made = compile_frame(r);
  if (made) told.after(*made);
  return made;
}

[[gnu::noinline]] EntryRef compile_or_none(const FrameRequest& r) {
  EntryRef made;
  static const SiteSlot slot;
  const Observed observed([] { return &slot; },
                          [] { return PartName{.kind = PartKind::Compile, .name = "", .function = "", .file = ""}; });
  return survived(r, [&] { made = compile_missing(r); }) ? made : EntryRef();
}

EntryRef compiled_now(const FrameRequest& r) {
  EntryRef made = compile_or_none(r);
  // Other threads, finalisers, signal handlers or the code of a backend may have changed something meanwhile. What
  // compile-time code changes it changes for this very trace.
  if (!made || made->compile_time_code || check(*made->guards, r.args)) [[likely]]
    return made;
  note_plain_reason(r.code, "changed while it was compiled");
  hand_over({});
  return {};
}

// A failure after which the frame cannot run again reaches the user.
[[noreturn]] void raise_after_commit(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e))
    PyErr_NoMemory();
  else
    PyErr_Format(PyExc_SystemError, "minidynamo internal error: %s", e.what());
  throw PythonError{};
}

// The exception that is set comes from the user's code, and not from the compiler, the interpreter (Ctrl-C), a signal
// handler or another thread.
bool is_programs_own() {
  PyRef error = take_exception();
  PyRef ours = checked(PyObject_GetAttrString(own_module("minidynamo._dynamo.exc").get(), "TorchDynamoException"));
  const auto is = [&](PyObject* type) { return PyErr_GivenExceptionMatches(error.get(), type) != 0; };
  const bool short_of = is(PyExc_MemoryError) || is(PyExc_RecursionError);  // nothing more can be asked then
  const bool own =
      is(PyExc_Exception) && !is(ours.get()) && (short_of || report("came_from_outside", {error}).get() != Py_True);
  PyObject* const type = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error.get())));
  PyObject* const traceback = PyException_GetTraceback(error.get());
  PyErr_Restore(type, error.release(), traceback);
  return own;
}

const CompiledPlan& compiled_of(const Entry& e) { return *static_cast<const CompiledPlan*>(e.compiled.get()); }
const EntryPlan& plan_of(const Entry& e) { return compiled_of(e).plan; }

// False: nothing has been done, and the frame is to run as plain Python, which raises what failed at the user's line.
bool run_entry(const Entry& entry, const FrameRequest& r, PyObject* const* found, PlanRun& run) {
  const Observed observed([&] { return &entry.site; }, [&] { return about_entry(PartKind::Region, entry, r.code); });
  try {
    (!found || compiled_of(entry).takes_long) ? run_shown(compiled_of(entry), r, found, run)
                                              : run_plan(plan_of(entry), r.args, found, run);
    return true;
  } catch (const PythonError&) {
    // Raised by code the graph calls, before anything was done: plain Python raises it at the user's line.
    if (!run.in_kernel || run.committed || !is_programs_own()) throw;
    PyErr_Clear();
    hand_over(std::move(run.calls));
    return false;
  } catch (const ReadConflict&) {
    note_plain_reason(r.code, "changed by another thread while its graph ran");
    hand_over(std::move(run.calls));
    return false;
  } catch (const OpError&) {
    if (run.committed) throw;
    hand_over(std::move(run.calls));
    return false;
  } catch (const std::bad_alloc& e) {
    if (run.committed) raise_after_commit(e);
    hand_over(std::move(run.calls));
    return false;
  } catch (const std::exception& e) {
    if (run.committed) raise_after_commit(e);
    go_on_plain(r, e.what());
    hand_over(std::move(run.calls));
    return false;
  }
}

// The frame's slots as the driver holds them between a break and the resume function.
struct ResumeArgs {
  std::vector<PyRef> values;
  SmallVector<PyObject*, 16> slots;

  FrameArgs frame(PyCodeObject* code, const FrameArgs& first) {
    slots.resize(static_cast<std::size_t>(code->co_nlocalsplus), nullptr);
    for (std::size_t k = 0; k < values.size(); ++k) slots[k] = values[k].get();
    return {slots.data(), first.globals, first.builtins};
  }
};

std::vector<PyRef> pick(const BreakPoint::Part& part, const std::vector<PyRef>& held, PyObject* result) {
  std::vector<PyRef> out;
  out.reserve(part.from.size());
  for (int k : part.from)
    out.push_back(k >= 0 ? held[static_cast<std::size_t>(k)] : PyRef::borrow(PyTuple_GET_ITEM(result, ~k)));
  return out;
}

// Arguments of the call that call_plain is about to make; null once the callee's frame has them.
thread_local std::vector<PyRef>* passed_on = nullptr;

// Without the hook (a deep recursion) the arguments live until the call returns.
PyRef call_plain(PyObject* function, std::vector<PyRef>& args, bool hooked = true) {
  SmallVector<PyObject*, 16> raw;
  for (auto& a : args) raw.push_back(a.get());
  const auto call = [&] {
    return or_sleep_at_exit([&] { return PyObject_Vectorcall(function, raw.data(), raw.size(), nullptr); });
  };
  if (!hooked) {
    Disarmed below;
    return PyRef::steal(call());
  }
  Armed hook;
  passed_on = &args;
  PyRef result = PyRef::steal(call());
  passed_on = nullptr;
  return result;
}

// What only the breaking instruction takes ends with it.
void drop_all_but(const BreakPoint& point, std::vector<PyRef>& held) {
  SmallVector<bool, 64> later(held.size(), false);
  for (const BreakPoint::Part* part : {&point.resume, &point.resume_taken})
    for (int k : part->from)
      if (k >= 0) later[static_cast<std::size_t>(k)] = true;
  for (std::size_t k = 0; k < held.size(); ++k)
    if (!later[k]) held[k] = PyRef();
}

// Executes the breaking instruction; gives what goes on and its arguments. Null: it raised.
const BreakPoint::Part* step_over(const BreakPoint& point, PyObject* globals, std::vector<PyRef>& held,
                                  std::vector<PyRef>& args) {
  PyRef out;
  {
    const Observed observed([&] { return &point.site; }, [&] { return point.about; });
    std::vector<PyRef> given = pick(point.breaking, held, nullptr);
    drop_all_but(point, held);
    PyRef function = checked(PyFunction_New(point.breaking.code.get(), globals));
    out = call_plain(function.get(), given);
  }
  if (!out) return nullptr;
  const bool taken = point.conditional && PyTuple_GET_ITEM(out.get(), 0) == Py_True;
  const BreakPoint::Part& next = taken ? point.resume_taken : point.resume;
  if (!next.code) throw InternalError("a break has no code to go on with");
  args = pick(next, held, out.get());
  return &next;
}

// What goes on where nothing is executed before it.
const BreakPoint::Part* go_on(const BreakPoint& point, PyObject*, std::vector<PyRef>& held, std::vector<PyRef>& args) {
  args = pick(point.resume, held, nullptr);
  return &point.resume;
}

using Variables = std::vector<std::pair<PyRef, PyRef>>;

// What the code after the break would have had, under the names the whole function has for it.
void add_held(const BreakPoint& point, const std::vector<PyRef>& held, Variables& out) {
  const BreakPoint::Part& next = point.resume.code ? point.resume : point.resume_taken;
  if (!next.code) return;
  PyObject* const names = reinterpret_cast<PyCodeObject*>(next.code.get())->co_localsplusnames;
  constexpr std::string_view cell = kCellParameter;
  for (std::size_t k = 0; k < next.from.size(); ++k) {
    if (next.from[k] < 0 || !held[static_cast<std::size_t>(next.from[k])]) continue;
    PyRef name = PyRef::borrow(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k)));
    if (const std::string text = text_of(name.get()); text.starts_with(cell)) name = py_str(text.substr(cell.size()));
    out.emplace_back(std::move(name), held[static_cast<std::size_t>(next.from[k])]);
  }
}

// Of the frame that broke first: arguments that no instruction replaces live as long as the frame.
Variables lasting_arguments(const BreakPoint& point, const FrameRequest& r) {
  Variables out;
  for (const int slot : point.lasting)
    if (PyObject* value = r.args.localsplus[slot])
      out.emplace_back(PyRef::borrow(PyTuple_GET_ITEM(r.code->co_localsplusnames, slot)), PyRef::borrow(value));
  return out;
}

// The exception that is set has left code `part` of the function.
[[gnu::cold]] void show_function(const PyRef& part, const FrameRequest& first, Variables others) {
  show_whole_frame({part.get(), first.code, first.args.globals, std::move(others)});
}

// After a break: execute the instruction, look the resume code up as any frame, go on until a value comes back.
RunOutcome run_from_break(EntryRef entry, PlanRun run, const FrameRequest& first, Variables lasting, PyRef& result) {
  for (;;) {
    ResumeArgs args;
    const BreakPoint& point = *plan_of(*entry).broken;
    const BreakPoint::Part* next =
        (point.breaking.code ? step_over : go_on)(point, first.args.globals, run.held, args.values);
    if (!next) {
      Variables others;
      add_held(point, run.held, others);
      others.insert(others.end(), lasting.begin(), lasting.end());
      show_function(point.breaking.code, first, std::move(others));
      return RunOutcome::Raised;
    }
    run.held.clear();
    auto* code = reinterpret_cast<PyCodeObject*>(next->code.get());
    const FrameRequest request{code, args.frame(code, first.args), first.options, std::string()};
    // The breaking call may have set a trace function, which is to see what follows.
    const bool watched =
        (is_observed(PyThreadState_Get(), code) && !compiles_while_traced()) || overrides_are_changed();
    LoadedValues found;
    EntryRef following = watched ? EntryRef() : look_up(request, found, [&] { return &next->guards; });
    const bool hit = static_cast<bool>(following);
    if (!hit && !watched) following = compiled_now(request);
    run = PlanRun();
    if (following) {
      if (!run_entry(*following, request, hit ? found.data() : nullptr, run)) following = EntryRef();
    }
    if (!following) {
      PyRef resume = checked(PyFunction_New(next->code.get(), first.args.globals));
      const Replaying repeated(resume.get());
      // The hook would take the first call, which is to be eager, for the second one.
      result = call_plain(resume.get(), args.values, run_switches().stance != Stance::EagerThenCompile);
      if (!result) show_function(next->code, first, std::move(lasting));
      return result ? RunOutcome::Done : RunOutcome::Raised;
    }
    if (run.returned) {
      result = std::move(run.returned);
      return RunOutcome::Done;
    }
    entry = std::move(following);
  }
}

// From here on the frame is not run as plain Python any more.
void give_up_slots(const FrameRequest& r) {
  if (!r.owned) return;
  std::vector<PyRef> released;
  for (int k = 0; k < r.code->co_nlocalsplus; ++k) released.push_back(PyRef::steal(std::exchange(r.owned[k], nullptr)));
}

}  // namespace

void release_passed_on() {
  if (auto* args = std::exchange(passed_on, nullptr)) args->clear();
}

namespace {

RunOutcome run_with(EntryRef entry, PyObject* const* found, const FrameRequest& request, PyRef& result) {
  PlanRun run;
  if (!run_entry(*entry, request, found, run)) return RunOutcome::Plain;
  count_replaced(request.code, !run.returned);
  if (!run.returned) {
    Variables lasting = lasting_arguments(*plan_of(*entry).broken, request);
    give_up_slots(request);
    const Observed observed([&] { return &plan_of(*entry).broken->rest; },
                            [&] { return about_entry(PartKind::Rest, *entry, request.code); });
    return run_from_break(std::move(entry), std::move(run), request, std::move(lasting), result);
  }
  result = std::move(run.returned);
  return RunOutcome::Done;
}

// Exceptions become Python's.
template <class Act>
RunOutcome driven(CompileOptions* options, Act&& act) {
  try {
    OptionsInForce in(options);
    return act();
  } catch (const PythonError&) {
    return RunOutcome::Raised;
  } catch (const OpError& e) {
    raise_op_error(e);
    return RunOutcome::Raised;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return RunOutcome::Raised;
  } catch (const std::exception& e) {
    PyErr_Format(PyExc_SystemError, "minidynamo internal error: %s", e.what());
    return RunOutcome::Raised;
  }
}

}  // namespace

RunOutcome run_found(EntryRef entry, const LoadedValues& found, const FrameRequest& request, PyRef& result) {
  return driven(request.options, [&] { return run_with(std::move(entry), found.data(), request, result); });
}

bool is_single(const Entry& entry) { return compiled_of(entry).runs_single; }

PyObject* run_single(const Entry& entry, PyCodeObject* code, const LoadedValues& found, const FrameArgs& args,
                     bool& repeat) {
  bool committed = false;
  try {
    if (is_anything_observed()) [[unlikely]]
      return measured_single(entry, plan_of(entry), code, args, found.data(), committed);
    return run_single_output(plan_of(entry), args, found.data(), committed).release();
  } catch (...) {
    if (!committed && (!PyErr_Occurred() || is_programs_own())) {
      PyErr_Clear();
      return repeat = true, nullptr;
    }
    (void)driven(current_options(), []() -> RunOutcome { throw; });
    return nullptr;
  }
}

static RunOutcome run_new(const FrameRequest& request, PyRef& result) {
  EntryRef made = compiled_now(request);
  return made ? run_with(std::move(made), nullptr, request, result) : RunOutcome::Plain;
}

RunOutcome run_missed(const FrameRequest& request, PyRef& result) {
  return driven(request.options, [&] { return run_new(request, result); });
}

RunOutcome run_frame(const FrameRequest& request, PyRef& result) {
  return driven(request.options, [&] {
    LoadedValues found;
    EntryRef entry = look_up(request, found, [&] { return guards_slot(find_frame_notes(request.code)); });
    return entry ? run_with(std::move(entry), found.data(), request, result) : run_new(request, result);
  });
}

}  // namespace md
