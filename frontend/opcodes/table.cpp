// The dispatch table: the blocks of all families by opcode; an opcode without a block is GB0082.
#include "frontend/opcodes/family.h"
#include "ir/graph/mutation.h"

namespace md {

static std::string instruction_name(const Instruction& i) { return *i.orig_name ? i.orig_name : opcode_name(i.op); }
static std::string instruction_operand(const SymbolicFrame& f, const Instruction& i) {
  const std::string operand = operand_text(*f.body, i.orig_arg);
  return operand.empty() ? "None" : operand;
}

void no_handler(const SymbolicFrame& f, const Instruction& i) {
  graph_break<GB0082>(instruction_name(i), instruction_operand(f, i));
}

void listed_instruction(const SymbolicFrame& f, const Instruction& i) {
  listed_break<GB0082>(instruction_name(i), instruction_operand(f, i));
}

#define MD_OPCODE(name, pop, push, slot, properties, handler) DECLARE_##handler(name)
#define DECLARE_Traced(name) OPCODE(name);
#define DECLARE_Untraced(name)
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE

namespace {

void missing(Tracer&, SymbolicFrame& f, const Instruction& i) { no_handler(f, i); }

constexpr OpcodeHandler kHandlers[] = {
#define MD_OPCODE(name, pop, push, slot, properties, handler) HANDLER_##handler(name),
#define HANDLER_Traced(name) trace_##name
#define HANDLER_Untraced(name) missing
#include "frontend/bytecode/opcodes.inc"
#undef MD_OPCODE
};

}  // namespace

OpcodeHandler opcode_handler(Opcode op) {
#ifdef MINIDYNAMO_MUTATE
  if (is_mutated("opcode", opcode_name(op))) return missing;  // as if its block were gone
#endif
  return kHandlers[static_cast<std::size_t>(op)];
}

}  // namespace md
