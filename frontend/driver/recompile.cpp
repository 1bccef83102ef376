// Limits on recompilation, entries that die, what to generalise, and the report of a recompilation.
#include "frontend/driver/recompile.h"

#include <algorithm>
#include <bit>
#include <map>

#include "frontend/cpython/frame_access.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/report/events.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"

namespace md {

namespace {

// With config.trace_more a function that has as many entries as it may have gets more general ones: at the source where
// most of its entries do not fit, nothing is guarded any more, and code that looks at what is there breaks.
constexpr int kGeneralisations = 8, kMoreEntries = 16;

// So few compilations in vain are not worth a look at the configuration.
constexpr std::size_t kFewInVain = 16;

bool generalise(const FrameRequest& r, FrameNotes& notes, const TraceConfig& config) {
  if (!config.trace_more || r.options->fullgraph) return false;
  if (notes.entries_made < config.recompile_limit + kMoreEntries * notes.generalised) return true;
  if (notes.generalised >= kGeneralisations) return false;
  std::map<std::string, int> failures;
  for (auto& e : entries_of(r.code, r.options)) {
    const std::string source = first_failure(*e->guards, r.args).source;
    if (!source.empty() && !source.starts_with("___") && !notes.varying.contains(source)) ++failures[source];
  }
  const auto most = std::ranges::max_element(failures, {}, [](const auto& f) { return f.second; });
  if (most == failures.end()) return false;
  notes.varying.insert(most->first);
  ++notes.generalised;
  return true;
}

// (what has changed, its source, guard kind, what it was in the entries that say so, what it is now, where a number
// stands) of the place where most entries fail.
PyRef what_changes(const std::vector<EntryRef>& entries, const FrameArgs& args) {
  std::map<std::string, std::vector<Failure>> places;
  for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
    Failure f = first_failure(*(*e)->guards, args);
    if (!f.text.empty()) places[f.place.empty() ? f.text : f.place].push_back(std::move(f));
  }
  const auto most = std::ranges::max_element(places, {}, [](const auto& p) { return p.second.size(); });
  if (most == places.end()) return PyRef::borrow(Py_None);
  PyRef before = checked(PyList_New(0));
  for (const Failure& f : most->second)
    if (!f.expected.empty()) checked(PyList_Append(before.get(), py_str(f.expected).get()));
  const Failure& last = most->second.back();
  return checked(PyTuple_Pack(6, py_str(most->first).get(), py_str(last.source).get(), py_str(last.kind).get(),
                              before.get(), py_str(last.actual).get(), py_str(last.number).get()));
}

}  // namespace

bool compiled_in_vain(const FrameRequest& r, const FrameNotes& notes) {
  const CodeState* state = code_state(r.code);
  if (!state || r.options->fullgraph || state->misses <= state->entries.size() + kFewInVain) return false;
  const unsigned misses = state->misses;
  const auto most = static_cast<std::size_t>(std::max(0, config_snapshot(*r.options).accumulated_recompile_limit));
  if (misses <= state->entries.size() + most || std::has_single_bit(misses)) return false;
  if (const EntryRef newest = newest_entry(r.code, r.options); newest && is_dead(*newest->guards))
    report("on_short_lives", {py_int(misses), py_str(r.printed_name), py_str(text_of(r.code->co_filename)),
                              py_int(r.code->co_firstlineno), py_str(explain_failure(*newest->guards, r.args, false)),
                              py_int(notes.frame_id)});
  note_plain_reason(r.code, "entries die with their objects");
  return true;
}

bool over_limit(const FrameRequest& r, FrameNotes& notes) {
  const CodeState* state = code_state(r.code);
  return state && !state->entries.empty() && over_limit(r, notes, config_snapshot(*r.options));
}

