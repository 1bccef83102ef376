// The options of a compile() call. Equal options share one object, and with it the compiled entries.
#pragma once

#include <memory>
#include <string>

#include "frontend/cpython/py_ref.h"
#include "frontend/entries/code_cache.h"
#include "ir/compile/backend.h"

namespace md {

class CompileOptions {
 public:
  PyObject* backend = nullptr;  // a callable, which compiled functions hold, or null for a backend of ours
  std::string backend_name;     // "llvm", "eager", or the callable's name
  bool fullgraph = false;
  int dynamic = -1;                             // -1: automatic
  CompileStyle style{CompileMode::Background};  // of a backend of ours
  PyRef backend_options;                        // passed on to a callable backend as keyword arguments; may be null
  PyRef watch;                                  // a weak reference to the backend
};

// A style as the number that Python has for it: its mode, and 4 if launches are replayed.
CompileStyle compile_style(int number);
int number_of(const CompileStyle& style);

// Borrowed from a process-wide list. Those of a callable live as long as the callable, which the caller keeps alive
// while it uses them; the others, which are few, stay.
CompileOptions* get_options(PyObject* backend_or_null, const std::string& backend_name, bool fullgraph, int dynamic,
                            PyObject* backend_options, const CompileStyle& style = {CompileMode::Background});

}  // namespace md
