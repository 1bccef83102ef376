// Splits the function at the break, once per layout, and has the plan hold every value that its parts take.
#include "frontend/driver/plan_break.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "frontend/bytecode/effects.h"
#include "frontend/bytecode/split.h"
#include "frontend/driver/liveness.h"
#include "frontend/entries/frame_counts.h"
#include "frontend/entries/split_family.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

// The values alive at a break, each held once, and which of them a split function's parameters take.
struct HeldValues {
  PlanBuilder& b;
  SymbolicFrame& f;
  const BreakLayout& layout;
  BreakPoint& point;
  std::map<Reg, int> positions;

  int hold(Reg r) {
    auto [it, fresh] = positions.try_emplace(r, static_cast<int>(point.held.size()));
    if (fresh) point.held.push_back(r);
    return it->second;
  }

  Reg stack_item(int index) {
    for (auto& open : layout.contexts)
      if (open.stack_index == index) return b.load_constant(open.cls);
    return b.rebuild(f.stack[static_cast<std::size_t>(index)]);
  }

  Reg first_argument() {
    ValueRef v = f.slots[0];
    if (auto* cell = as<CellValue>(v)) v = cell->get(b.tracer);
    return b.rebuild(v);
  }

  // `after`: the stack once the instruction has run, whose items the break's result holds.
  void fill(BreakPoint::Part& part, const PartCode& code, const std::vector<bool>* after, int first_item) {
    for (const SplitParameter& p : code.parameters) {
      if (p.kind == SplitParameter::Kind::StackItem && after) {
        const auto nulls = std::count(after->begin(), after->begin() + p.index, true);
        part.from.push_back(~(first_item + p.index - static_cast<int>(nulls)));
        continue;
      }
      switch (p.kind) {
        case SplitParameter::Kind::StackItem:
          part.from.push_back(hold(stack_item(p.index)));
          break;
        case SplitParameter::Kind::Slot:
          part.from.push_back(hold(b.rebuild(f.slots[static_cast<std::size_t>(p.index)])));
          break;
        case SplitParameter::Kind::FirstArgument:
          part.from.push_back(hold(first_argument()));
          break;
        case SplitParameter::Kind::Nothing:
          part.from.push_back(hold(b.load_constant(PyRef::borrow(Py_None))));
          break;
      }
    }
  }
};

class BreakPlanner {
 public:
  BreakPlanner(PlanBuilder& b, const TracedBreak& at) : b(b), at(at) {}

  // Everything alive at the break is an argument of the two split functions.
  int plan_split() {
    SymbolicFrame& f = *b.tracer.stack.frames.front();
    const CodeBody& body = *f.body;
    BreakLayout layout = layout_of(f, live_after(body, at.instruction));
    // The break was inside of __exit__: before the instruction the block is still open.
    for (auto& c : f.contexts)
      if (c.manager->kind != ValueKind::Context) graph_break<GB0066>("[" + c.manager->print() + "]");
    for (auto c = f.contexts.rbegin(); c != f.contexts.rend(); ++c)
      static_cast<ContextValue*>(c->manager.get())->exit(b.tracer);
    for (auto& c : f.contexts) {
      layout.contexts.push_back(static_cast<ContextValue*>(c.manager.get())->reopened(c.stack_index));
      ++numbers;
    }
    guard_callee(f);
    const SplitCode code = split_in_family(at.notes, f.body, layout);
    BreakPoint& point = new_break(body);
    const std::string resumed =
        fmt::format("torch_dynamo_resume_in_{}_at_{}", text_of(at.request.code->co_name), code.line);
    point.conditional = static_cast<bool>(code.resume_taken);
    HeldValues held{b, f, layout, point, {}};
    held.fill(point.breaking, code.break_part, nullptr, 0);
    held.fill(point.resume, code.resume, &code.resume_stack_is_null, point.conditional);
    held.fill(point.resume_taken, code.resume_taken, &code.taken_stack_is_null, point.conditional);
    point.breaking.code = code_of(code.break_part, "", true);
    if (auto* own = reinterpret_cast<PyCodeObject*>(point.breaking.code.get())) frame_notes(own).is_breaking = true;
    point.resume.code = code_of(code.resume, resumed, false);
    point.resume_taken.code = code_of(code.resume_taken, resumed, false);
    return numbers;
  }

