// What a program asks of its own frames: the exception being handled, the frames themselves.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/guards/state.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

namespace md {

bool nothing_handled_outside(Tracer& t) {
  if (is_handling()) return false;
  t.guard(GuardKind::NothingHandled, nullptr);
  return true;
}

namespace {

// (class, exception, traceback) of the exception that is being handled.
ValueRef rule_exc_info(Tracer& t, CallArgs& args) {
  expect_args(t, "exc_info", args, 0, 0);
  if (ValueRef e = t.handled_exception()) {
    if (e->kind != ValueKind::Exception) return {};
    return make_ref<TupleValue>(
        std::vector<ValueRef>{t.from_object(reinterpret_cast<PyObject*>(e->python_type()), nullptr), e,
                              e->get_attr(t, checked(PyUnicode_InternFromString("__traceback__")).get())});
  }
  if (!nothing_handled_outside(t)) return {};
  return make_ref<TupleValue>(std::vector<ValueRef>{t.none(), t.none(), t.none()});
}

// The exception that is being handled.
ValueRef rule_exception(Tracer& t, CallArgs& args) {
  expect_args(t, "exception", args, 0, 0);
  if (ValueRef e = t.handled_exception()) return e->kind == ValueKind::Exception ? e : ValueRef();
  return nothing_handled_outside(t) ? t.none() : ValueRef();
}

bool uses_name(PyObject* code, const char* name) {
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) return true;
  return false;
}

// Nothing but the globals of a frame is asked for, by the names the code uses: they are the same in each part.
bool wants_globals_only(PyObject* code) {
  for (const char* other : {"f_back", "f_builtins", "f_code", "f_lasti", "f_lineno", "f_locals", "f_trace"})
    if (uses_name(code, other)) return false;
  return uses_name(code, "f_globals");
}

// A frame object outlives the call: it is to be that of the whole function.
ValueRef rule_getframe(Tracer& t, CallArgs&) {
  GraphBreak b = make_break<GB0007_builtin>("sys", "_getframe", "<missing reason>", "sys._getframe");
  b.looks_at_frame = !wants_globals_only(t.frame().code.get());
  throw b;
}

constexpr BuiltinRow kRows[] = {
    {"sys", "exc_info", rule_exc_info},
    {"sys", "exception", rule_exception},
    {"sys", "_getframe", rule_getframe},
};

}  // namespace

bool looks_at_frames(PyObject* code) {
  return (uses_name(code, "_getframe") || uses_name(code, "currentframe")) && !wants_globals_only(code);
}

std::span<const BuiltinRow> frame_rules() { return kRows; }

}  // namespace md
