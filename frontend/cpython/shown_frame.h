// While compiled code runs, or is being made, the interpreter's stack has no frame for the function it stands for. Here
// is one for those who read the stack from outside (py-spy, faulthandler, debuggers of C); Python code does not see it.
#pragma once

#include <memory>

#include "frontend/cpython/py_ref.h"

namespace md {

// On top of this thread's stack for its lifetime, which ends before that of frames below. The GIL is held at both ends;
// `code` lives on. It is marked as a frame that has not begun, which `sys._getframe`, `f_back`, tracebacks
// and warnings pass over.
class ShownFrame {
 public:
  explicit ShownFrame(PyCodeObject* code);
  ~ShownFrame();
  ShownFrame(const ShownFrame&) = delete;
  ShownFrame& operator=(const ShownFrame&) = delete;

 private:
  PyCodeObject* code_;
  std::unique_ptr<char[]> memory_;  // null: there is no frame, for lack of memory or of a frame below
};

}  // namespace md
