// Rewrites the traceback of the exception that is set: entries of parts become entries of the whole function.
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

#include <frameobject.h>

#include <unordered_map>
#include <unordered_set>

#include "frontend/cpython/traceback_frames.h"

namespace md {
namespace {

struct Location {
  int line = -1, column = -1, end_line = -1, end_column = -1;
  bool operator==(const Location&) const = default;
};

Location location(PyCodeObject* code, int offset) {
  Location at;
  PyCode_Addr2Location(code, offset, &at.line, &at.column, &at.end_line, &at.end_column);
  return at;
}

// The instruction of `whole` that stands where the part's stood; else the first of its line; else the first of all.
int same_place(PyCodeObject* part, int offset, PyCodeObject* whole) {
  const Location wanted = location(part, offset);
  int of_line = 0;
  const int size = static_cast<int>(_PyCode_NBYTES(whole));
  for (int at = 0; at < size; at += static_cast<int>(sizeof(_Py_CODEUNIT))) {
    const Location here = location(whole, at);
    if (here == wanted) return at;
    if (of_line == 0 && here.line == wanted.line) of_line = at;
  }
  return of_line;
}

PyObject* slot_name(PyCodeObject* code, int slot) { return PyTuple_GET_ITEM(code->co_localsplusnames, slot); }

bool holds_cell(PyCodeObject* code, int slot) {
  return _PyLocals_GetKind(code->co_localspluskinds, slot) & (CO_FAST_CELL | CO_FAST_FREE);
}

bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

// A finished frame of the whole code: nothing ever runs in it.
class WholeFrame {
 public:
  WholeFrame(const FramePart& part, PyFrameObject* old) : whole_(part.whole) {
    made_ =
        PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_New(PyThreadState_Get(), part.whole, part.globals, nullptr)));
    if (!made_) throw PythonError{};
    auto* frame = reinterpret_cast<PyFrameObject*>(made_.get());
    PyCodeObject* const code = reinterpret_cast<PyCodeObject*>(part.code);
    const int offset = same_place(code, PyFrame_GetLasti(old), whole_);  // later than the entry's, after a handler
    _Py_CODEUNIT* const at = _PyCode_CODE(part.whole) + offset / static_cast<int>(sizeof(_Py_CODEUNIT));
#if PY_VERSION_HEX >= 0x030D0000
    frame->f_frame->instr_ptr = at;
#else
    frame->f_frame->prev_instr = at;
#endif
    frame->f_back = PyFrame_GetBack(old);
    for (int k = 0; k < code->co_nlocalsplus; ++k)
      put(slot_name(code, k), old->f_frame->localsplus[k], holds_cell(code, k));
    for (const auto& [name, value] : part.others) put(name.get(), value.get(), PyCell_Check(value.get()));
  }
  PyRef take() { return std::move(made_); }

 private:
  // What stands there already is newer.
  void put(PyObject* name, PyObject* value, bool is_cell) {
    if (!value || (is_cell && !PyCell_Check(value))) return;
    PyObject** const slots = reinterpret_cast<PyFrameObject*>(made_.get())->f_frame->localsplus;
    for (int k = 0; k < whole_->co_nlocalsplus; ++k) {
      if (slots[k] || holds_cell(whole_, k) != is_cell || !same_name(slot_name(whole_, k), name)) continue;
      slots[k] = Py_NewRef(value);
      return;
    }
  }

  PyCodeObject* whole_;
  PyRef made_;
};

class Rewriting {
 public:
  explicit Rewriting(const FramePart& part) : part_(part) {}

  void traceback(PyObject* head) {
    if (!head || !PyTraceBack_Check(head)) return;  // 3.11 keeps the None that a program assigned
    for (auto* tb = reinterpret_cast<PyTracebackObject*>(head); tb; tb = tb->tb_next) {
      PyRef code = PyRef::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(tb->tb_frame)));
      if (code.get() != part_.code) continue;
      auto* const of_part = reinterpret_cast<PyCodeObject*>(code.get());
      const int line = PyCode_Addr2Line(of_part, tb->tb_lasti), offset = same_place(of_part, tb->tb_lasti, part_.whole);
      PyRef& whole = frames_[tb->tb_frame];
      if (!whole) whole = WholeFrame(part_, tb->tb_frame).take();
      replaced_.push_back(PyRef::steal(reinterpret_cast<PyObject*>(tb->tb_frame)));
      tb->tb_frame = reinterpret_cast<PyFrameObject*>(Py_NewRef(whole.get()));
      tb->tb_lasti = offset;
      tb->tb_lineno = line;
    }
  }

  // Of an exception and all it leads to.
  void exceptions(PyObject* first) {
    std::unordered_set<PyObject*> seen;
    std::vector<PyRef> open;
    open.push_back(PyRef::borrow(first));
    while (!open.empty()) {
      PyRef e = std::move(open.back());
      open.pop_back();
      if (!e || !PyExceptionInstance_Check(e.get()) || !seen.insert(e.get()).second) continue;
      traceback(PyRef::steal(PyException_GetTraceback(e.get())).get());
      open.push_back(PyRef::steal(PyException_GetContext(e.get())));
      open.push_back(PyRef::steal(PyException_GetCause(e.get())));
      if (!PyObject_TypeCheck(e.get(), reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup))) continue;
      PyObject* const members = reinterpret_cast<PyBaseExceptionGroupObject*>(e.get())->excs;
      for (Py_ssize_t k = 0; members && k < PyTuple_GET_SIZE(members); ++k)
        open.push_back(PyRef::borrow(PyTuple_GET_ITEM(members, k)));
    }
  }

 private:
  const FramePart& part_;
  std::unordered_map<PyFrameObject*, PyRef> frames_;
  std::vector<PyRef> replaced_;  // alive while their addresses are keys
};

}  // namespace

void show_whole_frame(const FramePart& part) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    Rewriting r(part);
    r.traceback(traceback);
    if (value) r.exceptions(value);
  } catch (const PythonError&) {  // no memory: the rest shows the part
    PyErr_Clear();
  } catch (const std::bad_alloc&) {
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace md
