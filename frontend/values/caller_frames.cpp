// Exceptions handled around the traced frames, and which code asks for frame objects.
#include "frontend/values/caller_frames.h"

#include <algorithm>
#include <ranges>

#include "frontend/bytecode/raw_opcodes.h"
#include "frontend/guards/state.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {
namespace {

bool uses_name(PyObject* code, const char* name) {
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) return true;
  return false;
}

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

bool stops_in_debugger(const Tracer& t) {
  return std::ranges::any_of(t.stack.frames | std::views::drop(1), [](const auto& frame) {
    PyObject* const code = frame->code.get();
    return (uses_name(code, "breakpoint") || uses_name(code, "set_trace")) && !uses_name(code, "comptime");
  });
}

bool is_comprehension(const CodeBody& body) {
  return !body.slot_names.empty() && text_of(body.slot_names[0].get()) == ".0";
}

bool shares_locals(const CodeBody& body) {
  if (!kOneLocalsDict) return false;
  int uses = 0;
  for (std::size_t k = 0; k < body.instructions.size(); ++k)
    if (uses_locals(body, k)) uses += is_in_loop(body, k) ? 2 : 1;
  return uses > 1;
}

}  // namespace md
