// Pushes a frame that never runs onto the thread's stack, and takes it off again.
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include <algorithm>
#include <cstring>

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

#if PY_VERSION_HEX >= 0x030C0000
using FunctionInFrame = PyObject;
FunctionInFrame*& function_in(_PyInterpreterFrame* frame) { return frame->f_funcobj; }
#else
using FunctionInFrame = PyFunctionObject;
FunctionInFrame*& function_in(_PyInterpreterFrame* frame) { return frame->f_func; }
#endif

std::size_t size_of(PyCodeObject* code) {
  return sizeof(_PyInterpreterFrame) +
         static_cast<std::size_t>(code->co_nlocalsplus + code->co_stacksize) * sizeof(PyObject*);
}

// What a frame asks its function for: globals, and the cells of a closure, which are empty here.
PyRef function_of(PyCodeObject* code) {
  PyObject* const globals = PyEval_GetGlobals();
  PyRef made = globals ? PyRef::steal(PyFunction_New(reinterpret_cast<PyObject*>(code), globals)) : PyRef();
  if (!made || code->co_nfreevars == 0) return made;
  PyRef cells = PyRef::steal(PyTuple_New(code->co_nfreevars));
  for (int k = 0; cells && k < code->co_nfreevars; ++k) {
    PyObject* const cell = PyCell_New(nullptr);
    if (!cell) return {};
    PyTuple_SET_ITEM(cells.get(), k, cell);
  }
  return cells && PyFunction_SetClosure(made.get(), cells.get()) == 0 ? made : PyRef();
}

// C code may have asked for the innermost frame and got an object that shows this memory: it is given a copy.
void give_copy(_PyInterpreterFrame* frame, PyCodeObject* code) {
  PyFrameObject* const object = frame->frame_obj;
  if (Py_REFCNT(object) > 1) {
    object->f_back = PyFrame_GetBack(object);
    auto* const copy = reinterpret_cast<_PyInterpreterFrame*>(object->_f_frame_data);
    std::memcpy(copy, frame,
                sizeof(_PyInterpreterFrame) + static_cast<std::size_t>(code->co_nlocalsplus) * sizeof(PyObject*));
    object->f_frame = copy;
    copy->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    copy->previous = nullptr;
    copy->frame_obj = nullptr;
    Py_INCREF(code);
#if PY_VERSION_HEX >= 0x030D0000
    copy->instr_ptr = _PyCode_CODE(code) + code->_co_firsttraceable;
#else
    copy->prev_instr = _PyCode_CODE(code) + code->_co_firsttraceable;
#endif
    frame->f_locals = nullptr;
    std::fill_n(frame->localsplus, code->co_nlocalsplus, nullptr);
    Py_INCREF(function_in(frame));
    PyObject* const cells = reinterpret_cast<PyFunctionObject*>(function_in(frame))->func_closure;
    for (int k = 0; k < code->co_nfreevars; ++k) {  // as a frame has them that has begun
      PyObject*& slot = copy->localsplus[code->co_nlocalsplus - code->co_nfreevars + k];
      if (!slot) slot = Py_NewRef(PyTuple_GET_ITEM(cells, k));
    }
    if (!PyObject_GC_IsTracked(reinterpret_cast<PyObject*>(object))) PyObject_GC_Track(object);
  }
  Py_CLEAR(frame->frame_obj);
}

}  // namespace

ShownFrame::ShownFrame(PyCodeObject* code) : code_(code) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyRef function = function_of(code);
  PyErr_Restore(type, value, traceback);
  if (!function) return;
  memory_ = std::make_unique<char[]>(size_of(code));
  auto* frame = reinterpret_cast<_PyInterpreterFrame*>(memory_.get());  // all zero, and so are the slots after it
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
  frame->f_globals = PyEval_GetGlobals();  // C code that asks for the globals it is called with gets what it got before
  frame->f_builtins = PyEval_GetBuiltins();
  function_in(frame) = reinterpret_cast<FunctionInFrame*>(function.release());
  frame->owner = FRAME_OWNED_BY_THREAD;
  frame->stacktop = code->co_nlocalsplus;
  frame->previous = innermost_frame();
  innermost_frame() = frame;
}

ShownFrame::~ShownFrame() {
  if (!memory_) return;
  auto* frame = reinterpret_cast<_PyInterpreterFrame*>(memory_.get());
  if (frame->frame_obj) give_copy(frame, code_);
  innermost_frame() = frame->previous;
  Py_CLEAR(frame->f_locals);  // made for whoever asked for them
  for (int k = 0; k < code_->co_nlocalsplus; ++k) Py_CLEAR(frame->localsplus[k]);
  Py_CLEAR(function_in(frame));
}

}  // namespace md
