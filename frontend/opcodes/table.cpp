// The dispatch table: every family's rows; an opcode without a row is GB0082.
#include <array>

#include "frontend/opcodes/family.h"
#include "ir/graph/mutation.h"

namespace md {

void no_handler(const SymbolicFrame& f, const Instruction& i) {
  const std::string operand = operand_text(*f.body, i.orig_arg);
  not_modelled<GB0082>(std::string(*i.orig_name ? i.orig_name : opcode_name(i.op)),
                       operand.empty() ? std::string("None") : operand);
}

namespace {

void missing(Tracer&, SymbolicFrame& f, const Instruction& i) { no_handler(f, i); }

std::array<OpcodeHandler, 256> build_table() {
  std::array<OpcodeHandler, 256> table;
  table.fill(missing);
  for (auto rows : {stack_opcodes(), name_opcodes(), operator_opcodes(), build_opcodes(), call_opcodes(),
                    control_opcodes(), exception_opcodes(), pattern_opcodes()})
    for (const OpcodeRow& r : rows) table[static_cast<std::size_t>(r.op)] = r.handler;
  return table;
}

}  // namespace

OpcodeHandler opcode_handler(Opcode op) {
#ifdef MINIDYNAMO_MUTATE
  if (is_mutated("opcode", opcode_name(op))) return missing;  // as if its block were gone
#endif
  static const std::array<OpcodeHandler, 256> table = build_table();
  return table[static_cast<std::size_t>(op)];
}

}  // namespace md
