// Source text of the user's program, through Python's linecache (notebook cells included).
#pragma once

#include <string>
#include <unordered_map>

#include "frontend/cpython/py_ref.h"

namespace md {

// Each file is looked up once.
class SourceLines {
 public:
  // The line, stripped; empty if the source is not to be had. `file`: a str. Leaves no exception set.
  std::string stripped(PyObject* file, int line, PyObject* globals);
  // The same with its own indentation and without the newline.
  std::string raw(PyObject* file, int line, PyObject* globals);

 private:
  PyObject* lines_of(PyObject* file, PyObject* globals);
  struct File {
    PyRef name, lines;
  };
  std::unordered_map<PyObject*, File> known_;  // by the name's address
};

}  // namespace md
