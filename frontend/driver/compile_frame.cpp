// Traces a frame, restarts where tracing asks for it, decides what a break means, and reports what failed.
#include "frontend/driver/compile_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "frontend/builtins/families.h"
#include "frontend/bytecode/split.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/driver/ambient_autocast.h"
#include "frontend/driver/ambient_kept.h"
#include "frontend/driver/finish_trace.h"
#include "frontend/driver/recompile.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/guards/carried_guards.h"
#include "frontend/interpreter/break_place.h"
#include "frontend/marked_callables/fake_tensors.h"
#include "frontend/report/events.h"
#include "frontend/report/source_lines.h"
#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/frame_places.h"
#include "frontend/trace/logs.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/constant.h"
#include "frontend/values/cycles.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/rules.h"
#include "ir/batching/levels.h"

namespace md {

namespace {
constexpr int kMaxRestarts = 64;
std::atomic<int> next_frame_id{0};

// "[GenericContextWrappingVariable(Quiet)]": the open managers of user classes, outermost first.
std::string active_managers(const SymbolicFrame& f) {
  std::string list;
  for (const ActiveContext& c : f.contexts) {
    if (c.manager->kind == ValueKind::Context) continue;
    PyTypeObject* type = c.manager->python_type();
    if (!list.empty()) list += ", ";
    list += "GenericContextWrappingVariable(" + std::string(type ? type->tp_name : "object") + ")";
  }
  return "[" + list + "]";
}

bool is_row(const GraphBreak& b, BreakId id) { return b.id == break_rows()[id].id; }
bool has_title_only(const GraphBreak& b) { return b.id.empty(); }

// Of a resume function the line of its break, which ends its name.
int printed_line(const FrameRequest& r, const FrameNotes& notes) {
  const std::size_t at = notes.printed_name.rfind("_at_");
  return at == std::string::npos ? r.code->co_firstlineno : std::atoi(notes.printed_name.c_str() + at + 4);
}

std::unique_ptr<SymbolicFrame> root_frame(Tracer& t, const FrameRequest& request, const std::string& name) {
  auto f = std::make_unique<SymbolicFrame>();
  f->body = decoded_body(request.code);
  f->code = PyRef::borrow(reinterpret_cast<PyObject*>(request.code));
  f->globals = PyRef::borrow(request.args.globals);
  f->builtins = PyRef::borrow(request.args.builtins);
  f->printed_name = name;
  const auto& body = *f->body;
  f->slots.resize(body.slot_names.size());
  for (std::size_t k = 0; k < body.slot_names.size(); ++k) {
    PyObject* v = request.args.localsplus[k];
    if (!v) continue;
    const std::string slot_name = text_of(body.slot_names[k].get());
    const int slot = static_cast<int>(k);
    SourceRef s = body.slot_kinds[k] & kSlotFree ? t.recorder.sources.free_cell(slot, slot_name)
                                                 : t.recorder.sources.local(slot, slot_name);
    // A split function gets the variables that the original shares with its closures as cells.
    if (PyCell_Check(v) && slot_name.starts_with(kCellParameter))
      s = t.recorder.sources.free_cell(slot, slot_name.substr(std::string_view(kCellParameter).size()));
    f->slots[k] = PyCell_Check(v) ? t.wrap(v, s) : t.lazy(v, s);
  }
  return f;
}

const char* place_name(BreakVerdict verdict) {
  switch (verdict) {
    case BreakVerdict::SkipLoop:
      return "loop";
    case BreakVerdict::SkipContext:
      return "with";
    default:
      return "place";
  }
}

// The instruction raises what an `assert` statement raises: it loads AssertionError by an opcode of its own.
bool failed_assert(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  for (int k = f.current; k >= 0 && code[static_cast<std::size_t>(k)].pos.line == f.instruction().pos.line; --k)
    if (code[static_cast<std::size_t>(k)].op == Opcode::LOAD_ASSERTION_ERROR) return true;
  return false;
}

// The line where an exception began, maybe in a called function, is one of an `assert` statement.
bool is_line_of_assert(const UserFrame& at) {
  const std::string& text = at.line_text;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t k = text.find("assert"); k != std::string::npos; k = text.find("assert", k + 1))
    if ((k == 0 || !is_word(text[k - 1])) && (k + 6 == text.size() || !is_word(text[k + 6]))) return true;
  return false;
}

// The comparison of sizes made last stands in that line.
bool is_at(const TracedSizes::Test& test, const UserFrame& at) {
  return test.body && test.line == at.line &&
         text_of(static_cast<const CodeBody*>(test.body)->filename.get()) == at.file;
}

// One attempt after another until the trace ends or the frame is given up.
struct Compilation {
  const FrameRequest& request;
  TraceConfig config;
  LogSwitches logs;
  FrameNotes& notes;
  SpeculationLog speculation;
  CarriedGuards carried;
  PlacedFrames ended_at;              // where the trace came to its end
  std::optional<long> floats_end_at;  // instruction at which a trace with symbolic floats came to an end
  int unfinished = 0;                 // attempts whose values could not be kept over the break
  static constexpr int kMostUnfinished = 6;
  std::string file, name;
  int first_line;

