// Cuts a function at any instruction for tests, and puts a NOP before every instruction, which lengthens jumps.
#include "frontend/bytecode/stop_before.h"

#include <algorithm>

#include "frontend/bytecode/effects.h"
#include "frontend/bytecode/flow.h"
#include "frontend/bytecode/raw_opcodes.h"

namespace md {
namespace {

class Stop {
 public:
  Stop(const CodeBody& body, const BreakLayout& layout) : layout_(layout), out_(body) {}

  PyRef run(PyRef marker) {
    add_slots();
    std::vector<Instruction> block = hand_over(out_.add_const(std::move(marker)));
    auto& code = out_.instructions;
    const int at = layout_.instruction, length = static_cast<int>(block.size());
    const auto moved = [&](int label) { return label > at ? label + length : label; };
    for (Instruction& i : code) {
      if (i.target >= 0) i.target = moved(i.target);
      if (i.handler.label >= 0) i.handler.label = moved(i.handler.label);
      i.offset = -1;
    }
    code.insert(code.begin() + at, block.begin(), block.end());
    return assemble(out_);
  }

 private:
  // Scratch slots go behind the locals; cells and frees move up.
  void add_slots() {
    const auto is_local = [](std::uint8_t kind) { return (kind & kSlotLocal) != 0; };
    first_ = static_cast<int>(std::count_if(out_.slot_kinds.begin(), out_.slot_kinds.end(), is_local));
    const int count = static_cast<int>(layout_.stack_is_null.size());
    const PyRef name = checked(PyUnicode_FromString("___scratch"));
    out_.slot_names.insert(out_.slot_names.begin() + first_, count, name);
    out_.slot_kinds.insert(out_.slot_kinds.begin() + first_, count, kSlotLocal);
    for (Instruction& i : out_.instructions) {
      if (has_slot_operand(i.op)) i.a = moved_slot(i.a);
    }
  }
  int moved_slot(int slot) const {
    return slot < first_ ? slot : slot + static_cast<int>(layout_.stack_is_null.size());
  }

  std::vector<Instruction> hand_over(int marker) const {
    std::vector<Instruction> block;
    const auto emit = [&](Opcode op, int a = 0) {
      Instruction& i = block.emplace_back();
      i.op = op;
      i.a = a;
      i.pos = out_.instructions[layout_.instruction].pos;
    };
    const int depth = static_cast<int>(layout_.stack_is_null.size());
    for (int k = depth - 1; k >= 0; --k) emit(Opcode::STORE_FAST, first_ + k);
    emit(Opcode::LOAD_CONST, marker);
    for (int k = 0; k < depth; ++k) {
      if (!layout_.stack_is_null[k]) emit(Opcode::LOAD_FAST, first_ + k);
    }
    for (std::size_t k = 0; k < layout_.slot_bound.size(); ++k) {
      if (!layout_.slot_bound[k]) continue;
      const int slot = moved_slot(static_cast<int>(k));
      const bool is_cell = out_.slot_kinds[slot] & (kSlotCell | kSlotFree);
      emit(is_cell ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST, slot);
    }
    emit(Opcode::BUILD_TUPLE, static_cast<int>(block.size()) - depth);
    emit(Opcode::RETURN_VALUE);
    return block;
  }

  const BreakLayout& layout_;
  CodeBody out_;
  int first_ = 0;
};

bool known(const FlowState& s) {
  const auto sure = [](Item i) { return i != Item::ValueOrNull; };
  const auto settled = [](SlotState k) { return k != SlotState::Either; };
  return std::all_of(s.stack.begin(), s.stack.end(), sure) && std::all_of(s.slots.begin(), s.slots.end(), settled);
}

// What CPython expects directly behind its predecessor, or one real instruction with it before 3.13.
bool follows_directly(const CodeBody& body, std::size_t k) {
  const Opcode op = body.instructions[k].op, before = k ? body.instructions[k - 1].op : Opcode::NOP;
  const bool prologue = op == Opcode::MAKE_CELL || op == Opcode::COPY_FREE_VARS || op == Opcode::RETURN_GENERATOR;
  return k == 0 || prologue || before == Opcode::RETURN_GENERATOR || op == Opcode::RESUME || op == Opcode::END_SEND ||
         op == Opcode::YIELD_VALUE || op == Opcode::SET_FUNCTION_ATTRIBUTE || before == Opcode::LOAD_LOCALS ||
         before == Opcode::INTRINSIC_1 || (kMinor == 11 && before == Opcode::YIELD_VALUE);
}

}  // namespace

void pad_with_nops(CodeBody& body) {
  std::vector<Instruction> out;
  std::vector<int> place;
  for (std::size_t k = 0; k < body.instructions.size(); ++k) {
    Instruction& i = body.instructions[k];
    place.push_back(static_cast<int>(out.size()));
    i.offset = -1;
    if (!follows_directly(body, k)) {
      Instruction& nop = out.emplace_back();
      nop.op = Opcode::NOP;
      nop.pos = i.pos;
      nop.handler = i.handler;
    }
    out.push_back(std::move(i));
  }
  for (Instruction& i : out) {
    if (i.target >= 0) i.target = place[i.target];
    if (i.handler.label >= 0) i.handler.label = place[i.handler.label];
  }
  body.instructions = std::move(out);
}

std::vector<SplitPoint> split_points(const CodeBody& body) {
  std::vector<SplitPoint> out;
  const std::vector<FlowState> flow = analyse(body);
  bool started = false;
  for (std::size_t k = 0; k < flow.size(); ++k) {
    if (started && flow[k].reached && known(flow[k])) {
      SplitPoint point{static_cast<int>(k), {static_cast<int>(k), {}, {}, {}}};
      for (const Item i : flow[k].stack) point.layout.stack_is_null.push_back(i == Item::Null);
      for (const SlotState s : flow[k].slots) point.layout.slot_bound.push_back(s == SlotState::Bound);
      out.push_back(std::move(point));
    }
    started |= body.instructions[k].op == Opcode::RESUME;
  }
  return out;
}

PyRef stop_before(const CodeBody& body, const BreakLayout& layout, PyRef marker) {
  return Stop(body, layout).run(std::move(marker));
}

}  // namespace md
