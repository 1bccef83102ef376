// From statements to instructions: what the decoders of single opcodes build with.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program.h"
#include "ptx_lexer.h"
#include "warp.h"

namespace emulated {

class Decoder;
using DecodeOne = void (*)(Decoder&, Instruction&);
using DecodeTable = std::unordered_map<std::string_view, DecodeOne>;
// The opcodes of each file.
void add_integer_opcodes(DecodeTable& table);
void add_bit_opcodes(DecodeTable& table);
void add_float_opcodes(DecodeTable& table);
void add_compare_opcodes(DecodeTable& table);
void add_convert_opcodes(DecodeTable& table);
void add_move_opcodes(DecodeTable& table);
void add_memory_opcodes(DecodeTable& table);
void add_atomic_opcodes(DecodeTable& table);
void add_copy_opcodes(DecodeTable& table);
void add_exchange_opcodes(DecodeTable& table);
void add_matrix_opcodes(DecodeTable& table);
void add_control_opcodes(DecodeTable& table);

// Where a variable lies: an offset into its space, an address of the device where that is global.
struct Symbol {
  Space space = Space::kGlobal;
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  bool is_function = false;
  bool of_entry = false;  // a kernel's parameter
};

// The module while it is decoded.
struct Decoding {
  Program& program;
  std::map<std::string, Symbol> symbols;  // of the module
  std::map<std::pair<unsigned, std::uint64_t>, Row> constants;
  int capability = 0;  // 75 of a module for sm_75
};

class Decoder {
 public:
  Decoder(Decoding& module, const FunctionSyntax& syntax, Function& function);
  void run();

  [[noreturn]] void fail(const std::string& what) const;
  const Statement& statement() const { return *statement_; }
  std::size_t count() const { return statement_->operands.size(); }
  const Operand& operand(std::size_t index) const;
  void want(std::size_t operands) const;
  void need_capability(int least) const;

  // Modifiers, each used up when asked for; those left over are an error.
  bool take(std::string_view modifier);
  void take_any(std::initializer_list<std::string_view> modifiers);
  Type take_type();  // the next that is one; kNone
  Type want_type();
  std::string_view take_next();      // the next that is left, empty if none is
  Rounding take_rounding();          // rn, rz, rm, rp, rni, ...
  std::uint16_t take_float_flags();  // ftz, sat

  // Operands. A source may be a register, a number or a special register; `bytes` are those of its register (0: a
  // predicate).
  Row source(const Operand& operand, Type type);
  Row source(std::size_t index, Type type) { return source(operand(index), type); }
  Row target(const Operand& operand, unsigned bytes);
  Row target(std::size_t index, unsigned bytes) { return target(operand(index), bytes); }
  // Any register: its size is told.
  Row any_register(const Operand& operand, std::uint8_t& bytes);
  // A predicate, perhaps with a "!" before it.
  Row predicate(const Operand& operand, bool& negated);
  Row constant(unsigned bytes, std::uint64_t bits);
  std::uint64_t number(std::size_t index) const;
  bool is_register(const Operand& operand) const;
  unsigned register_bytes(const Operand& operand) const;
  const Symbol* symbol(const std::string& name) const;
  std::uint64_t address_of(const Symbol& symbol) const;  // as mov gives it
  std::uint32_t label(const std::string& name) const;
  std::uint32_t function(const std::string& name) const;
  bool has_function(const std::string& name) const { return module_.program.by_name.count(name) != 0; }
  const std::vector<std::string>* branch_targets(const std::string& name) const;
  // Keeps further rows and gives the place of the first.
  std::uint32_t keep(const std::vector<Row>& rows);
  // An operand in brackets: the row of its base (a constant where it has no register) and its offset.
  void address(const Operand& operand, Instruction& made);
  Decoding& module() { return module_; }
  const Function& own() const { return function_; }
  // What is found by a variable's name in brackets.
  struct At {
    Space space;
    std::uint64_t address;
    bool of_entry;
  };
  std::optional<At> variable_at(const Operand& operand) const;

 private:
  void place_variables();
  void place_registers();
  void one(const Statement& statement);

  Decoding& module_;
  const FunctionSyntax& syntax_;
  Function& function_;
  const Statement* statement_ = nullptr;
  std::vector<bool> used_;
  struct Register {
    Row row;
    std::uint8_t bytes;
  };
  std::unordered_map<std::string, Register> registers_;
  std::map<std::string, Symbol> symbols_;
  std::map<std::string, std::uint32_t> labels_;
};

const DecodeTable& decode_table();

}  // namespace emulated
