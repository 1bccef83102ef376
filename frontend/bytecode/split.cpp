// Checks that a break can be split, and makes the part for the breaking instruction and the resume parts.
#include "frontend/bytecode/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bytecode/effects.h"
#include "frontend/bytecode/flow.h"
#include "frontend/bytecode/raw_opcodes.h"
#include "frontend/bytecode/split_part.h"
#include "ir/core/error.h"

namespace md {
namespace {

constexpr int kGeneratorFlags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;

void refuse(const char* why) { throw InternalError(fmt::format("cannot split: {}", why)); }

// Checks what does not depend on the layout's values, and finds which slots are passed.
std::vector<bool> passed_slots(const CodeBody& body, const BreakLayout& layout) {
  if (body.flags & kGeneratorFlags) refuse("a generator's frame is the generator");
  if (!(body.flags & CO_OPTIMIZED)) refuse("not a function");
  if (layout.instruction < 0 || layout.instruction >= static_cast<int>(body.instructions.size())) {
    refuse("no such instruction");
  }
  if (layout.slot_bound.size() != body.slot_names.size()) refuse("one status for each slot is needed");
  const FlowState state = analyse(body)[layout.instruction];
  if (!state.reached) refuse("the instruction is never reached");
  if (state.stack.size() != layout.stack_is_null.size()) refuse("the stack has another depth there");
  std::vector<bool> bound = layout.slot_bound;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    if (!(body.slot_kinds[k] & kHoldsCell) || state.slots[k] == SlotState::Either) continue;
    bound[k] = state.slots[k] == SlotState::Bound;
  }
  // super() reads slot 0 without naming it: a caller's liveness does not see that.
  if (reads_first_argument(body) && state.slots[0] == SlotState::Bound) bound[0] = true;
  return bound;
}

Position line_only(const CodeBody& body, int instruction) {
  const int line = body.instructions[instruction].pos.line;
  const int known = line >= 0 ? line : body.firstlineno;
  return {known, known, -1, -1};
}

// The handler of the `with` statement whose exit function is stack item `item`, seen from `from` outwards.
Handler with_handler(const CodeBody& body, int from, int item) {
  Handler h = body.instructions[from].handler;
  for (int steps = 0; h.label >= 0 && steps < 1000; ++steps) {
    const std::size_t next = h.label + 1;
    const bool is_with = next < body.instructions.size() && body.instructions[next].op == Opcode::WITH_EXCEPT_START;
    if (is_with && h.depth == item + 1) return h;
    h = body.instructions[h.label].handler;
  }
  return {};
}

PartCode make_resume(const CodeBody& body, const BreakLayout& layout, const std::vector<bool>& bound, Position at) {
  const int entry = layout.instruction;
  const std::vector<int> kept = reachable_from(body, entry);
  std::vector<int> place(body.instructions.size(), -1);
  std::vector<bool> used(body.slot_names.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    place[kept[k]] = static_cast<int>(k);
    const Instruction& i = body.instructions[kept[k]];
    if (has_slot_operand(i.op)) used[i.a] = true;
  }
  SplitPart part(body, layout, bound, at);
  part.lay_out_slots(used, 0);
  // Handlers of the prologue are original labels until everything moves to its place below.
  part.prologue(false, [&](int, int item) { return with_handler(body, entry, item); });
  part.set_handler({});
  part.emit(Opcode::JUMP).target = entry;
  const int start = part.size();
  for (const int k : kept) {
    Instruction i = body.instructions[k];
    if (has_slot_operand(i.op)) i.a = part.new_slot(i.a);
    i.offset = -1;
    part.out().instructions.push_back(std::move(i));
  }
  for (Instruction& i : part.out().instructions) {
    if (i.target >= 0) i.target = start + place[i.target];
    if (i.handler.label >= 0) i.handler.label = start + place[i.handler.label];
  }
  return part.finish();
}

// The breaking instruction between a prologue that restores its operands and code that hands its results over.
class BreakPart {
 public:
  BreakPart(const CodeBody& body, const BreakLayout& layout, const std::vector<bool>& bound)
      : body_(body),
        layout_(layout),
        instruction_(body.instructions[layout.instruction]),
        part_(body, layout, bound, line_only(body, layout.instruction)) {}

