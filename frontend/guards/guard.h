// Guards: what a compiled entry assumed. Recorded on sources while tracing; compiled into one flat program per entry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/source.h"
#include "ir/graph.h"

namespace md {

// One struct per kind in frontend/guards/<kind>.h (template <bool explain> check); printed names are the reference's.
enum class GuardKind : std::uint8_t {
  TypeMatch,       // TYPE_MATCH: exact type; object = the type
  IdMatch,         // ID_MATCH: identity; object
  EqualsMatch,     // EQUALS_MATCH: exact type and equal constant; object
  NoneMatch, TrueMatch, FalseMatch,
  Nan,             // float NaN
  LengthCheck,     // LENGTH_CHECK (list, tuple, ...): value
  DictLength,      // DICT_LENGTH: value
  DictContains, DictNotContains,  // key
  DictKeyOrder,    // object = tuple of keys, in order
  SetMatch,        // object = frozenset of constants
  SetContains, SetNotContains,
  TensorMatch,     // tensor: dtype, sizes, strides, requires_grad, exact Python type
  NoHasattr,       // NO_HASATTR: raw attribute is absent; key
  Hasattr,         // raw attribute is present; key
  Aliasing,        // LAMBDA_GUARD a is b: other
  NoAliasing,      // NO_TENSOR_ALIASING: others: distinct storages (or the exact overlap relation recorded)
  NotPresent,      // the source itself cannot be loaded (global or attribute absent)
  GlobalState,     // GLOBAL_STATE: grad mode, default dtype, num threads
  DefaultDevice,   // DEFAULT_DEVICE
  TorchFunctionModeStack,  // TORCH_FUNCTION_MODE_STACK
  SizeGuard,       // LAMBDA_GUARD on symbolic sizes; text + program over input sizes
};

struct Guard {
  GuardKind kind;
  SourceRef source = nullptr;  // null: ambient state
  PyRef object;                // payload by kind
  std::int64_t value = 0;
  TensorType tensor;           // TensorMatch
  SourceRef other = nullptr;
  std::vector<SourceRef> others;
  UserFrame where;             // the user line that needed it
};

class GuardProgram;  // immutable, flat; holds what it needs of the sources

// Collects during a trace; equal guards are recorded once.
class GuardSet {
 public:
  void add(Guard g);
  bool empty() const { return guards_.empty(); }
  const std::vector<Guard>& guards() const { return guards_; }

 private:
  std::vector<Guard> guards_;
};

// Throws nothing; a source that no longer loads fails its guard.
std::shared_ptr<const GuardProgram> compile_guards(const GuardSet& guards, const SourceTable& sources);
// The hot path. Runs no user code, allocates nothing, leaves no exception set.
bool check(const GuardProgram& p, const FrameArgs& args);
// True if the program refers weakly to an object that has died since: it can never pass again.
bool is_dead(const GuardProgram& p);
// Calls `visit` on every Python object the program owns (tp_traverse of its owner).
int visit_held(const GuardProgram& p, visitproc visit, void* arg);
// Text of the first failing guard as the recompile log prints it ("tensor 'x' size mismatch at index 0. expected 3,
// actual 4"); empty if all pass.
std::string explain_failure(const GuardProgram& p, const FrameArgs& args, bool with_comment);
// "GUARDS:\n\nTREE_GUARD_MANAGER:\n..." with the latency line left to the caller.
std::string tree_text(const GuardProgram& p);
// Rows for explain().out_guards: name, source kind, create function, code list.
struct GuardRow {
  std::string name, source, create_fn;
  std::vector<std::string> code;
};
std::vector<GuardRow> guard_rows(const GuardProgram& p);

// The ambient state GLOBAL_STATE compares (thread-local grad mode etc. live in frontend/tensors/state.h).
}  // namespace md
