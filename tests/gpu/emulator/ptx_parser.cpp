// Reads PTX: directives, variables, functions and their statements.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ptx_lexer.h"
#include "ptx_syntax.h"

namespace emulated {
namespace {

float single_of(const Operand& value) {
  if (value.kind == Operand::kInteger) return static_cast<float>(static_cast<std::int64_t>(value.bits));
  double wide;
  std::uint32_t bits = static_cast<std::uint32_t>(value.bits);
  float narrow;
  std::memcpy(&wide, &value.bits, 8);
  std::memcpy(&narrow, &bits, 4);
  return value.single ? narrow : static_cast<float>(wide);
}

double double_of(const Operand& value) {
  if (value.single || value.kind == Operand::kInteger) return single_of(value);
  double wide;
  std::memcpy(&wide, &value.bits, 8);
  return wide;
}

class TokenReader {
 protected:
  explicit TokenReader(std::string_view text) : tokens_(ptx_tokens(text)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(place_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[std::min(place_++, tokens_.size() - 1)]; }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return token.text == text && token.kind != Token::kString && token.kind != Token::kEnd;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    ++place_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const { throw PtxError(peek().line, what); }
  void expect(std::string_view text) {
    if (!accept(text)) fail(fmt::format("\"{}\" expected before \"{}\"", text, peek().text));
  }
  std::string word() {
    if (peek().kind != Token::kWord) fail(fmt::format("a name expected before \"{}\"", peek().text));
    return std::string(take().text);
  }
  std::int64_t integer() {
    bool minus = accept("-");
    if (peek().kind != Token::kInteger) fail(fmt::format("a number expected before \"{}\"", peek().text));
    auto value = static_cast<std::int64_t>(take().bits);
    return minus ? -value : value;
  }
  void skip_to(std::string_view text) {
    while (!is(text) && peek().kind != Token::kEnd) ++place_;
    expect(text);
  }

  std::vector<Token> tokens_;
  std::size_t place_ = 0;
};

class OperandReader : protected TokenReader {
 protected:
  using TokenReader::TokenReader;

  std::string resolved(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = scope->find(name); found != scope->end()) return found->second;
    return name;
  }

  std::vector<Operand> operand_list(std::string_view end) {
    std::vector<Operand> parts;
    while (!accept(end)) {
      parts.push_back(operand());
      if (!is(end)) expect(",");
    }
    return parts;
  }

  Operand operand() {
    Operand made;
    if (is("{") || is("(")) {
      made.kind = Operand::kList;
      made.parts = operand_list(take().text == "{" ? "}" : ")");
      return made;
    }
    if (accept("[")) return address();
    if (accept("!")) {
      made.kind = Operand::kNot;
      made.name = resolved(word());
      return made;
    }
    if (peek().kind == Token::kWord) return named();
    bool minus = accept("-");
    const Token& token = take();
    if (token.kind != Token::kInteger && token.kind != Token::kFloat)
      throw PtxError(token.line, fmt::format("\"{}\" is no operand", token.text));
    made.kind = token.kind == Token::kInteger ? Operand::kInteger : Operand::kFloat;
    made.bits = token.bits;
    made.single = token.single;
    made.negative = minus;
    if (minus && made.kind == Operand::kInteger) made.bits = -made.bits;
    if (minus && made.kind == Operand::kFloat) made.bits ^= std::uint64_t{1} << (made.single ? 31 : 63);
    return made;
  }

  Operand named() {
    Operand made;
    made.name = resolved(word());
    if (accept("|")) {
      Operand pair, second;
      second.name = resolved(word());
      pair.kind = Operand::kPair;
      pair.parts = {made, second};
      return pair;
    }
    if (is("+") || is("-")) {  // the address of a variable, moved
      made.kind = Operand::kAddress;
      made.offset = take().text == "+" ? integer() : -integer();
    }
    return made;
  }

  Operand address() {
    Operand made;
    made.kind = Operand::kAddress;
    if (peek().kind == Token::kInteger || is("-"))
      made.offset = integer();
    else
      made.name = resolved(word());
    if (is("+") || is("-")) made.offset += take().text == "+" ? integer() : -integer();
    expect("]");
    return made;
  }

  std::vector<std::unordered_map<std::string, std::string>> scopes_;  // from names to those that the function has once
};

class VariableReader : protected OperandReader {
 protected:
  using OperandReader::OperandReader;

  std::optional<Space> variable_space() {
    static const std::pair<std::string_view, Space> kSpaces[] = {{".global", Space::kGlobal},
                                                                 {".shared", Space::kShared},
                                                                 {".local", Space::kLocal},
                                                                 {".const", Space::kConst},
                                                                 {".param", Space::kParam}};
    for (auto [text, space] : kSpaces)
      if (accept(text)) return space;
    return std::nullopt;
  }

