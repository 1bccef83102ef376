// The data flow itself: states are joined along edges until nothing changes; a contradiction is an InternalError.
#include "frontend/bytecode/flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/bytecode/effects.h"
#include "frontend/bytecode/raw_opcodes.h"
#include "ir/core/error.h"

namespace md {
namespace {

bool may_be_value(Item i) { return i != Item::Null; }
bool is_value(Item i) { return i != Item::Null && i != Item::ValueOrNull; }
Item join(Item a, Item b) {
  if (a == b) return a;
  return is_value(a) && is_value(b) ? Item::Value : Item::ValueOrNull;
}
SlotState join(SlotState a, SlotState b) { return a == b ? a : SlotState::Either; }

template <class T>
bool join_into(std::vector<T>& into, const std::vector<T>& from) {
  bool changed = false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const T joined = join(into[i], from[i]);
    changed |= joined != into[i];
    into[i] = joined;
  }
  return changed;
}

SlotState stored(Item i) {
  return i == Item::Null ? SlotState::Unbound : i == Item::ValueOrNull ? SlotState::Either : SlotState::Bound;
}
Item taken(SlotState s) {
  return s == SlotState::Unbound ? Item::Null : s == SlotState::Either ? Item::ValueOrNull : Item::Value;
}

class Flow {
 public:
  explicit Flow(const CodeBody& body) : body_(body), states_(body.instructions.size()) {}

  std::vector<FlowState> run() {
    if (states_.empty()) throw InternalError("code without instructions");
    FlowState entry;
    entry.slots.assign(body_.slot_names.size(), SlotState::Unbound);
    const int arguments =
        body_.argcount + body_.kwonlyargcount + !!(body_.flags & CO_VARARGS) + !!(body_.flags & CO_VARKEYWORDS);
    if (arguments > static_cast<int>(entry.slots.size())) throw InternalError("more arguments than slots");
    std::fill_n(entry.slots.begin(), arguments, SlotState::Bound);
    reach(0, entry);
    while (!work_.empty()) {
      const int at = work_.back();
      work_.pop_back();
      visit(at);
    }
    return std::move(states_);
  }

 private:
  [[noreturn]] void fail(int at, const char* what) const {
    throw InternalError(fmt::format("bad code: {} at {} ({})", what, at, opcode_name(body_.instructions[at].op)));
  }

  void reach(int at, const FlowState& from) {
    if (at < 0 || at >= static_cast<int>(states_.size())) throw InternalError("code runs off its end");
    FlowState& to = states_[at];
    if (!to.reached) {
      to = from;
      to.reached = true;
      work_.push_back(at);
      return;
    }
    if (to.stack.size() != from.stack.size()) fail(at, "stack depths differ");
    const bool stack_changed = join_into(to.stack, from.stack);
    if (join_into(to.slots, from.slots) || stack_changed) work_.push_back(at);
  }

  void visit(int at) {
    const Instruction& i = body_.instructions[at];
    FlowState state = states_[at];
    if (i.handler.label >= 0) reach_handler(at, i.handler, state);
    if (static_cast<int>(state.stack.size()) < stack_effect(i).pop) fail(at, "stack underflow");
    if (i.op == Opcode::FOR_ITER) {
      FlowState exhausted = state;
      exhausted.stack.pop_back();
      reach(i.target, exhausted);
    }
    check_operands(at, i, state);
    apply(at, i, state);
    if (i.target >= 0 && i.op != Opcode::FOR_ITER) reach(i.target, state);
    if (!ends_block(i.op)) reach(at + 1, state);
  }

  void reach_handler(int at, const Handler& h, const FlowState& state) {
    if (static_cast<int>(state.stack.size()) < h.depth) fail(at, "stack below its handler's");
    FlowState caught{true, {state.stack.begin(), state.stack.begin() + h.depth}, state.slots};
    caught.stack.resize(h.depth + 1 + (h.lasti ? 1 : 0), Item::Value);
    reach(h.label, caught);
  }

  void check_operands(int at, const Instruction& i, const FlowState& s) const {
    if (has_slot_operand(i.op)) check_slot(at, i, s);
    if (slot_use(i.op) == SlotUse::Store || i.op == Opcode::SWAP) return;
    const int depth = static_cast<int>(s.stack.size());
    int pop = stack_effect(i).pop;
    if (i.op == Opcode::COPY) {
      if (i.a < 1 || i.a > depth) fail(at, "COPY below the stack");
      if (s.stack[depth - i.a] == Item::Null) fail(at, "COPY of NULL");
    }
    if (is_call(i.op)) {
      const int lower = depth - pop, upper = lower + 1;
      const int null_place = kNullAboveCallable ? upper : lower;
      if (s.stack[lower + upper - null_place] == Item::Null) fail(at, "NULL in the callable's place");
      if (i.op == Opcode::CALL_FUNCTION_EX && s.stack[null_place] != Item::Null)
        fail(at, "no NULL beside the callable");
      pop -= 2;
    }
    if (!std::all_of(s.stack.end() - pop, s.stack.end(), may_be_value)) fail(at, "NULL as an operand");
  }