  // Before the instruction at which the entry stops, with everything that is alive there. The managers of `with` are
  // values on the stack; those of the library are left here and entered again.
  int plan_rest() {
    SymbolicFrame& f = *b.tracer.stack.frames.front();
    const CodeBody& body = *f.body;
    BreakLayout layout = layout_of(f, live_before(body, at.instruction));
    for (auto c = f.contexts.rbegin(); c != f.contexts.rend(); ++c)
      if (auto* context = as<ContextValue>(c->manager)) context->exit(b.tracer);
    for (auto& c : f.contexts)
      if (auto* context = as<ContextValue>(c.manager)) layout.contexts.push_back(context->reopened(c.stack_index));
    const PartCode& code = rest_at(body, layout);
    BreakPoint& point = new_break(body);
    HeldValues held{b, f, layout, point, {}};
    held.fill(point.resume, code, nullptr, 0);
    point.resume.code = code_of(code, "", true);
    return numbers;
  }

 private:
  // What the breaking call calls decided that it breaks; an object nobody looked at yet is looked at now.
  void guard_callee(SymbolicFrame& f) {
    const Instruction& i = f.body->instructions[static_cast<std::size_t>(at.instruction)];
    if (i.op != Opcode::CALL) return;
    for (int below = i.a + 1; below <= i.a + 2; ++below) {
      const ValueRef& v = f.top(below);
      if (is_null(v) || v->kind != ValueKind::Lazy || !v->real || is_tensor(v->real.get()) ||
          !PyCallable_Check(v->real.get()))
        continue;
      try {
        b.tracer.realize(v);
      } catch (const GraphBreak&) {  // loaded and called as it is
      }
    }
  }

  // What the code after the trace is given; the managers are not in it yet.
  BreakLayout layout_of(const SymbolicFrame& f, const std::vector<bool>& live) const {
    BreakLayout layout;
    layout.instruction = at.instruction;
    for (std::size_t k = 0; k < f.slots.size(); ++k)
      layout.slot_bound.push_back(!is_null(f.slots[k]) && (live[k] || end_is_seen(f.slots[k], 0)));
    for (auto& v : f.stack) layout.stack_is_null.push_back(is_null(v));
    return layout;
  }

  BreakPoint& new_break(const CodeBody& body) {
    auto point = std::make_unique<BreakPoint>();
    const int gathered = !!(body.flags & CO_VARARGS) + !!(body.flags & CO_VARKEYWORDS);
    std::vector<bool> lasts(static_cast<std::size_t>(body.argcount + body.kwonlyargcount + gathered), true);
    for (const Instruction& i : body.instructions) {
      if (replaces_slot(i.op) && static_cast<std::size_t>(i.a) < lasts.size())
        lasts[static_cast<std::size_t>(i.a)] = false;
    }
    for (std::size_t k = 0; k < lasts.size(); ++k)
      if (lasts[k]) point->lasting.push_back(static_cast<int>(k));
    return *(b.plan.broken = std::move(point));
  }

  const PartCode& rest_at(const CodeBody& body, const BreakLayout& layout) {
    for (auto& [known, code] : at.notes.leaves)
      if (is_same(known, layout)) return code;
    at.notes.leaves.emplace_back(layout, resume_at(body, layout));
    return at.notes.leaves.back().second;
  }

  PyRef code_of(const PartCode& part, const std::string& printed, bool plain) {
    if (!part) return {};
    const PyRef& code = part.code;
    FrameNotes& n = frame_notes(reinterpret_cast<PyCodeObject*>(code.get()));
    if (!n.is_split) {
      n.printed_name = printed;
      n.skip = n.split_runs_plain = plain;
      n.is_split = true;
      share_counts(at.request.code, n);
    }
    if (!plain) ++numbers;
    return code;
  }

  PlanBuilder& b;
  const TracedBreak& at;
  int numbers = 0;  // of the resume functions and managers
};

}  // namespace

int plan_break(PlanBuilder& b, const TracedBreak& at) { return BreakPlanner(b, at).plan_split(); }

int plan_leave(PlanBuilder& b, const TracedBreak& at) { return BreakPlanner(b, at).plan_rest(); }

}  // namespace md