  Compilation(const FrameRequest& r, FrameNotes& notes)
      : request(r),
        config(config_snapshot(*r.options)),
        logs(log_switches()),
        notes(notes),
        file(text_of(r.code->co_filename)),
        name(r.printed_name),
        first_line(printed_line(r, notes)) {}

  // What logs of this attempt carry: "0/1_2" is the third attempt at the second entry of the first frame.
  void start_attempt() {
    const std::string attempt = speculation.restarts ? fmt::format("_{}", speculation.restarts) : "";
    report("set_compile_id", {py_str(fmt::format("{}/{}{}", notes.frame_id, notes.entries_made, attempt))});
    if (!logs.info) return;
    if (logs.debug && !speculation.restarts) report("log_start", {py_str(name), py_str(file), py_int(first_line)});
    report("log_info", {py_str(fmt::format("Step 1: torchdynamo start tracing {} {}:{}", name, file, first_line))});
    report("log_info", {py_str("create_env")});
  }

  // Settings that the program changes hold while its code is traced; a run makes the same calls.
  TraceResult traced(Tracer& t, std::unique_ptr<SymbolicFrame> root) {
    const AmbientKept settings;
    return t.run(std::move(root), request.args);
  }

  // No plan turns a mode on or off: `with` does both within one trace.
  [[noreturn]] void leaves_modes() const {
    const std::string why = "a mode of torch functions that is on after it, and was not before";
    if (config.fullgraph) unmodelled(name, why);
    throw SkipFrame{"it has " + why};
  }

  EntryRef run() {
    // What the compiler calls itself is not the program's.
    std::optional<LessOverrides> unasked;
    if (modes_around() != 0) unasked.emplace(Overrides::None);
    for (speculation.restarts = 0; speculation.restarts <= kMaxRestarts; ++speculation.restarts) {
      next_name_number();
      Tracer t(config, speculation);
      const CycleBreaker cycles(t);
      t.log_traces = logs.debug || logs.trace_bytecode || logs.trace_source || logs.trace_call;
      t.grad_enabled = t.initial_grad_enabled = grad_enabled();
      t.errors_on_break = report("errors_on_break", {}).get() == Py_True;
      t.sizes.observed = &notes.observed;
      t.recorder.varying = &notes.varying;
      try {
        start_attempt();
        if (is_in_transform())
          graph_break<GB0149>(std::string(transform_levels().back().asks_gradients() ? "grad" : "vmap"));
        enter_autocast(t);
        const auto modes_before = enter_function_modes(t);
        TraceResult end = traced(t, root_frame(t, request, name));
        if (traced_modes(t) != modes_before) leaves_modes();
        t.finishing = true;
        ended_at = end.end == TraceResult::End::Return ? PlacedFrames{{end.returned_at}} : placed_frames(t);
        keep_apart(t, end);
        if (end.end == TraceResult::End::Return && logs.info) {
          report("log_info", {py_str(fmt::format("Step 1: torchdynamo done tracing {} ({})", name, end.returned_by))});
          report("log_debug", {py_str(fmt::format("{} triggered compile", end.returned_by))});
        }
        return finish_trace(t, end, request, speculation, notes, logs);
      } catch (GraphBreak& b) {
        if (!on_break(t, b)) return {};
      } catch (const SkipFrame& s) {
        return on_skip(t, s);
      } catch (const TracedRaise& e) {
        if (!tries_constants(t) && !on_raise(t, e)) return {};
      } catch (const DataDependent& e) {  // at the end of the trace, where nothing may depend on data any more
        if (!tries_constants(t)) return on_internal(t, e.what());
      } catch (const OpError& e) {
        if (!tries_constants(t)) return on_op_error(t, e);
      } catch (const InternalError& e) {
        return on_internal(t, e.what());
      }
    }
    Tracer none(config, speculation);
    GraphBreak b = make_break<GB0052>(std::to_string(kMaxRestarts));
    on_break(none, b);
    return {};
  }

