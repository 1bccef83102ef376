// Stack effects as a table: one row per canonical instruction, fixed counts or computed from the operand.
#include "frontend/bytecode/effects.h"

namespace md {
namespace {

constexpr int kVaries = -1;
enum EffectFlags { kEndsBlock = 1, kInlinesCall = 2, kPushesBool = 4 };

struct Row {
  Opcode op;
  int pop, push, flags;
};
constexpr Row kRows[] = {
#define MD_EFFECT(op, pop, push, flags) {Opcode::op, pop, push, flags},
#include "frontend/bytecode/effects.inc"
#undef MD_EFFECT
};

struct ByOpcode {
  Row rows[kOpcodeCount] = {};
};
constexpr ByOpcode by_opcode() {
  ByOpcode table;
  for (const Row& r : kRows) table.rows[static_cast<int>(r.op)] = r;
  return table;
}
constexpr ByOpcode kTable = by_opcode();
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kOpcodeCount, "every canonical instruction has one effect");

const Row& row(Opcode op) { return kTable.rows[static_cast<int>(op)]; }

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
  return {r.pop == kVaries ? pops(i) : r.pop, r.push == kVaries ? pushes(i) : r.push};
}

int depth_at_target(const Instruction& i, int depth) {
  if (i.op == Opcode::FOR_ITER) return depth - 1;
  const Effect e = stack_effect(i);
  return depth - e.pop + e.push;
}

bool ends_block(Opcode op) { return row(op).flags & kEndsBlock; }
bool inlines_call(Opcode op) { return row(op).flags & kInlinesCall; }

bool pushes_bool(const Instruction& i) {
  if (i.op == Opcode::COMPARE_OP) return i.b != 0;
  if (i.op == Opcode::UNARY_OP) return i.a == kUnaryNot;
  return row(i.op).flags & kPushesBool;
}

bool is_call(Opcode op) { return op == Opcode::CALL || op == Opcode::CALL_FUNCTION_EX; }
int items_above_callable(const Instruction& i) { return stack_effect(i).pop - 2; }

bool has_slot_operand(Opcode op) {
  switch (op) {
    case Opcode::LOAD_FAST:
    case Opcode::STORE_FAST:
    case Opcode::DELETE_FAST:
    case Opcode::LOAD_FAST_AND_CLEAR:
    case Opcode::MAKE_CELL:
    case Opcode::LOAD_CLOSURE:
    case Opcode::LOAD_DEREF:
    case Opcode::STORE_DEREF:
    case Opcode::DELETE_DEREF:
    case Opcode::LOAD_FROM_DICT_OR_DEREF:
      return true;
    default:
      return false;
  }
}

}  // namespace md