  // --- variables: ".align 4 .b8 name[16] = {...}, other"
  std::vector<Variable> variables(Space space) {
    Variable pattern;
    pattern.space = space;
    unsigned lanes = 1;
    while (true) {
      if (accept(".align")) {
        pattern.alignment = static_cast<std::size_t>(integer());
      } else if (accept(".v2")) {
        lanes = 2;
      } else if (accept(".v4")) {
        lanes = 4;
      } else if (accept(".ptr")) {
        while (is(".global") || is(".shared") || is(".local") || is(".const")) take();
        if (accept(".align")) integer();
      } else if (accept(".attribute")) {
        skip_to(")");
      } else if (peek().kind == Token::kWord && peek().text[0] == '.') {
        pattern.type = type_of(take().text.substr(1));
        if (pattern.type == Type::kNone) fail("a type expected");
      } else {
        break;
      }
    }
    if (pattern.type == Type::kNone) fail("a variable without a type");
    std::size_t size = bytes_of(pattern.type) * lanes;
    if (!pattern.alignment) pattern.alignment = std::max<std::size_t>(size, 1);
    std::vector<Variable> made;
    do {
      Variable one = pattern;
      one.name = word();
      one.bytes = size * dimensions();
      if (accept("=")) initial_values(one);
      made.push_back(std::move(one));
    } while (space != Space::kParam && accept(","));
    return made;
  }

  std::size_t dimensions() {
    std::size_t count = 1;
    while (accept("[")) {
      if (!is("]")) {
        std::int64_t extent = integer();
        if (extent < 0 || extent > (std::int64_t{1} << 32)) fail("an extent that no variable has");
        count *= static_cast<std::size_t>(extent);
      } else {
        count = 0;
      }
      expect("]");
    }
    return count;
  }

  void initial_values(Variable& one) {
    int depth = 0;
    std::size_t size = bytes_of(one.type), at = 0;
    do {
      if (accept("{")) {
        ++depth;
      } else if (accept("}")) {
        --depth;
      } else if (!accept(",")) {
        if (at + size > std::max(one.bytes, size)) fail("more values than the variable holds");
        initial_value(one, at, size);
        at += size;
      }
    } while (depth);
    if (!one.bytes) one.bytes = at;
    one.initial.resize(one.bytes);
  }

  void initial_value(Variable& one, std::size_t at, std::size_t size) {
    one.initial.resize(at + size);
    if (peek().kind == Token::kWord) {
      std::string name = word();
      bool generic = name == "generic";
      if (generic) expect("("), name = word(), expect(")");
      if (name[0] == '0') fail("an address expected");
      std::int64_t addend = accept("+") ? integer() : 0;
      if (size != 8) fail("an address where there is no room for one");
      one.references.push_back({at, name, addend});
      return;
    }
    Operand value = operand();
    if (one.type == Type::kF32) {
      float narrow = single_of(value);
      std::memcpy(&one.initial[at], &narrow, 4);
    } else if (one.type == Type::kF64) {
      double wide = double_of(value);
      std::memcpy(&one.initial[at], &wide, 8);
    } else {
      std::memcpy(&one.initial[at], &value.bits, std::min<std::size_t>(size, 8));
    }
  }
};

class Parser : VariableReader {
 public:
  explicit Parser(std::string_view text) : VariableReader(text) {}

  ModuleSyntax run() {
    while (peek().kind != Token::kEnd) top_level();
    if (module_.version.empty()) throw PtxError(1, "a .version is missing");
    if (module_.target.empty()) throw PtxError(1, "a .target is missing");
    return std::move(module_);
  }

 private:
  // --- the module
  void top_level() {
    if (accept(".version")) {
      if (peek().kind != Token::kFloat && peek().kind != Token::kInteger) fail("a version expected");
      module_.version = take().text;
    } else if (accept(".target")) {
      module_.target = word();
      while (accept(",")) word();
    } else if (accept(".address_size")) {
      module_.address_bits = static_cast<unsigned>(integer());
      if (module_.address_bits != 64) fail("only addresses of 64 bits are supported");
    } else if (accept(".file")) {
      file();
    } else if (accept(".section")) {
      skip_section();
    } else if (is(".pragma") || is(".alias")) {
      skip_to(";");
    } else {
      declaration();
    }
  }

  void file() {
    int number = static_cast<int>(integer());
    if (peek().kind != Token::kString) fail("the name of a file expected");
    module_.files[number] = take().text;
    while (accept(",")) integer();
  }

  void skip_section() {
    word();
    int depth = 0;
    do {
      if (peek().kind == Token::kEnd) fail("a section without end");
      depth += is("{") - is("}");
      ++place_;
    } while (depth);
  }

  // A variable or a function, with what may stand before them.
  void declaration() {
    bool is_extern = false;
    while (is(".visible") || is(".extern") || is(".weak") || is(".common")) is_extern |= take().text == ".extern";
    if (is(".entry") || is(".func")) {
      function();
      return;
    }
    auto space = variable_space();
    if (!space) fail(fmt::format("\"{}\" is no directive", peek().text));
    for (Variable& made : variables(*space)) {
      made.dynamic = is_extern && space == Space::kShared && !made.bytes;
      module_.variables.push_back(std::move(made));
    }
    expect(";");
  }

  // --- functions
  std::vector<Variable> parameter_list() {
    std::vector<Variable> made;
    expect("(");
    while (!is(")")) {
      if (accept(".reg")) fail("parameters in registers are not supported");
      expect(".param");
      made.push_back(std::move(variables(Space::kParam).front()));
      if (!is(")")) expect(",");
    }
    expect(")");
    return made;
  }

