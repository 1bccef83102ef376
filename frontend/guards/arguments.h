// A call's arguments laid out as the frame of a Python function would hold them at its entry, without making the frame.
#pragma once

#include <cstddef>

#include "frontend/cpython/py_ref.h"
#include "frontend/guards/source.h"

namespace md {

// Parameters, then *args, **kwargs, then (null) locals and cells, then the closure's cells in the free slots. Values
// are borrowed from the caller, the function's defaults and its closure: valid until Python code runs.
class BoundArguments {
 public:
  BoundArguments() = default;
  BoundArguments(const BoundArguments&) = delete;
  BoundArguments& operator=(const BoundArguments&) = delete;
  ~BoundArguments() {
    if (slots_ == heap_) PyMem_Free(heap_);
  }

  // False, with no exception set: the call does not fit, or only CPython can tell. Call the function itself then; it
  // raises CPython's own TypeError. At most once per object.
  bool bind(PyFunctionObject* fn, PyObject* const* args, std::size_t nargsf, PyObject* kwnames);

  // Parameter and free slots are valid; the rest only after complete().
  PyObject* const* slots() const { return slots_; }
  FrameArgs frame() const { return {slots_, globals_, builtins_}; }
  // Values of keyword defaults live on, whatever becomes of the function's dictionary of them.
  void hold_defaults() {
    if (kwdefaults_used_) hold_keyword_defaults();
  }
  // Fills in the null slots that a plain positional call leaves out. False: out of memory, exception set.
  bool complete();

 private:
  static constexpr int kInline = 24;

  PyObject** room(int slots);
  bool bind_general(PyFunctionObject* fn, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
  bool bind_keywords(PyCodeObject* code, PyObject* const* values, PyObject* kwnames, PyObject** slots);
  bool fill_defaults(PyFunctionObject* fn, PyCodeObject* code, PyObject** slots);

  PyObject* const* slots_ = nullptr;
  PyObject** heap_ = nullptr;
  PyObject* globals_ = nullptr;
  PyObject* builtins_ = nullptr;
  void hold_keyword_defaults();

  PyRef varargs_, varkeywords_;
  PyRef kwdefaults_held_;         // the slots of keyword-only parameters as a tuple
  bool kwdefaults_used_ = false;  // a slot is one of the function's keyword defaults
  int first_keyword_only_ = 0, keyword_only_ = 0;
  int given_ = 0;  // slots_ are the caller's own array of this many arguments; 0: ours
  int wanted_ = 0;
  PyObject* inline_[kInline];
};

}  // namespace md