  // The user frames of the trace; after its end the line with which it ended, or the function as a whole.
  PlacedFrames places(const Tracer& t) const {
    if (!t.stack.frames.empty()) return placed_frames(t);
    if (!ended_at.empty() && !ended_at.front().frame.file.empty()) return ended_at;
    UserFrame whole;
    whole.file = file, whole.line = first_line, whole.function = name;
    return {{whole}};
  }

  // A trace with floats that are no constants is in trouble: it is made again with constants, which more is known of.
  // True: restart. Where that does not get any further, they were not the reason.
  bool tries_constants(const Tracer& t) {
    if (!floats_end_at) {
      if (!t.sizes.has_numbers) return false;
      floats_end_at = t.stack.ordinal;
      config.specialize_float = true;
      return true;
    }
    if (config.specialize_float && t.stack.ordinal <= *floats_end_at) config.specialize_float = false;
    return false;
  }

  // True: restart; the trace then stops right before the breaking instruction.
  bool on_break(Tracer& t, GraphBreak& b) {
    if (notes.takes_lost_objects() || tries_constants(t)) return true;
    const auto frames = b.happened_at ? *b.happened_at : places(t);
    b.looks_at_frame = b.looks_at_frame || looks_at_frames(reinterpret_cast<PyObject*>(request.code)) ||
                       stops_in_debugger(t) || shares_locals(*decoded_body(request.code));
    const BreakVerdict verdict =
        t.finishing || t.stack.frames.empty() || b.looks_at_frame ? BreakVerdict::SkipPlace : judge_break(t);
    const bool splits = verdict == BreakVerdict::Resume || verdict == BreakVerdict::SkipLoop;
    const bool stores = !t.stack.frames.empty() && t.frame().instruction().op == Opcode::STORE_ATTR;
    if (has_title_only(b) && stores && (config.fullgraph || !splits)) b = make_break<GB0096>();
    if (t.item_break_seen) report("warn_item", {frames_list(frames)});
    if (is_row(b, GB0007_builtin)) report("warn_untraceable", {py_str(b.explanation), hint_list(b)});
    if (config.fullgraph || t.errors_on_break) raise_unsupported(b, frames);
    if (logs.debug) log_inlining_failed(t);
    if (verdict == BreakVerdict::Resume) {
      const bool again = enters_module(t);
      // As in torch: a jump on data that is split is none of the breaks.
      const bool jumps =
          is_row(b, GB0170) && t.stack.frames.size() == 1 && t.frame().instruction().op == Opcode::POP_JUMP_IF;
      PyRef message = break_parts_call(again ? "unlogged_break" : jumps ? "resumed_jump" : "resumed", b, frames);
      if (!again) count_break(request.code, b);
      if (is_row(b, GB0170)) message = py_str("generic_jump TensorVariable()");  // as logs call it; explain() shows all
      const SymbolicFrame& root = *t.stack.frames.front();
      speculation.breaks[t.stack.ordinal] = {root.current, text_of(message.get()), without_columns(frames), b.code};
      if (config.trace_more) carried.take(t.recorder.guards, std::move(t.recorder.sources));
      if (logs.info) {
        const UserFrame& at = frames.back().frame;
        report("log_info",
               {py_str(fmt::format("Restarting analysis due to {}:{} in {}", at.file, at.line, at.function))});
      }
      return true;
    }
    if (leave_before(t, b, frames)) return true;
    give_up();
    count_break(request.code, b, place_name(verdict));
    if (verdict == BreakVerdict::SkipLoop) {
      break_parts_call("skipped_in_loop", b, frames);
      report("skip_in_loop",
             {frames_list(PlacedFrames{frames.front()}), py_str(name), py_str(file), py_int(first_line)});
      const SymbolicFrame& root = *t.stack.frames.front();
      if (std::ranges::any_of(root.contexts, [](auto& c) { return c.manager->kind != ValueKind::Context; }))
        report("count", {py_str("graph_break"),
                         break_parts_call("unlogged_break", make_break<GB0066>(active_managers(root)), frames)});
      return false;
    }
    PyRef error = break_parts_call("skipped", b, frames), cause;
    if (verdict == BreakVerdict::SkipContext) {
      cause = error;
      error = break_parts_call("left_plain", make_break<GB0066>(active_managers(*t.stack.frames.front())), frames);
    }
    if (logs.debug) log_no_checkpoint();
    report("skip_at_break", {py_str(name), py_str(file), py_int(first_line), error, cause});
    return false;
  }

