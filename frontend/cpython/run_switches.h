// What makes compiled functions run as plain Python, or in another way than they were compiled for.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/cpython/py_ref.h"

namespace md {

class CompileOptions;

// compiler.set_stance(): what compiled functions do.
enum class Stance : std::uint8_t { Default, ForceEager, EagerOnRecompile, FailOnRecompile, EagerThenCompile };

// Stances and switches that make compiled functions run as plain Python.
struct RunSwitches {
  unsigned disabling = 0;  // what may disable compiled functions in some thread or context; see is_disabled_here
  Stance stance = Stance::Default;
  bool skip_guard_eval_unsafe = false;   // a miss is an error
  CompileOptions* everything = nullptr;  // `run --everything`: what frames outside of compiled functions compile in
  bool forces_backend = false;           // compiled functions use this one instead of their own
  PyRef backend;                         // a callable, or null for one of ours
  std::string backend_name;
};
extern RunSwitches switches_in_use;  // written with the GIL held
inline RunSwitches& run_switches() { return switches_in_use; }

// config.disable, or a call of a function that is never compiled, in this context and thread. Asked only where
// `disabling` is not 0.
bool is_disabled_here();
// config.compile_while_traced in this context.
bool compiles_while_traced();

// The process-wide values of these entries, and the ContextVar of patched ones; null: none of the two was ever patched.
void set_config_switches(bool disabled, bool while_traced, PyObject* patched);

// In this thread no compiled function runs compiled.
class DisabledHere {
 public:
  DisabledHere();
  ~DisabledHere();
  DisabledHere(const DisabledHere&) = delete;
  DisabledHere& operator=(const DisabledHere&) = delete;
};

}  // namespace md
