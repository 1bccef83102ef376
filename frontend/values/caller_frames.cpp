// Exceptions handled around the traced frames, and which code asks for frame objects.
#include "frontend/values/caller_frames.h"

#include "frontend/guards/state.h"
#include "frontend/trace/tracer.h"

namespace md {
namespace {

bool uses_name(PyObject* code, const char* name) {
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) return true;
  return false;
}

}  // namespace

// Nothing but the globals of a frame is asked for, by the names the code uses: they are the same in each part.
bool wants_globals_only(PyObject* code) {
  for (const char* other : {"f_back", "f_builtins", "f_code", "f_lasti", "f_lineno", "f_locals", "f_trace"})
    if (uses_name(code, other)) return false;
  return uses_name(code, "f_globals");
}

bool nothing_handled_outside(Tracer& t) {
  if (is_handling()) return false;
  t.guard(GuardKind::NothingHandled, nullptr);
  return true;
}

bool looks_at_frames(PyObject* code) {
  return (uses_name(code, "_getframe") || uses_name(code, "currentframe")) && !wants_globals_only(code);
}

}  // namespace md
