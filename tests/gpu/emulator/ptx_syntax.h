// What a PTX text says, before names are looked up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace emulated {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kF32,
  kF64,
  kTf32,
  kU16x2,
  kS16x2,
};
// kNone where the word is no type.
Type type_of(std::string_view word);
std::string_view name_of(Type type);
unsigned bytes_of(Type type);  // 0 for predicates
bool is_float(Type type);
bool is_signed(Type type);

enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kConst };

struct Operand {
  enum Kind { kName, kInteger, kFloat, kAddress, kList, kNot, kPair };
  Kind kind = kName;
  std::string name;            // kName; kAddress with a name as its base; kNot
  std::uint64_t bits = 0;      // of a number
  bool single = false;         // a float's bits are those of 32
  bool negative = false;       // an integer written with a minus (its bits have it already)
  std::int64_t offset = 0;     // kAddress
  std::vector<Operand> parts;  // kList: {a, b} or (a, b); kPair: p|q
};

struct Statement {
  int line = 0, source_line = 0, source_file = 0;
  std::string guard;
  bool guard_negated = false;
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<Operand> operands;
  std::string text() const;  // opcode with its modifiers
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  std::size_t alignment = 0, bytes = 0;
  bool dynamic = false;  // extern .shared x[]
  std::vector<std::uint8_t> initial;
  struct Reference {
    std::size_t offset;
    std::string name;
    std::int64_t addend;
  };
  std::vector<Reference> references;  // addresses among the initial values
};

struct Register {
  Type type = Type::kNone;
};

struct FunctionSyntax {
  std::string name;
  bool is_entry = false, has_body = false;
  int line = 0;
  unsigned max_threads = 0;
  std::vector<Variable> results, parameters, variables;
  std::unordered_map<std::string, Register> registers;
  std::map<std::string, std::size_t> labels;                       // to the statement behind
  std::map<std::string, std::vector<std::string>> branch_targets;  // lists for brx.idx
  std::vector<Statement> statements;
};

struct ModuleSyntax {
  std::string version, target;
  unsigned address_bits = 64;
  std::map<int, std::string> files;
  std::vector<Variable> variables;
  std::vector<FunctionSyntax> functions;
};

// Throws PtxError.
ModuleSyntax parse_ptx(std::string_view text);

}  // namespace emulated
