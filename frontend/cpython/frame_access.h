// PEP 523: what the frame hook needs of CPython's frames, and the rules that keep an armed hook invisible.
#pragma once

#include "frontend/cpython/py_ref.h"

struct _PyInterpreterFrame;

namespace md {

using Frame = _PyInterpreterFrame;
using EvalFrame = PyObject* (*)(PyThreadState*, Frame*, int throwflag);

// Checks the frame layout with a probe function and remembers the hook. False: something does not look as compiled for;
// arming then has no effect. Call once, with the GIL held; raises nothing.
bool install_frame_hook(EvalFrame hook);

// For tests: another hook, or null for none. Returns the one before.
EvalFrame exchange_frame_hook(EvalFrame hook);

// Arms for this thread until the matching disarm. The eval function belongs to the interpreter, so other threads'
// frames reach the hook too: it must pass them through unless is_armed_here().
void arm();
void disarm();
// The hook is called whether or not a thread is armed just now: frames of new threads are not missed while all others
// are inside a Disarmed.
void keep_hook(bool on);
bool is_armed_here();

class Armed {
 public:
  Armed() { arm(); }
  ~Armed() { disarm(); }
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};
// Nothing is hooked for this thread inside (tracing, guard evaluation, callbacks of ours).
class Disarmed {
 public:
  Disarmed();
  ~Disarmed();
  Disarmed(const Disarmed&) = delete;
  Disarmed& operator=(const Disarmed&) = delete;

 private:
  int depth_;
};
bool is_disarmed_here();  // inside a Disarmed
// This thread runs no more Python code; what it had armed is taken back.
void end_thread();

// A function call about to start (no generator being resumed, no class or module body, no generator or coroutine
// function): the frame whose fields below are valid and that finish_frame can end.
bool is_function_entry(Frame* frame, int throwflag);
PyCodeObject* frame_code(Frame* frame);
PyObject* frame_globals(Frame* frame);
PyObject* frame_builtins(Frame* frame);
PyFunctionObject* frame_function(Frame* frame);
// localsplus: arguments are in place, everything else is null, also captured parameters are not yet cells and free
// slots are empty (the cells are in the function's __closure__). The caller may clear the slots.
PyObject** frame_slots(Frame* frame);

// Runs the frame as if there were no hook, but hooks calls it makes.
PyObject* pass_through(PyThreadState* thread, Frame* frame, int throwflag);
// CPython's own evaluation, nothing else.
PyObject* run_default(PyThreadState* thread, Frame* frame, int throwflag);
// Ends an entered but unexecuted frame with `result` (stolen), or with the exception that is set if null.
PyObject* finish_frame(PyThreadState* thread, Frame* frame, PyObject* result);

// A trace or profile function, or (3.12+) a monitoring tool that wants to see the calls, lines or instructions of
// `code`.
bool is_observed(PyThreadState* thread, PyCodeObject* code);
// An observed frame runs as if there were no hook: with one installed CPython does without some specialised
// instructions, which report other events. (Where there are other threads, they would lose the hook as well.)
PyObject* run_observed(PyThreadState* thread, Frame* frame, int throwflag);

// Whether less than `reserve` bytes of this thread's C stack are left; of a small stack, less than a quarter.
bool is_stack_short(std::size_t reserve = 1 << 20);

}  // namespace md