  // Nothing of this call can be compiled. With config.trace_more that says little of others, until it is many.
  static constexpr int kMostFailures = 16;
  void give_up() {
    if (!config.trace_more) notes.broke = true;
    if (!config.trace_more || ++notes.failures < kMostFailures) return;
    if (notes.entries_made > 0)
      notes.limited = request.options;
    else
      notes.broke = true;
  }

  // Entries that stop at a break are for calls that look alike, while there are few of them.
  static constexpr int kMostCarried = 16;
  void keep_apart(Tracer& t, const TraceResult& end) {
    notes.general =
        config.trace_more && end.end == TraceResult::End::Break && (carried.empty() || notes.carried >= kMostCarried);
    if (carried.empty() || end.end != TraceResult::End::Break || notes.general) return;
    carried.give(t.recorder.guards, t.recorder.sources);
    ++notes.carried;
  }

  // With config.trace_more what the frame does before a break at any place is compiled; true: restart, as above.
  bool leave_before(Tracer& t, const GraphBreak& b, const PlacedFrames& frames) {
    if (!config.trace_more || b.looks_at_frame || (t.finishing && ++unfinished > kMostUnfinished)) return false;
    const auto body = decoded_body(request.code);
    const FrameStack::RootPlace at = place_to_leave(t, *body);
    if (at.instruction < 0) return false;
    PyRef message = break_parts_call("resumed", b, frames);
    count_break(request.code, b);
    speculation.breaks[at.ordinal] = {at.instruction, text_of(message.get()), without_columns(frames), b.code, true};
    if (!t.finishing) carried.take(t.recorder.guards, std::move(t.recorder.sources));
    return true;
  }

  EntryRef on_skip(Tracer& t, const SkipFrame& s) {
    if (s.user_request && t.stack.frames.size() > 1) {
      // In an inlined callee it becomes a break of the caller at the call.
      PyObject* code = t.frame().code.get();
      GraphBreak b;
      b.code = -1;
      b.type = "SKIPPED INLINING " + repr_of(code) + ": " + s.reason;
      if (logs.debug) report("log_debug", {py_str(b.type)});
      t.stack.frames.pop_back();
      return on_break(t, b) ? run_again() : EntryRef();
    }
    if (config.fullgraph && !s.user_request && !s.no_content) raise_internal(t, s.reason);
    notes.skip = true;
    note_plain_reason(request.code, "skipped " + s.reason);
    if (logs.debug || s.user_request)
      report(s.user_request ? "skip_asked" : "log_skipping",
             {py_str(s.reason), py_str(name), py_str(file), py_int(first_line)});
    return {};
  }

  EntryRef run_again() { return ++speculation.restarts, run(); }

  // The exception would leave the frame: plain Python raises it for real. True: restart, as above.
  bool on_raise(Tracer& t, const TracedRaise& e) {
    auto* x = as<ExceptionValue>(e.exception);
    const std::string type = x ? type_name(x->type) : "Exception";
    GraphBreak b = make_break<GB0088>(type + "(" + (x ? print_list(x->args) : std::string("[]")) + ")");
    const auto frames = x && !x->raised_at.empty() ? x->raised_at : placed_frames(t);
    if (type == "AssertionError" && !frames.empty() &&
        (failed_assert(t.frame()) || is_line_of_assert(frames.back().frame))) {
      if (is_at(t.sizes.test, frames.back().frame))
        b = make_break<GB0002>(t.sizes.test.text());
      else if (config.fullgraph || frames.size() > 1)
        b = make_break<GB0034>("ConstantVariable(bool: False)");
    }
    if (config.fullgraph) raise_unsupported(b, frames);
    if (leave_before(t, b, frames)) return true;
    give_up();
    count_break(request.code, b, "raise");
    PyRef error = break_parts_call("left_plain", b, frames);
    report("skip_at_break", {py_str(name), py_str(file), py_int(first_line), error});
    return false;
  }