  void check_slot(int at, const Instruction& i, const FlowState& s) const {
    if (i.a < 0 || i.a >= static_cast<int>(s.slots.size())) fail(at, "no such slot");
    if (slot_use(i.op) == SlotUse::Cell && s.slots[i.a] == SlotState::Unbound) fail(at, "no cell in the slot");
  }

  // The slot after the instruction; gives what it held.
  static Item use_slot(const Instruction& i, FlowState& s) {
    if (!has_slot_operand(i.op)) return Item::Null;
    SlotState& slot = s.slots[i.a];
    const Item held = taken(slot);
    switch (slot_use(i.op)) {
      case SlotUse::Store:
        slot = stored(s.stack.back());
        break;
      case SlotUse::Delete:
      case SlotUse::Take:
        slot = SlotState::Unbound;
        break;
      case SlotUse::Read:
      case SlotUse::Enclose:
        slot = SlotState::Bound;
        break;
      case SlotUse::Cell:
      case SlotUse::None:
        break;
    }
    return held;
  }

  void apply(int at, const Instruction& i, FlowState& s) const {
    auto& stack = s.stack;
    switch (i.op) {
      case Opcode::COPY:
        stack.push_back(stack[stack.size() - i.a]);
        return;
      case Opcode::SWAP:
        if (i.a < 1 || i.a > static_cast<int>(stack.size())) fail(at, "SWAP below the stack");
        std::swap(stack.back(), stack[stack.size() - i.a]);
        return;
      case Opcode::PUSH_NULL:
        stack.push_back(Item::Null);
        return;
      case Opcode::LOAD_CONST:
        stack.push_back(is_bool_const(at, i.a) ? Item::Bool : Item::Value);
        return;
      case Opcode::COPY_FREE_VARS:
        if (i.a > static_cast<int>(s.slots.size())) fail(at, "more free variables than slots");
        std::fill(s.slots.end() - i.a, s.slots.end(), SlotState::Bound);
        return;
      default:
        break;
    }
    const Effect e = stack_effect(i);
    const Item from_slot = use_slot(i, s);
    // Patterns compare a length and test the result without converting it, also on 3.13.
    const bool compares_length = i.op == Opcode::COMPARE_OP && stack[stack.size() - 2] == Item::Length;
    stack.resize(stack.size() - e.pop);
    stack.resize(stack.size() + e.push, Item::Value);
    if (pushes_bool(i) || compares_length) stack.back() = Item::Bool;
    if (i.op == Opcode::GET_LEN) stack.back() = Item::Length;
    if (slot_use(i.op) == SlotUse::Take) stack.back() = from_slot;
    const bool method = (i.op == Opcode::LOAD_ATTR || i.op == Opcode::LOAD_SUPER_ATTR) && (i.b & 1);
    if (method) stack[stack.size() - (kNullAboveCallable ? 1 : 2)] = Item::ValueOrNull;
  }

  bool is_bool_const(int at, int k) const {
    if (k < 0 || k >= static_cast<int>(body_.consts.size())) fail(at, "no such constant");
    return PyBool_Check(body_.consts[k].get());
  }

  const CodeBody& body_;
  std::vector<FlowState> states_;
  std::vector<int> work_;
};

}  // namespace

std::vector<FlowState> analyse(const CodeBody& body) { return Flow(body).run(); }

std::vector<int> stack_depths(const CodeBody& body, int* max_depth) {
  const auto& code = body.instructions;
  std::vector<int> depths(code.size(), -1), work;
  int deepest = 0;
  const auto reach = [&](int at, int depth) {
    if (at < 0 || at >= static_cast<int>(code.size())) throw InternalError("code runs off its end");
    deepest = std::max(deepest, depth);
    if (depths[at] == depth) return;
    if (depths[at] >= 0) throw InternalError(fmt::format("bad code: stack depths differ at {}", at));
    depths[at] = depth;
    work.push_back(at);
  };
  reach(0, 0);
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    const Instruction& i = code[at];
    const Effect e = stack_effect(i);
    const int depth = depths[at];
    if (depth < e.pop || depth < i.handler.depth)
      throw InternalError(fmt::format("bad code: stack underflow at {}", at));
    deepest = std::max(deepest, depth - e.pop + e.push);
    if (i.handler.label >= 0) reach(i.handler.label, i.handler.depth + 1 + (i.handler.lasti ? 1 : 0));
    if (i.target >= 0) reach(i.target, depth_at_target(i, depth));
    if (!ends_block(i.op)) reach(at + 1, depth - e.pop + e.push);
  }
  if (max_depth) *max_depth = deepest;
  return depths;
}

std::vector<int> reachable_from(const CodeBody& body, int entry) {
  std::vector<bool> seen(body.instructions.size());
  std::vector<int> work{entry}, out;
  while (!work.empty()) {
    int i = work.back();
    work.pop_back();
    for (; i < static_cast<int>(seen.size()) && !seen[i]; ++i) {
      seen[i] = true;
      out.push_back(i);
      const Instruction& at = body.instructions[i];
      if (at.handler.label >= 0) work.push_back(at.handler.label);
      if (at.target >= 0) work.push_back(at.target);
      if (ends_block(at.op)) break;
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace md