  PartCode run(const std::vector<bool>& after, const std::vector<bool>& after_jump) {
    std::vector<bool> used(body_.slot_names.size());
    if (has_slot_operand(instruction_.op)) used[instruction_.a] = true;
    part_.lay_out_slots(used, static_cast<int>(std::max(after.size(), after_jump.size())));
    // The labels are placeholders until the handlers stand.
    part_.prologue(true, [&](int entered, int) { return context_handler(entered); });
    Instruction i = instruction_;
    if (has_slot_operand(i.op)) i.a = part_.new_slot(i.a);
    if (i.op == Opcode::LOAD_ATTR || i.op == Opcode::LOAD_SUPER_ATTR) i.b &= ~1;
    const int at = part_.size();
    Instruction& placed = part_.emit(i.op);
    const Handler handler = placed.handler;
    placed = std::move(i);
    placed.handler = handler;
    placed.offset = -1;
    const bool jumps = placed.target >= 0;
    if (!ends_block(instruction_.op)) hand_over(after, jumps ? Py_False : nullptr);
    if (jumps) {
      part_.out().instructions[at].target = part_.size();
      hand_over(after_jump, Py_True);
    }
    exception_paths();
    return part_.finish();
  }

 private:
  // From the top down every item goes to a slot; contexts are left when they come up. Then all of them as a tuple.
  void hand_over(const std::vector<bool>& is_null, PyObject* jumped) {
    const Handler innermost = context_handler(static_cast<int>(layout_.contexts.size()) - 1);
    int open = static_cast<int>(layout_.contexts.size());
    part_.set_handler(innermost);
    for (int item = static_cast<int>(is_null.size()) - 1; item >= 0; --item) {
      if (open > 0 && layout_.contexts[open - 1].stack_index == item) {
        part_.set_handler(context_handler(--open - 1));
        part_.leave_context();
      } else {
        part_.emit(Opcode::STORE_FAST, part_.stack_slot(item));
      }
    }
    int count = 0;
    if (jumped) {
      part_.emit(Opcode::LOAD_CONST, part_.constant(jumped));
      ++count;
    }
    for (std::size_t item = 0; item < is_null.size(); ++item) {
      if (is_null[item]) continue;
      part_.emit(Opcode::LOAD_FAST, part_.stack_slot(static_cast<int>(item)));
      ++count;
    }
    part_.emit(Opcode::BUILD_TUPLE, count);
    part_.emit(Opcode::RETURN_VALUE);
  }

  Handler context_handler(int context) const {
    if (context < 0) return {};
    return {-2 - context, layout_.contexts[context].stack_index + 1, true};
  }

  // What `with` compiles to: call the exit function with the exception; its answer is ignored, since library managers
  // swallow nothing, and the exception goes on to the next context outside.
  void exception_paths() {
    std::vector<int> labels;
    for (int k = static_cast<int>(layout_.contexts.size()) - 1; k >= 0; --k) {
      labels.insert(labels.begin(), part_.size());
      const int cleanup = part_.size() + 4;
      part_.set_handler({cleanup, layout_.contexts[k].stack_index + 3, true});
      part_.emit(Opcode::PUSH_EXC_INFO);
      part_.emit(Opcode::WITH_EXCEPT_START);
      part_.emit(Opcode::POP_TOP);
      part_.emit(Opcode::RERAISE, 2);
      part_.set_handler(context_handler(k - 1));
      part_.emit(Opcode::COPY, 3);
      part_.emit(Opcode::POP_EXCEPT);
      part_.emit(Opcode::RERAISE, 1);
    }
    for (Instruction& i : part_.out().instructions) {
      if (i.handler.label <= -2) i.handler.label = labels[-2 - i.handler.label];
    }
  }

