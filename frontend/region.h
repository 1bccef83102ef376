// The options of a compile() call. Equal options share one Region, and with it the compiled entries.
#pragma once

#include <memory>
#include <string>

#include "frontend/code_cache.h"
#include "frontend/py_ref.h"

namespace md {

class Region {
 public:
  PyRef backend;             // a callable, or null for a backend of ours
  std::string backend_name;  // "llvm", "eager", or the callable's name
  bool fullgraph = false;
  int dynamic = -1;  // -1: automatic
  PyRef options;     // passed on to a callable backend as keyword arguments; may be null
};

// Borrowed from a process-wide list, kept for the life of the process (regions are few; callables are held).
Region* get_region(PyObject* backend_or_null, const std::string& backend_name, bool fullgraph, int dynamic,
                   PyObject* options);

}  // namespace md
