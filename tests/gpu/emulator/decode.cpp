// Looks up the names of statements and hands each to the decoder of its opcode.
#include "decode.h"

#include <fmt/format.h>

#include <algorithm>

namespace emulated {
namespace {

std::uint32_t aligned(std::size_t value, std::size_t to) {
  return static_cast<std::uint32_t>((value + to - 1) / to * to);
}

void fell_off(Warp& warp, const Instruction&) {
  warp.fail(kIllegalInstruction, "illegal instruction", "the end of the function is reached without ret");
}

}  // namespace

const DecodeTable& decode_table() {
  static const DecodeTable table = [] {
    DecodeTable made;
    add_integer_opcodes(made);
    add_bit_opcodes(made);
    add_float_opcodes(made);
    add_compare_opcodes(made);
    add_convert_opcodes(made);
    add_move_opcodes(made);
    add_memory_opcodes(made);
    add_atomic_opcodes(made);
    add_copy_opcodes(made);
    add_exchange_opcodes(made);
    add_matrix_opcodes(made);
    add_control_opcodes(made);
    return made;
  }();
  return table;
}

Decoder::Decoder(Decoding& module, const FunctionSyntax& syntax, Function& function)
    : module_(module), syntax_(syntax), function_(function) {
  place_variables();
  place_registers();
  function_.shared_bytes = module_.program.static_shared;
}

void Decoder::fail(const std::string& what) const {
  int line = statement_ ? statement_->line : syntax_.line;
  throw PtxError(line, statement_ ? fmt::format("{}: {}", statement_->text(), what) : what);
}

void Decoder::need_capability(int least) const {
  if (module_.capability < least) fail(fmt::format("this needs .target sm_{} or higher", least));
}

// Local variables and the parameters of functions lie in each thread's local memory, shared ones behind those of the
// functions before, kernels' parameters where the launch keeps them.
void Decoder::place_variables() {
  std::size_t local = 0, parameters = 0;
  auto place = [&](const Variable& one, bool parameter) -> Placed {
    Symbol symbol{one.space, 0, one.bytes, false, false};
    if (parameter && syntax_.is_entry) {
      parameters = aligned(parameters, one.alignment);
      symbol.address = parameters;
      symbol.of_entry = true;
      parameters += one.bytes;
    } else if (one.space == Space::kLocal || one.space == Space::kParam) {
      symbol.space = Space::kLocal;
      local = aligned(local, std::max<std::size_t>(one.alignment, 4));
      symbol.address = local;
      local += one.bytes;
    } else if (one.space == Space::kShared) {
      module_.program.static_shared = aligned(module_.program.static_shared, one.alignment);
      symbol.address = module_.program.static_shared;
      module_.program.static_shared += static_cast<std::uint32_t>(one.bytes);
    } else {
      throw PtxError(syntax_.line, fmt::format("\"{}\": global variables in functions are not supported", one.name));
    }
    symbols_[one.name] = symbol;
    return {static_cast<std::uint32_t>(symbol.address), static_cast<std::uint32_t>(one.bytes)};
  };
  for (const Variable& one : syntax_.results) function_.results.push_back(place(one, false));
  for (const Variable& one : syntax_.parameters) function_.parameters.push_back(place(one, true));
  for (const Variable& one : syntax_.variables) place(one, false);
  function_.local_used = local;
  function_.local_bytes = aligned(local, 16);
}

void Decoder::place_registers() {
  std::size_t offset = 320;  // before: the row of results that nobody wants, and the carries
  for (unsigned bytes : {8u, 4u, 2u, 0u})
    for (const auto& [name, declared] : syntax_.registers) {
      unsigned own = std::max(bytes_of(declared.type), declared.type == Type::kPred ? 0u : 2u);
      if (own > 8) throw PtxError(syntax_.line, "registers of 128 bits are not supported");
      if (own != bytes) continue;
      registers_[name] = {static_cast<Row>(offset), static_cast<std::uint8_t>(own)};
      offset += own ? own * kLanes : 4;
    }
  function_.frame_bytes = aligned(offset, 64);
  if (offset > kRowOffset) throw PtxError(syntax_.line, "more registers than can be");
}

void Decoder::run() {
  Program& program = module_.program;
  function_.begin = static_cast<std::uint32_t>(program.code.size());
  for (const auto& [name, at] : syntax_.labels) labels_[name] = function_.begin + static_cast<std::uint32_t>(at);
  for (const Statement& statement : syntax_.statements) one(statement);
  statement_ = nullptr;
  Instruction end;
  end.run = fell_off;
  end.line = syntax_.line;
  program.code.push_back(end);
  program.opcodes.push_back("end");
  function_.end = static_cast<std::uint32_t>(program.code.size());
}

void Decoder::one(const Statement& statement) {
  statement_ = &statement;
  used_.assign(statement.modifiers.size(), false);
  Instruction made;
  made.line = statement.line;
  made.source_line = statement.source_line;
  made.source_file = statement.source_file;
  auto found = decode_table().find(statement.opcode);
  if (found == decode_table().end()) fail("this instruction is not supported");
  if (!statement.guard.empty()) {
    Operand guard;
    guard.name = statement.guard;
    bool negated = false;
    made.guard = predicate(guard, negated);
    made.guard_negated = statement.guard_negated;
  }
  found->second(*this, made);
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i]) fail(fmt::format("the form \".{}\" is not supported", statement.modifiers[i]));
  if (!made.run) fail("this form is not supported");
  module_.program.code.push_back(made);
  module_.program.opcodes.push_back(statement.text());
}

}  // namespace emulated
