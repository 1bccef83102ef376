// A set of compiled guards as a Python object, for tests.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md {

// Owns its reference to them; null if `o` is something else.
std::shared_ptr<const CompiledGuards> guards_of_object(PyObject* o);

// A frame's arguments given from Python: (tuple of slots, `...` where unbound; globals; builtins).
struct ParsedArgs {
  std::vector<PyObject*> slots;
  FrameArgs frame;
};
bool parse_frame_args(PyObject* const* args, Py_ssize_t n, ParsedArgs& out);  // false: an exception is set

// _guards.cache_insert and so on: the code cache with entries that run nothing.
extern PyMethodDef code_cache_functions[];

}  // namespace md
