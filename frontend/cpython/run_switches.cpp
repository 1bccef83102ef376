// Process-wide and per-context switches (disable, stance), kept where a call tests them with one load.
#include "frontend/cpython/run_switches.h"

#include <utility>

namespace md {

RunSwitches switches_in_use;

namespace {

// Written with the GIL held.
struct ConfigSwitches {
  bool disabled = false;
  bool while_traced = false;
  PyObject* patched = nullptr;  // a ContextVar of a dict or None; kept for ever
};
constinit ConfigSwitches of_config;

constinit thread_local unsigned disabled_calls = 0;

// An entry as the current context sees it.
bool in_context(const char* name, bool process_wide) {
  if (!of_config.patched) return process_wide;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* found = nullptr;
  bool on = process_wide;
  if (PyContextVar_Get(of_config.patched, Py_None, &found) == 0) {
    const PyRef values = PyRef::steal(found);
    PyObject* const entry = PyDict_Check(values.get()) ? PyDict_GetItemString(values.get(), name) : nullptr;
    if (entry) on = PyObject_IsTrue(entry) == 1;
  }
  PyErr_Restore(type, value, traceback);
  return on;
}

bool may_disable() { return of_config.disabled || of_config.patched; }

}  // namespace

bool is_disabled_here() { return disabled_calls > 0 || in_context("disable", of_config.disabled); }

bool compiles_while_traced() { return in_context("compile_while_traced", of_config.while_traced); }

void set_config_switches(bool disabled, bool while_traced, PyObject* patched) {
  const unsigned before = may_disable() ? 1 : 0;
  of_config.disabled = disabled;
  of_config.while_traced = while_traced;
  if (patched && !of_config.patched) of_config.patched = Py_NewRef(patched);
  switches_in_use.disabling += (may_disable() ? 1 : 0) - before;
}

DisabledHere::DisabledHere() { ++disabled_calls, ++switches_in_use.disabling; }
DisabledHere::~DisabledHere() { --disabled_calls, --switches_in_use.disabling; }

}  // namespace md
