// What a program asks of its own frames: the exception being handled, the frames themselves.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/bytecode/raw_opcodes.h"
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

// Up to 3.12 all of these in one frame share a dictionary, which keeps what the program stores there.
bool uses_locals(const CodeBody& body, std::size_t at) {
  const Instruction& i = body.instructions[at];
  if (i.op != Opcode::LOAD_GLOBAL && i.op != Opcode::LOAD_NAME) return false;
  const std::string name = text_of(body.names[static_cast<std::size_t>(i.a)].get());
  if (name == "locals" || name == "exec" || name == "eval") return true;
  if (name != "vars" && name != "dir") return false;
  while (++at < body.instructions.size() && body.instructions[at].op == Opcode::PUSH_NULL) {
  }
  return at < body.instructions.size() && body.instructions[at].op == Opcode::CALL && body.instructions[at].a == 0;
}

bool is_in_loop(const CodeBody& body, std::size_t at) {
  for (std::size_t k = at; k < body.instructions.size(); ++k) {
    const int target = body.instructions[k].target;
    if (target >= 0 && static_cast<std::size_t>(target) <= at) return true;
  }
  return false;
}

}  // namespace

bool shares_locals(const CodeBody& body) {
  if (!kOneLocalsDict) return false;
  int uses = 0;
  for (std::size_t k = 0; k < body.instructions.size(); ++k)
    if (uses_locals(body, k)) uses += is_in_loop(body, k) ? 2 : 1;
  return uses > 1;
}

bool looks_at_frames(PyObject* code) {
  return (uses_name(code, "_getframe") || uses_name(code, "currentframe")) && !wants_globals_only(code);
}

std::span<const BuiltinRow> frame_rules() { return kRows; }

}  // namespace md
