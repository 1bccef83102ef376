// Pushes a frame that never runs onto the thread's stack, and takes it off again.
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include "frontend/cpython/shown_frame.h"

namespace md {
namespace {

_PyInterpreterFrame*& innermost_frame() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_Get()->current_frame;
#else
  return PyThreadState_Get()->cframe->current_frame;
#endif
}

// Empty slots follow it: whoever asks for the variables of the innermost frame finds none.
std::size_t size_of(PyCodeObject* code) {
  return sizeof(_PyInterpreterFrame) +
         static_cast<std::size_t>(code->co_nlocalsplus + code->co_stacksize) * sizeof(PyObject*);
}

}  // namespace

ShownFrame::ShownFrame(PyCodeObject* code) : memory_(std::make_unique<char[]>(size_of(code))) {
  auto* frame = reinterpret_cast<_PyInterpreterFrame*>(memory_.get());  // all zero
#if PY_VERSION_HEX >= 0x030D0000
  frame->f_executable = reinterpret_cast<PyObject*>(code);
  frame->instr_ptr = _PyCode_CODE(code) - 1;
#else
  frame->f_code = code;
  frame->prev_instr = _PyCode_CODE(code) - 1;
#endif
#if PY_VERSION_HEX < 0x030C0000
  frame->is_entry = true;
#endif
  frame->owner = FRAME_OWNED_BY_THREAD;
  frame->stacktop = code->co_nlocalsplus;
  frame->previous = innermost_frame();
#if PY_VERSION_HEX < 0x030C0000
  // C code that asks for the globals it is called with is given the innermost frame's, whether it has begun or not.
  if (frame->previous) {
    frame->f_globals = frame->previous->f_globals;
    frame->f_builtins = frame->previous->f_builtins;
  }
#endif
  innermost_frame() = frame;
}

ShownFrame::~ShownFrame() {
  auto* frame = reinterpret_cast<_PyInterpreterFrame*>(memory_.get());
  innermost_frame() = frame->previous;
  Py_CLEAR(frame->f_locals);  // made for whoever asked for them
}

}  // namespace md
