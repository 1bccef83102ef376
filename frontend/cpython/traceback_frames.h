// Tracebacks of functions that were run in parts show the functions: where the exception that is set left a part, the
// entry gets a frame of the whole code, at the same place, with the same variables.
#pragma once

#include <utility>
#include <vector>

#include "frontend/cpython/py_ref.h"

namespace md {

struct FramePart {
  PyObject* code;  // of the part
  PyCodeObject* whole;
  PyObject* globals;
  // Variables of the whole frame that the part does not have, by name; a captured one as its cell.
  std::vector<std::pair<PyRef, PyRef>> others;
};

// Also in the exceptions that the one that is set came from, or holds (a group). It stays set, whatever happens.
void show_whole_frame(const FramePart& part);

}  // namespace md
