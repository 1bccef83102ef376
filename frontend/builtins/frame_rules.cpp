// What a program asks of its own frames: the exception being handled, the frames themselves.
#include <algorithm>

#include "frontend/breaks.h"
#include "frontend/builtins/families.h"
#include "frontend/guards/state.h"
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

// Nothing but the globals of a frame is asked for, by the names the code uses: they are the same in each part.
bool wants_globals_only(const CodeBody& body) {
  const auto uses = [&](const char* name) {
    return std::ranges::any_of(
        body.names, [&](const PyRef& n) { return PyUnicode_CompareWithASCIIString(n.get(), name) == 0; });
  };
  for (const char* other : {"f_back", "f_builtins", "f_code", "f_lasti", "f_lineno", "f_locals", "f_trace"})
    if (uses(other)) return false;
  return uses("f_globals");
}

// A frame object outlives the call: it is to be that of the whole function.
ValueRef rule_getframe(Tracer& t, CallArgs&) {
  GraphBreak b = make_break<GB0007_builtin>("sys", "_getframe", "<missing reason>", "sys._getframe");
  b.looks_at_frame = !wants_globals_only(*t.frame().body);
  throw b;
}

constexpr BuiltinRow kRows[] = {
    {"sys", "exc_info", rule_exc_info},
    {"sys", "_getframe", rule_getframe},
};

}  // namespace

std::span<const BuiltinRow> frame_rules() { return kRows; }

}  // namespace md
