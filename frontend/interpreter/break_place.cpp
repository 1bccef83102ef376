// Judges the place of a break from opcode, handlers, loops and open contexts.
#include "frontend/interpreter/break_place.h"

#include <algorithm>

#include "frontend/bytecode/effects.h"
#include "frontend/cpython/object_text.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/attributes.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

// From the next instruction to the first return some jump goes back to before this one.
bool in_loop(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  for (std::size_t k = static_cast<std::size_t>(f.current) + 1; k < code.size(); ++k) {
    if (code[k].op == Opcode::RETURN_VALUE) return false;
    if (code[k].target >= 0 && code[k].target < f.current && code[k].op != Opcode::FOR_ITER) return true;
  }
  return false;
}

// The handlers around the instruction all belong to `with` statements.
bool only_with_handlers(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  Handler h = f.instruction().handler;
  for (int depth = 0; h.label >= 0; ++depth) {
    const auto at = static_cast<std::size_t>(h.label);
    if (depth > 64 || at + 1 >= code.size() || code[at].op != Opcode::PUSH_EXC_INFO ||
        code[at + 1].op != Opcode::WITH_EXCEPT_START)
      return false;
    const int cleanup = code[at].handler.label;
    if (cleanup < 0) return true;
    h = code[static_cast<std::size_t>(cleanup)].handler;
  }
  return true;
}

}  // namespace

FrameStack::RootPlace place_to_leave(const Tracer& t, const CodeBody& body) {
  const FrameStack::RootPlace place = t.finishing || t.stack.frames.empty() ? t.stack.bare : t.stack.unhandled;
  for (int k = 0; k < place.instruction; ++k)
    if (!only_moves(body.instructions[static_cast<std::size_t>(k)].op)) return place;
  return {};
}

BreakVerdict judge_break(const Tracer& t) {
  const SymbolicFrame& root = *t.stack.frames.front();  // a loop of a callee runs whole, in the call
  if (in_loop(root)) return BreakVerdict::SkipLoop;
  for (auto& c : root.contexts)
    if (c.manager->kind != ValueKind::Context) return BreakVerdict::SkipContext;
  if (!only_with_handlers(root) || !root.handled.empty()) return BreakVerdict::SkipPlace;
  return is_resumable(root.instruction().op) ? BreakVerdict::Resume : BreakVerdict::SkipPlace;
}

// The call that leaves a `with` block, which is never what breaks of itself.
static bool uses_exit_function(const SymbolicFrame& f) {
  const auto used = static_cast<std::size_t>(stack_effect(f.instruction()).pop);
  return std::any_of(f.stack.end() - static_cast<std::ptrdiff_t>(std::min(used, f.stack.size())), f.stack.end(),
                     [](const ValueRef& v) { return as<WithExitValue>(v) != nullptr; });
}

// The truth of a bool. Resume code that begins with a jump may have to ask for it once more: breaking there would go on
// without end.
static bool does_nothing(const SymbolicFrame& f) {
  return f.instruction().op == Opcode::TO_BOOL && f.stack.back()->python_type() == &PyBool_Type;
}

bool can_begin_here(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  const auto here = static_cast<std::size_t>(f.current);
  if (here > 0 && code[here].offset >= 0 && code[here].offset == code[here - 1].offset) return false;
  return std::ranges::all_of(f.contexts, [&](const ActiveContext& c) {
    const auto at = static_cast<std::size_t>(c.stack_index);
    return at < f.stack.size() && f.stack[at]->kind == ValueKind::WithExit;
  });
}

void break_if_forced(Tracer& t) {
  const int at = t.config.break_at, every = t.config.break_every;
  const bool anywhere = at > 0 && t.config.trace_more;
  const SymbolicFrame& f = *t.stack.frames.front();
  if (does_nothing(f) || uses_exit_function(f) || !can_begin_here(f) ||
      (!anywhere && judge_break(t) != BreakVerdict::Resume))
    return;
  ++t.stack.break_places;
  if (at > 0 ? t.stack.break_places != at : t.stack.break_places % every != 0) return;
  graph_break<GB0025>(std::string("[]"), std::string("{}"),
                      std::string(at > 0 ? "config.break_at" : "config.break_every"));
}

static std::string module_of(const SymbolicFrame& f) {
  PyObject* const module = find_item(f.globals.get(), "__name__");
  return module && PyUnicode_Check(module) ? text_of(module) : std::string();
}

bool enters_module(const Tracer& t) {
  const auto& frames = t.stack.frames;
  return frames.size() > 1 && module_of(*frames.front()) == "minidynamo.nn.module" &&
         std::any_of(frames.begin() + 1, frames.end(),
                     [](const auto& f) { return !module_of(*f).starts_with("minidynamo."); });
}

}  // namespace md
