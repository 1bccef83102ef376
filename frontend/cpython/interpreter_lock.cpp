// Hands the GIL's release and return to `ir`, which knows no Python, and tells when the interpreter ends.
#include "frontend/cpython/interpreter_lock.h"

#include <Python.h>

#include "ir/run/long_work.h"

namespace md {
namespace {

// Where there are subinterpreters the check alone says yes in any thread; threads of ours have no state.
void* leave() { return PyGILState_GetThisThreadState() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

void enter(void* left) {
  or_sleep_at_exit([&] { PyEval_RestoreThread(static_cast<PyThreadState*>(left)); });
}

}  // namespace

bool is_interpreter_ending() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

void install_host_lock() { set_host_lock({&leave, &enter}); }

}  // namespace md
