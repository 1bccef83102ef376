// Canonical instructions: one small set for CPython 3.11, 3.12 and 3.13. The decoder produces them, the interpreter
// runs them, the assembler lowers them for the running version.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cpython/py_ref.h"

namespace md {

enum class Opcode : std::uint8_t {
#define MD_OPCODE(name, ...) name,
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE
};
const char* opcode_name(Opcode op);
constexpr int kOpcodeCount = 0
#define MD_OPCODE(...) +1
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE
    ;

// Absent members are -1.
struct Position {
  int line = -1, end_line = -1, column = -1, end_column = -1;
  bool operator==(const Position&) const = default;
};

// Where an exception raised here goes: nowhere (label < 0), or to `label` with the stack cut to `depth`.
struct Handler {
  int label = -1;
  int depth = 0;
  bool lasti = false;
  bool operator==(const Handler&) const = default;
};

// What dis shows as argval, in the body's tables: made into text only where somebody reads it.
struct PrintedOperand {
  enum class Kind : std::uint8_t { Nothing, None, Number, Name, Const, Slot, Compare, Format, Conversion };
  Kind kind = Kind::Nothing;
  int value = 0;
};

// A real instruction that has no canonical one of its own. Before a CALL: KW_NAMES and PRECALL, or the LOAD_CONST of
// the keyword names (3.13). After an exhausted FOR_ITER: END_FOR and its POP_TOP.
struct DroppedInstruction {
  int offset;
  const char* name;
  PrintedOperand arg;
  Position pos;
};

struct Instruction {
  Opcode op;
  // Operands, by opcode (see opcodes.inc): slot, name index, const index, count, operator number, flags.
  int a = 0;
  int b = 0;
  int target = -1;  // label: index into CodeBody::instructions
  PyRef kwnames;    // CALL: tuple of keyword names, or null
  Position pos;
  Handler handler;  // handler.label indexes CodeBody::instructions too
  // As CPython printed it before canonicalisation, for logs. One real instruction may become several: all have its
  // offset, the first its name; an empty name prints no line. Superinstructions and slices print as their parts.
  int offset = -1;             // bytes into co_code
  const char* orig_name = "";  // "LOAD_METHOD"
  PrintedOperand orig_arg;     // name, constant, count, jump target offset
  std::vector<DroppedInstruction> dropped;
};

enum SlotKind : std::uint8_t { kSlotHidden = 0x10, kSlotLocal = 0x20, kSlotCell = 0x40, kSlotFree = 0x80 };

struct CodeBody {
  std::vector<Instruction> instructions;
  std::vector<PyRef> consts;
  std::vector<PyRef> names;              // str
  std::vector<PyRef> slot_names;         // localsplus
  std::vector<std::uint8_t> slot_kinds;  // SlotKind bits
  int argcount = 0, posonlyargcount = 0, kwonlyargcount = 0;
  int flags = 0, firstlineno = 0;
  PyRef filename, name, qualname;    // str
  int slot(const char* name) const;  // -1 if there is none
  int add_const(PyRef v);
};

// str() of it; "None" where there is no operand, "" where nothing is printed.
std::string operand_text(const CodeBody& body, const PrintedOperand& operand);

// Throws PythonError (SystemError set) on code the running version cannot have produced.
std::unique_ptr<CodeBody> decode(PyCodeObject* code);
// New code object. Verifies NULL discipline and stack depth first (InternalError). decode(assemble(x)) is x;
// instructions that were one real instruction (equal offset) become one again.
PyRef assemble(const CodeBody& body);
// Stack depth before each instruction (-1: unreachable) and the maximum; throws InternalError on a mismatch at a merge.
std::vector<int> stack_depths(const CodeBody& body, int* max_depth = nullptr);

}  // namespace md

// Operand numbers of UNARY_OP and POP_JUMP_IF.
namespace md {
enum UnaryOp : int { kUnaryPositive, kUnaryNegative, kUnaryInvert, kUnaryNot };
// Where a call's NULL stands: below the callable up to 3.12, above it from 3.13.
inline constexpr bool kNullBelowCallable = PY_VERSION_HEX < 0x030D0000;
inline constexpr bool kCloseReturnsValue = PY_VERSION_HEX >= 0x030D0000;  // generator.close()
enum JumpIf : int { kJumpFalse, kJumpTrue, kJumpNone, kJumpNotNone };
enum Intrinsic1 : int {
  kIntrinsicPrint = 1,
  kIntrinsicImportStar = 2,
  kIntrinsicAsyncGenWrap = 4,
  kIntrinsicUnaryPositive = 5,  // canonically UNARY_OP
  kIntrinsicListToTuple = 6,
};
enum Intrinsic2 : int { kIntrinsicPrepReraiseStar = 1 };
}  // namespace md
