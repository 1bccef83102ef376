#include "frontend/cpython/interpreter_lock.h"

#include <Python.h>
#include <unistd.h>

#include "ir/long_work.h"

namespace md {
namespace {

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// Where there are subinterpreters the check alone says yes in any thread; threads of ours have no state.
void* leave() { return PyGILState_GetThisThreadState() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; }

// A daemon thread that comes back while the interpreter ends must not go on; CPython would end it by unwinding its
// stack, which C++ turns into the end of the process.
void enter(void* left) {
  while (is_finalizing()) pause();
  PyEval_RestoreThread(static_cast<PyThreadState*>(left));
}

}  // namespace

void install_interlude() { set_interlude({&leave, &enter}); }

}  // namespace md