bool over_limit(const FrameRequest& r, FrameNotes& notes, const TraceConfig& config) {
  const CodeState* state = code_state(r.code);
  const int least = std::min(config.recompile_limit, config.accumulated_recompile_limit);
  if ((state ? static_cast<int>(state->entries.size()) : 0) < least) return false;
  drop_dead_entries(r.code);
  const auto entries = entries_of(r.code, r.options);
  if ((entries.empty() && least > 0) || generalise(r, notes, config)) return false;
  const auto all = state ? state->entries.size() : 0;
  const bool local = static_cast<int>(entries.size()) >= config.recompile_limit;
  if (!local && static_cast<int>(all) < config.accumulated_recompile_limit) return false;
  if (notes.limited == r.options) return true;  // as was reported
  const char* name = local ? "recompile_limit" : "accumulated_recompile_limit";
  const int value = local ? config.recompile_limit : config.accumulated_recompile_limit;
  std::string reason = "None";
  if (!entries.empty())
    reason = std::to_string(notes.frame_id) + "/" + std::to_string(entries.front()->entry_id) + ": " +
             explain_failure(*entries.front()->guards, r.args, false);
  report("on_limit", {py_str(name), py_int(value), py_str(r.printed_name), py_str(text_of(r.code->co_filename)),
                      py_int(r.code->co_firstlineno), py_str(reason), py_int(notes.frame_id),
                      what_changes(entries, r.args), py_int(r.options->dynamic)});
  // It is counted when it is made, whether it is raised or not.
  PyRef cause = break_parts_call("left_plain", make_break<GB0039>(std::string(name)), std::vector<UserFrame>{});
  if (r.options->fullgraph || config.fail_on_recompile_limit_hit) {
    PyRef error =
        report("limit_error", {py_str(name), PyRef::borrow(r.options->fullgraph ? Py_True : Py_False), cause});
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    throw PythonError{};
  }
  if (config.skip_code_recursive_on_limit) notes.skip_recursively = true;
  CodeState& limited = ensure_code_state(r.code);
  notes.limited = limited.limited = r.options;
  limited.misses = 0;
  note_plain_reason(r.code, name);
  return true;
}

void CompileReport::before(const FrameNotes& notes) {
  const EntryRef newest = newest_entry(request_.code, request_.options);
  if (!newest) return;
  failure_ = first_failure(*newest->guards, request_.args);
  const PyRef wanted = report("wants_recompiles", {});
  if (wanted.get() == Py_True) log_failures(notes);
  started_ = std::chrono::steady_clock::now();
}

void CompileReport::log_failures(const FrameNotes& notes) const {
  const FrameRequest& r = request_;
  const bool every = log_switches().recompiles_verbose;
  PyRef failures = checked(PyList_New(0));
  for (auto& e : entries_of(r.code, r.options)) {
    const std::string name = std::to_string(notes.frame_id) + "/" + std::to_string(e->entry_id) + ": ";
    PyRef texts = checked(PyList_New(0));
    if (every)
      for (const std::string& text : explain_failures(*e->guards, r.args))
        checked(PyList_Append(texts.get(), py_str(name + text).get()));
    else
      checked(PyList_Append(texts.get(), py_str(name + explain_failure(*e->guards, r.args, true)).get()));
    checked(PyList_Append(failures.get(), texts.get()));
  }
  report("on_recompile",
         {py_str(r.printed_name), py_str(text_of(r.code->co_filename)), py_int(r.code->co_firstlineno), failures});
}

void CompileReport::after(const Entry& made) const {
  const FrameRequest& r = request_;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started_;
  const Failure& f = failure_;
  Disarmed plain;
  try {
    PyRef changed = PyRef::borrow(Py_None);
    if (!f.text.empty())
      changed = checked(PyTuple_Pack(7, py_str(f.text).get(), py_str(f.place).get(), py_str(f.source).get(),
                                     py_str(f.kind).get(), py_str(f.expected).get(), py_str(f.actual).get(),
                                     py_str(f.number).get()));
    report("on_compiled", {py_int(made.frame_id), py_int(made.entry_id), py_str(r.printed_name),
                           py_str(text_of(r.code->co_filename)), py_int(r.code->co_firstlineno),
                           checked(PyFloat_FromDouble(took.count())), changed, py_int(r.options->dynamic)});
  } catch (const PythonError&) {
    // The entry is made: what could not be told of it is no reason to fail.
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw;
    drop_exception();
  }
}

}  // namespace md
