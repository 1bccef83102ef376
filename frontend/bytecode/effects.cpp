// The table of opcodes.inc, and the counts that depend on operands.
#include "frontend/bytecode/effects.h"

#include "frontend/bytecode/raw_opcodes.h"

namespace md {
namespace {

constexpr int kN = -1;  // as many as the operands say
enum Property {
  kEndsBlock = 1,
  kInlinesCall = 2,
  kPushesBool = 4,
  kMoves = 8,
  kFixed = 16,
  kFixedUntil312 = kMinor < 13 ? kFixed : 0,
  kResumable = 32,
  kQuiet = 64,
};

struct Row {
  int pop, push;
  SlotUse slot;
  int properties;
};
constexpr Row kRows[] = {
#define MD_OPCODE(name, pop, push, slot, properties, handler) {pop, push, SlotUse::slot, properties},
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE
};

const Row& row(Opcode op) { return kRows[static_cast<int>(op)]; }
bool has(Opcode op, Property p) { return (row(op).properties & p) != 0; }

int pops(const Instruction& i) {
  switch (i.op) {
    case Opcode::BUILD_MAP:
      return 2 * i.a;
    case Opcode::BUILD_CONST_KEY_MAP:
      return i.a + 1;
    case Opcode::FORMAT_VALUE:
      return 1 + i.b;
    case Opcode::CALL:
      return i.a + 2;
    case Opcode::CALL_FUNCTION_EX:
      return 3 + (i.a & 1);
    default:
      return i.a;  // the BUILD family and RAISE_VARARGS count in their operand
  }
}

int pushes(const Instruction& i) {
  switch (i.op) {
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_SUPER_ATTR:
      return 1 + (i.b & 1);
    case Opcode::UNPACK_EX:
      return i.a + 1 + i.b;
    default:
      return i.a;  // UNPACK_SEQUENCE
  }
}

}  // namespace

Effect stack_effect(const Instruction& i) {
  const Row& r = row(i.op);
  return {r.pop == kN ? pops(i) : r.pop, r.push == kN ? pushes(i) : r.push};
}

int depth_at_target(const Instruction& i, int depth) {
  if (i.op == Opcode::FOR_ITER) return depth - 1;
  const Effect e = stack_effect(i);
  return depth - e.pop + e.push;
}

SlotUse slot_use(Opcode op) { return row(op).slot; }
bool reads_slot(Opcode op) { return has_slot_operand(op) && slot_use(op) != SlotUse::Store; }
bool replaces_slot(Opcode op) {
  const SlotUse use = slot_use(op);
  return use == SlotUse::Store || use == SlotUse::Delete || use == SlotUse::Take || use == SlotUse::Enclose;
}

bool ends_block(Opcode op) { return has(op, kEndsBlock); }
bool inlines_call(Opcode op) { return has(op, kInlinesCall); }
bool only_moves(Opcode op) { return has(op, kMoves); }
bool can_stand_alone(Opcode op) { return !has(op, kFixed) && !replaces_slot(op); }
bool is_resumable(Opcode op) { return has(op, kResumable); }
bool is_quiet(Opcode op) { return has(op, kQuiet); }

bool pushes_bool(const Instruction& i) {
  if (i.op == Opcode::COMPARE_OP) return i.b != 0;
  if (i.op == Opcode::UNARY_OP) return i.a == kUnaryNot;
  return has(i.op, kPushesBool);
}

bool is_call(Opcode op) { return op == Opcode::CALL || op == Opcode::CALL_FUNCTION_EX; }
int items_above_callable(const Instruction& i) { return stack_effect(i).pop - 2; }

}  // namespace md
