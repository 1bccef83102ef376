// The frame evaluation hook: when it is installed, how a frame returns or raises without running, recursion limits.
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include <opcode.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/frame_probe.h"
#include "frontend/cpython/internals.h"

namespace md {
namespace {

// Past this many nested pass-through frames, or with less stack than this, a frame runs with the hook taken out.
constexpr int kMaxNested = 200;
constexpr std::size_t kMinStack = 512 << 10;

EvalFrame installed_hook = nullptr;  // written once, GIL held
std::atomic<int> armed_threads{0};
std::atomic<int> suspensions{0};

struct ThreadCounts {
  int armed = 0;
  int nested_frames = 0;
  int disarmed = 0;
};
thread_local ThreadCounts counts;

// Makes the interpreter's eval function what the counters say. GIL held.
void apply() {
  const bool on = installed_hook && armed_threads.load() > 0 && suspensions.load() == 0;
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), on ? installed_hook : _PyEval_EvalFrameDefault);
}

#if PY_VERSION_HEX >= 0x030C0000
// CPython charges two units of C recursion for a frame that it would otherwise run without C recursion.
void give_back_recursion(PyThreadState* thread, int units) { thread->c_recursion_remaining += units; }
#else
void give_back_recursion(PyThreadState*, int) {}
#endif

// Long recursions: without the hook, Python calls need no C stack.
PyObject* run_suspended(PyThreadState* thread, Frame* frame, int throwflag) {
  ++suspensions;
  apply();
  PyObject* const result = _PyEval_EvalFrameDefault(thread, frame, throwflag);
  --suspensions;
  apply();
  return result;
}

#if PY_VERSION_HEX >= 0x030C0000
// A return instruction to send a frame to; the interpreter pops and frees the frame itself. Several units, since 3.12
// starts at the one after the pointer.
_Py_CODEUNIT* return_stub() {
  static _Py_CODEUNIT stub[4] = {};
  if (stub[0].op.code == 0) {
    for (_Py_CODEUNIT& unit : stub) unit.op.code = RETURN_VALUE;
  }
  return stub;
}
#endif

#if PY_VERSION_HEX >= 0x030C0000
// A pointer before the code makes the frame count as not started: no traceback entry, no handler. 3.12 starts there.
PyObject* fail_frame(PyThreadState* thread, Frame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  frame->instr_ptr = _PyCode_CODE(frame_code(frame)) - 1;
#endif
  return _PyEval_EvalFrameDefault(thread, frame, 1);
}
#endif

}  // namespace

bool install_frame_hook(EvalFrame hook) {
  if (!probe_frames()) return false;
  installed_hook = hook;
  return true;
}

EvalFrame exchange_frame_hook(EvalFrame hook) {
  const EvalFrame before = std::exchange(installed_hook, hook);
  apply();
  return before;
}

void arm() {
  if (counts.armed++ == 0 && armed_threads.fetch_add(1) == 0) apply();
}

void disarm() {
  if (--counts.armed == 0 && armed_threads.fetch_sub(1) == 1) apply();
}

bool is_armed_here() { return counts.armed > 0; }

void keep_hook(bool on) {
  if (on ? armed_threads.fetch_add(1) == 0 : armed_threads.fetch_sub(1) == 1) apply();
}

Disarmed::Disarmed() : depth_(counts.armed) {
  counts.armed = 0;
  ++counts.disarmed;
  if (depth_ > 0 && armed_threads.fetch_sub(1) == 1) apply();
}

Disarmed::~Disarmed() {
  if (depth_ > 0 && armed_threads.fetch_add(1) == 0) apply();
  counts.armed = depth_;
  --counts.disarmed;
}

bool is_disarmed_here() { return counts.disarmed > 0; }

// The eval function stays as it is: the next change of the counters sets it, with the GIL held.
void end_thread() {
  if (std::exchange(counts.armed, 0) > 0) armed_threads.fetch_sub(1);
}

PyCodeObject* frame_code(Frame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  return reinterpret_cast<PyCodeObject*>(frame->f_executable);
#else
  return frame->f_code;
#endif
}

PyFunctionObject* frame_function(Frame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  return reinterpret_cast<PyFunctionObject*>(frame->f_funcobj);
#else
  return frame->f_func;
#endif
}

PyObject* frame_globals(Frame* frame) { return frame->f_globals; }
PyObject* frame_builtins(Frame* frame) { return frame->f_builtins; }
PyObject** frame_slots(Frame* frame) { return frame->localsplus; }

bool is_function_entry(Frame* frame, int throwflag) {
  if (throwflag || frame->owner != FRAME_OWNED_BY_THREAD || frame->f_locals) return false;
  constexpr int kNeeded = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kGenerators = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const PyCodeObject* code = frame_code(frame);
  return (code->co_flags & kNeeded) == kNeeded && !(code->co_flags & kGenerators);
}

PyObject* run_default(PyThreadState* thread, Frame* frame, int throwflag) {
  return _PyEval_EvalFrameDefault(thread, frame, throwflag);
}

PyObject* pass_through(PyThreadState* thread, Frame* frame, int throwflag) {
  if (suspensions.load(std::memory_order_relaxed) > 0) return _PyEval_EvalFrameDefault(thread, frame, throwflag);
  ThreadCounts& here = counts;
  if (here.nested_frames >= kMaxNested || is_stack_short(kMinStack)) return run_suspended(thread, frame, throwflag);
  ++here.nested_frames;
  give_back_recursion(thread, 2);
  PyObject* const result = _PyEval_EvalFrameDefault(thread, frame, throwflag);
  give_back_recursion(thread, -2);
  --here.nested_frames;
  return result;
}

PyObject* run_observed(PyThreadState* thread, Frame* frame, int throwflag) {
  const bool alone = !PyThreadState_Next(PyInterpreterState_ThreadHead(thread->interp));
  if (!alone || suspensions.load(std::memory_order_relaxed) > 0) return pass_through(thread, frame, throwflag);
  return run_suspended(thread, frame, throwflag);
}

PyObject* finish_frame(PyThreadState* thread, Frame* frame, PyObject* result) {
#if PY_VERSION_HEX < 0x030C0000
  return result;  // the caller clears the frame
#else
  if (!result) return fail_frame(thread, frame);
  // Within bounds even if co_stacksize is 0: the data stack always keeps a free slot above the top frame, and nothing
  // runs before this one is popped.
  const int top = frame_code(frame)->co_nlocalsplus;
  frame->localsplus[top] = result;
  frame->stacktop = top + 1;
#if PY_VERSION_HEX >= 0x030D0000
  frame->instr_ptr = return_stub();
#else
  frame->prev_instr = return_stub();
#endif
  return _PyEval_EvalFrameDefault(thread, frame, 0);
#endif
}

bool is_observed(PyThreadState* thread, PyCodeObject* code) {
  return thread->c_tracefunc || thread->c_profilefunc || md_is_monitored(code);
}

bool is_stack_short(std::size_t reserve) {
  struct Stack {
    std::uintptr_t lowest;
    std::size_t size;
  };
  thread_local const Stack stack = [] {
    pthread_attr_t attributes;
    void* base = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &base, &size);
      pthread_attr_destroy(&attributes);
    }
    return Stack{reinterpret_cast<std::uintptr_t>(base), size};
  }();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here < stack.lowest + std::min(reserve, stack.size / 4);
}

}  // namespace md