  const CodeBody& body_;
  const BreakLayout& layout_;
  const Instruction& instruction_;
  SplitPart part_;
};

// Which items are NULL after the instruction, or at its target.
std::vector<bool> stack_after(const Instruction& i, const std::vector<bool>& before, bool jumped) {
  std::vector<bool> after = before;
  switch (i.op) {
    case Opcode::COPY:
      after.push_back(after[after.size() - i.a]);
      return after;
    case Opcode::SWAP: {
      const bool top = after.back();
      after.back() = after[after.size() - i.a];
      after[after.size() - i.a] = top;
      return after;
    }
    case Opcode::PUSH_NULL:
      after.push_back(true);
      return after;
    default:
      break;
  }
  const Effect e = stack_effect(i);
  const std::size_t depth = before.size() - e.pop + e.push;
  after.resize(before.size() - e.pop);
  after.resize(jumped ? depth_at_target(i, static_cast<int>(before.size())) : depth);
  const bool method = (i.op == Opcode::LOAD_ATTR || i.op == Opcode::LOAD_SUPER_ATTR) && (i.b & 1);
  if (method) after[after.size() - (kNullAboveCallable ? 1 : 2)] = true;
  return after;
}

}  // namespace

PartCode resume_at(const CodeBody& body, const BreakLayout& layout) {
  const std::vector<bool> bound = passed_slots(body, layout);
  return make_resume(body, layout, bound, line_only(body, layout.instruction));
}

SplitCode split(const CodeBody& body, const BreakLayout& layout) {
  const std::vector<bool> bound = passed_slots(body, layout);
  const Instruction& i = body.instructions[layout.instruction];
  if (!can_stand_alone(i.op)) refuse(opcode_name(i.op));
  for (std::size_t k = 0; k < layout.contexts.size(); ++k) {
    const int item = layout.contexts[k].stack_index;
    const int lowest = k == 0 ? 0 : layout.contexts[k - 1].stack_index + 1;
    if (item < lowest || item >= static_cast<int>(layout.stack_is_null.size())) refuse("contexts are out of order");
    if (item >= static_cast<int>(layout.stack_is_null.size()) - stack_effect(i).pop) refuse("it uses an exit function");
  }
  SplitCode out;
  const Position at = line_only(body, layout.instruction);
  out.line = at.line;
  BreakLayout after = layout;
  if (!ends_block(i.op)) {
    out.resume_stack_is_null = stack_after(i, layout.stack_is_null, false);
    after.instruction = layout.instruction + 1;
    after.stack_is_null = out.resume_stack_is_null;
    out.resume = make_resume(body, after, bound, at);
  }
  if (i.target >= 0) {
    out.taken_stack_is_null = stack_after(i, layout.stack_is_null, true);
    after.instruction = i.target;
    after.stack_is_null = out.taken_stack_is_null;
    out.resume_taken = make_resume(body, after, bound, at);
  }
  out.break_part = BreakPart(body, layout, bound).run(out.resume_stack_is_null, out.taken_stack_is_null);
  return out;
}

void make_methods_plain(CodeBody& body) {
  std::vector<Instruction> out;
  std::vector<int> place;
  for (Instruction& i : body.instructions) {
    place.push_back(static_cast<int>(out.size()));
    const bool method = (i.op == Opcode::LOAD_ATTR || i.op == Opcode::LOAD_SUPER_ATTR) && (i.b & 1);
    out.push_back(std::move(i));
    if (!method) continue;
    out.back().b &= ~1;
    Instruction null = out.back();
    null.offset = -1;
    null.op = Opcode::PUSH_NULL;
    null.a = null.b = 0;
    null.orig_name = "";
    out.push_back(null);
    if (kNullAboveCallable) continue;
    null.op = Opcode::SWAP;
    null.a = 2;
    out.push_back(null);
  }
  for (Instruction& i : out) {
    if (i.target >= 0) i.target = place[i.target];
    if (i.handler.label >= 0) i.handler.label = place[i.handler.label];
  }
  body.instructions = std::move(out);
}

}  // namespace md