  void function() {
    FunctionSyntax made;
    made.line = peek().line;
    made.is_entry = take().text == ".entry";
    if (is("(")) made.results = parameter_list();
    made.name = word();
    if (is("(")) made.parameters = parameter_list();
    while (is(".maxntid") || is(".reqntid") || is(".minnctapersm") || is(".maxnreg") || is(".noreturn") ||
           is(".pragma") || is(".maxnctapersm") || is(".unified")) {
      if (is(".pragma")) {
        skip_to(";");
        continue;
      }
      std::string_view directive = take().text;
      unsigned product = 1;
      while (peek().kind == Token::kInteger) {
        product *= static_cast<unsigned>(take().bits);
        if (!accept(",")) break;
      }
      if (directive == ".maxntid" || directive == ".reqntid") made.max_threads = product;
    }
    function_ = &made;
    if (!accept(";")) {
      made.has_body = true;
      scopes_.assign(1, {});
      for (const Variable& one : made.results) scopes_.back()[one.name] = one.name;
      for (const Variable& one : made.parameters) scopes_.back()[one.name] = one.name;
      expect("{");
      body();
    }
    module_.functions.push_back(std::move(made));
  }

  void body() {
    source_line_ = source_file_ = 0;
    names_.clear();
    while (!scopes_.empty()) {
      if (peek().kind == Token::kEnd) fail("a function without end");
      if (accept("{")) {
        scopes_.emplace_back();
      } else if (accept("}")) {
        scopes_.pop_back();
      } else if (peek().kind == Token::kWord && is(":", 1)) {
        label();
      } else if (peek().kind == Token::kWord && peek().text[0] == '.') {
        local_directive();
      } else if (!accept(";")) {
        statement();
      }
    }
  }

  void label() {
    std::string name = word();
    expect(":");
    if (accept(".branchtargets")) {
      auto& targets = function_->branch_targets[name];
      do targets.push_back(word());
      while (accept(","));
      expect(";");
    } else if (accept(".callprototype")) {
      skip_to(";");
    } else if (!function_->labels.emplace(name, function_->statements.size()).second) {
      fail(fmt::format("the label \"{}\" is there twice", name));
    }
  }

  void local_directive() {
    if (accept(".reg")) {
      registers();
    } else if (accept(".loc")) {
      source_file_ = static_cast<int>(integer());
      source_line_ = static_cast<int>(integer());
      integer();
      while (accept(",")) {
        word();  // function_name, inlined_at
        while (peek().kind != Token::kEnd && !is(",") && peek().line == tokens_[place_ - 1].line) ++place_;
      }
    } else if (is(".pragma")) {
      skip_to(";");
    } else {
      accept(".extern");
      auto space = variable_space();
      if (!space) fail(fmt::format("\"{}\" is no directive of functions", peek().text));
      for (Variable& made : variables(*space)) {
        made.name = declared(made.name);
        function_->variables.push_back(std::move(made));
      }
      expect(";");
    }
  }

  // A name for what is declared in the innermost scope, that the function has once.
  std::string declared(const std::string& name) {
    std::string unique = name;
    if (names_.count(unique)) unique = fmt::format("{}#{}", name, ++renamed_);
    names_.insert(unique);
    scopes_.back()[name] = unique;
    return unique;
  }

  void registers() {
    if (accept(".v2") || accept(".v4")) fail("registers of vectors are not supported");
    Type type = type_of(std::string_view(word()).substr(1));
    if (type == Type::kNone) fail("a type of registers expected");
    do {
      std::string name = word();
      if (accept("<")) {
        std::int64_t count = integer();
        expect(">");
        if (count < 0 || count > 1'000'000) fail("more registers than can be");
        for (std::int64_t i = 0; i < count; ++i) function_->registers[declared(fmt::format("{}{}", name, i))] = {type};
      } else {
        function_->registers[declared(name)] = {type};
      }
    } while (accept(","));
    expect(";");
  }

  // --- statements
  void statement() {
    Statement made;
    made.line = peek().line;
    made.source_line = source_line_;
    made.source_file = source_file_;
    if (accept("@")) {
      made.guard_negated = accept("!");
      made.guard = resolved(word());
    }
    std::string full = word();
    for (std::size_t begin = 0, end; begin <= full.size(); begin = end + 1) {
      end = std::min(full.find('.', begin), full.size());
      if (!begin)
        made.opcode = full.substr(0, end);
      else
        made.modifiers.push_back(full.substr(begin, end - begin));
    }
    while (!accept(";")) {
      made.operands.push_back(operand());
      if (!is(";")) expect(",");
    }
    function_->statements.push_back(std::move(made));
  }

  ModuleSyntax module_;
  FunctionSyntax* function_ = nullptr;
  std::unordered_set<std::string> names_;  // of the function
  int renamed_ = 0, source_line_ = 0, source_file_ = 0;
};

}  // namespace

ModuleSyntax parse_ptx(std::string_view text) { return Parser(text).run(); }

}  // namespace emulated
