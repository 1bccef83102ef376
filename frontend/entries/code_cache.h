// What is kept for a code object: its compiled entries. Stored in the code object's co_extra and freed with it. All of
// it is used with the GIL held.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "frontend/cpython/py_ref.h"
#include "ir/core/small_vector.h"
#include "ir/run/observed_parts.h"

namespace md {

class CompiledGuards;
class CompileOptions;  // the options of one compile() call; compared by address
struct FrameArgs;

// What an entry runs; the frontend derives from it.
class CompiledCode {
 public:
  virtual ~CompiledCode() = default;
};

struct Entry {
  const CompileOptions* options = nullptr;
  std::shared_ptr<const CompiledGuards> guards;
  std::shared_ptr<CompiledCode> compiled;
  int frame_id = 0;
  int entry_id = 0;
  bool last = false;               // tried after all others: it fits calls that they are for
  bool compile_time_code = false;  // of the program, has run in the trace
  bool removed = false;            // no longer in the cache; an in-flight call may still hold it
  SiteSlot site;

 private:
  friend class EntryRef;
  int refs_ = 0;  // changed with the GIL held only
};

class EntryRef {
 public:
  EntryRef() = default;
  explicit EntryRef(Entry* e) : e_(e) { ++e->refs_; }
  EntryRef(const EntryRef& o) : e_(o.e_) {
    if (e_) ++e_->refs_;
  }
  EntryRef(EntryRef&& o) noexcept : e_(std::exchange(o.e_, nullptr)) {}
  EntryRef& operator=(EntryRef o) noexcept {
    std::swap(e_, o.e_);
    return *this;
  }
  ~EntryRef() {
    if (e_ && --e_->refs_ == 0) delete e_;
  }
  Entry* get() const { return e_; }
  Entry* operator->() const { return e_; }
  Entry& operator*() const { return *e_; }
  explicit operator bool() const { return e_ != nullptr; }

 private:
  Entry* e_ = nullptr;
};

// Base of whatever else the frontend remembers per code object (frame id, skip marks, automatic dynamism).
class CodeNotes {
 public:
  virtual ~CodeNotes() = default;
  // What reset() leaves: null, or notes that say what the code is, which nobody would find out again.
  virtual std::shared_ptr<CodeNotes> kept() const { return nullptr; }
  // The options die; another one may get its address.
  virtual void forget(const CompileOptions*) {}
};

// Lives as long as the code object. The notes do not: reset() drops them whenever Python code or other threads run.
struct CodeState {
  std::vector<EntryRef> entries;            // most recently used first; as they were made once there is an index
  const CompileOptions* limited = nullptr;  // has as many entries as it may have
  unsigned misses = 0;                      // look-ups since the last one that found something
  std::shared_ptr<CodeNotes> notes;
};

// Null if nothing is known of this code.
CodeState* code_state(PyCodeObject* code);
// Made on first use. Throws PythonError.
CodeState& ensure_code_state(PyCodeObject* code);

// An entry under `options` whose guards pass; empty if there is none. Of a few entries they are tried most recently
// used first; of more an index picks those that may fit (entry_index.h). Runs no Python code, sets no exception. Guards
// may take long (a large set is compared): where no entry will come any more, most look-ups after many misses in a row
// find nothing without asking them.
EntryRef find_entry(PyCodeObject* code, const CompileOptions* options, const FrameArgs& args);
// The same, and values[i] is the object at the i-th source the entry's guards were asked to hand out (compile_guards'
// `wanted`), borrowed: valid until Python code runs.
using LoadedValues = SmallVector<PyObject*, 16>;
EntryRef find_entry(PyCodeObject* code, const CompileOptions* options, const FrameArgs& args, LoadedValues& values);
EntryRef find_entry(CodeState& state, const CompileOptions* options, const FrameArgs& args, LoadedValues& values);
// Throws PythonError; nothing is visible then.
EntryRef insert_entry(PyCodeObject* code, Entry entry);
// Entries under `options` (null: under all), newest (highest entry id) first: recompile reasons, explain.
std::vector<EntryRef> entries_of(PyCodeObject* code, const CompileOptions* options);
EntryRef newest_entry(PyCodeObject* code, const CompileOptions* options);
// Drops entries whose guards refer to an object that has died: they can never pass again.
void drop_dead_entries(PyCodeObject* code);
// The same, for use at every compilation: where there are many entries it looks now and then only.
void drop_dead_entries_in_turn(PyCodeObject* code);

void drop_entries(PyCodeObject* code);  // all of them

// Removes every entry made under some options, wherever it is (the options die), or every entry and all notes
// (reset()).
void remove_entries_under(const CompileOptions* options);
void clear_code_cache();

}  // namespace md
