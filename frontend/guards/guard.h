// Guards: what a compiled entry assumed. Recorded on sources while tracing; compiled into one flat list of operations
// per entry.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/guards/source.h"
#include "ir/graph/graph.h"

namespace md {

// One struct per kind in this folder; printed names are the reference's.
enum class GuardKind : std::uint8_t {
#define MD_GUARD(name) name,
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
};

struct Guard {
  GuardKind kind;
  SourceRef source = nullptr;  // null: ambient state
  PyRef object;                // payload by kind
  std::int64_t value = 0;
  TensorType tensor;  // TensorMatch
  SourceRef other = nullptr;
  std::vector<SourceRef> others;
  std::shared_ptr<const struct SizeCondition> sizes;  // SizeAssumption
  UserFrame where;                                    // the user line that needed it
};

class CompiledGuards;  // immutable, flat; holds what it needs of the sources

// Collects during a trace; equal guards are recorded once, the first place wins. GlobalState guards note the state at
// the time they are added.
class GuardSet {
 public:
  void add(Guard g);
  bool empty() const { return guards_.empty(); }
  const std::vector<Guard>& guards() const { return guards_; }

 private:
  std::vector<Guard> guards_;
  std::unordered_multimap<std::size_t, std::size_t> index_;
};

// How the tensors at `sources` (two or more, all of which load as tensors) share memory now: which do, and how far
// apart they lie; that all others are apart.
Guard aliasing_guard(const std::vector<SourceRef>& sources, const FrameArgs& args);

// A source that no longer loads fails its guard. A guard that is neither ambient nor on a source says nothing and is
// left out. `wanted`: sources whose objects check_and_load() hands out; `present`: others that must load. Throws
// PythonError when out of memory.
std::shared_ptr<const CompiledGuards> compile_guards(const GuardSet& guards, const SourceTable& sources,
                                                     const std::vector<SourceRef>& wanted = {},
                                                     const std::vector<SourceRef>& present = {});
// The hot path. Runs no user code, allocates nothing, leaves no exception set.
bool check(const CompiledGuards& p, const FrameArgs& args);
// The same, and on success values[i] is the object at wanted[i], borrowed: valid until Python code runs.
std::size_t wanted_count(const CompiledGuards& p);
bool check_and_load(const CompiledGuards& p, const FrameArgs& args, PyObject** values);
// True if one refers weakly to an object that has died since: it can never pass again.
bool is_dead(const CompiledGuards& p);
// Calls `visit` on every Python object they own (tp_traverse of its owner).
int visit_held(const CompiledGuards& p, visitproc visit, void* arg);
// Text of the first failing guard as the recompile log prints it ("tensor 'x' size mismatch at index 0. expected 3,
// actual 4"); empty if all pass.
std::string explain_failure(const CompiledGuards& p, const FrameArgs& args, bool with_comment);
// "GUARDS:\n\nTREE_GUARD_MANAGER:\n..." with the latency line left to the caller.
std::string tree_text(const CompiledGuards& p);
// Rows for explain().out_guards: name, source kind, create function, code list.
struct GuardRow {
  std::string name, source, create_fn;
  std::vector<std::string> code;
};
std::vector<GuardRow> guard_rows(const CompiledGuards& p);
}  // namespace md