  // Shapes or dtypes do not fit: the plain program raises the same at the same line.
  EntryRef on_op_error(Tracer& t, const OpError& e) {
    if (e.kind == ErrorKind::Memory || e.kind == ErrorKind::Device || e.kind == ErrorKind::DeviceMemory) {
      // not the program's, and not ours
      raise_op_error(e);
      throw PythonError{};
    }
    auto* rule = dynamic_cast<const FailedFakeRun*>(&e);
    if (!rule) raise_op_error(e);
    PyRef cause = rule ? rule->error : take_exception();
    auto* failed = dynamic_cast<const FailedCall*>(&e);
    const std::string call = rule ? rule->call : failed ? failed->call : "an operation";
    PyRef error = report("runtime_error", {py_str(call), cause, frames_list(places(t))});
    if (!config.fullgraph || (!rule && e.kind == ErrorKind::NotImplemented)) {  // the latter is for a kernel to say
      note_plain_reason(request.code, "operation failed");
      report("skip_after", {py_str(name), py_str(file), py_int(first_line), error});
      return {};
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }

  [[noreturn]] void raise_internal(Tracer& t, const std::string& what) {
    PyRef error = report("internal_error", {py_str(what), frames_list(places(t))});
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }

  EntryRef on_internal(Tracer& t, const std::string& what) {
    if (config.fullgraph) raise_internal(t, what);
    notes.broke = true;
    note_plain_reason(request.code, "internal error: " + what);
    PyRef error = report("internal_error", {py_str(what), frames_list(places(t))});
    report("warn_internal", {py_str(name), py_str(file), py_int(first_line), error});
    return {};
  }
};

// A Python exception that was raised while nothing was traced to its end. What is meant for the user, and the
// interpreter's or a signal handler's, go on; after anything else the frame runs as plain Python. Of what the program
// may raise, or lack of memory, stack, files or modules, nobody is told; the rest is a defect.
void clear_programs_own(const FrameRequest& r) {
  PyRef error = take_exception();
  PyRef ours = checked(PyObject_GetAttrString(own_module("minidynamo._dynamo.exc").get(), "TorchDynamoException"));
  const auto is = [&](PyObject* type) { return PyErr_GivenExceptionMatches(error.get(), type) != 0; };
  if (config_snapshot(*r.options).suppress_errors && report("suppressed", {error}).get() == Py_True)
    return note_plain_reason(r.code, "the backend failed");
  const bool short_of = is(PyExc_MemoryError) || is(PyExc_RecursionError);  // nothing more can be asked then
  if (!is(PyExc_Exception) || is(ours.get()) || (!short_of && report("came_from_outside", {error}).get() == Py_True)) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }
  for (PyObject* type : {PyExc_TypeError, PyExc_ValueError, PyExc_MemoryError, PyExc_RecursionError, PyExc_OSError,
                         PyExc_ImportError, PyExc_Warning})
    if (is(type)) {
      note_plain_reason(r.code, std::string("raised ") + Py_TYPE(error.get())->tp_name);
      return;
    }
  note_plain_reason(r.code, std::string("internal error: ") + Py_TYPE(error.get())->tp_name);
  report("warn_internal",
         {py_str(text_of(r.code->co_name)), py_str(text_of(r.code->co_filename)), py_int(r.code->co_firstlineno),
          report("internal_error", {error, frames_list(PlacedFrames())})});
}

// An exception that is set stays set.
void forget_compile_id() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    report("set_compile_id", {py_str("")});
  } catch (const PythonError&) {
    drop_exception();
  } catch (const std::bad_alloc&) {
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void reset_frame_ids() { next_frame_id.store(0); }
int next_name_number() {
  static std::atomic<int> counter{0};
  return counter.fetch_add(1);
}

EntryRef compile_frame(const FrameRequest& request) {
  Disarmed plain;
  const std::shared_ptr<FrameNotes> held = own_frame_notes(request.code);  // reset() may come meanwhile
  FrameNotes& notes = *held;
  // The function of a comprehension was traced with it, and had nothing to capture.
  if (notes.compiling || (request.options->fullgraph && is_comprehension(*decoded_body(request.code)))) return {};
  struct Busy {
    FrameNotes& n;
    explicit Busy(FrameNotes& n) : n(n) { n.compiling = true; }
    ~Busy() {
      n.compiling = false;
      forget_compile_id();
    }
  } busy(notes);
  if (notes.frame_id < 0) notes.frame_id = next_frame_id.fetch_add(1);
  report("count", {py_str("frames"), py_str("total")});
  EntryRef e;
  try {
    Compilation c(request, notes);
    const int least = std::min(c.config.recompile_limit, c.config.accumulated_recompile_limit);
    if (least <= 0 && over_limit(request, notes, c.config)) return {};
    if (!tables_are_ready()) return {};
    e = c.run();
  } catch (const PythonError&) {
    if (request.options->fullgraph) throw;
    clear_programs_own(request);
  }
  report("count", {py_str("frames"), py_str("ok")});
  return e;
}

}  // namespace md
