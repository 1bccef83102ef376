// Source text of the user's program, through Python's linecache (notebook cells included).
#pragma once

#include <string>

#include "frontend/py_ref.h"

namespace md {

// The line, stripped; empty if the source is not to be had. Leaves no exception set.
std::string source_line(const std::string& file, int line, PyObject* globals);
// The same with its own indentation and without the newline.
std::string raw_source_line(const std::string& file, int line, PyObject* globals);

}  // namespace md
