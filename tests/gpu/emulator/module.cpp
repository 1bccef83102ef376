// From the text of a module to what runs: places its variables and functions, decodes them, fills in addresses.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "decode.h"
#include "executor.h"
#include "ptx_lexer.h"

namespace emulated {
namespace {

class Loader {
 public:
  Loader(std::string_view text, DeviceMemory& memory, Program& program)
      : syntax_(parse_ptx(text)), memory_(memory), program_(program), decoding_{program, {}, {}} {}

  void run(std::map<std::string, KernelInfo>& kernels, std::map<std::string, GlobalInfo>& globals) {
    program_.files = syntax_.files;
    for (char digit : syntax_.target)
      if (digit >= '0' && digit <= '9') decoding_.capability = 10 * decoding_.capability + (digit - '0');
    place_variables(globals);
    name_functions();
    std::vector<Decoder> decoders;
    decoders.reserve(syntax_.functions.size());
    for (bool entries : {false, true}) place_functions(entries, decoders);
    place_dynamic();
    for (Decoder& one : decoders) one.run();
    fill_variables(globals);
    for (const FunctionSyntax& one : syntax_.functions)
      if (one.is_entry && one.has_body) kernels[one.name] = info(one);
  }

  const ModuleSyntax& syntax() const { return syntax_; }

 private:
  void place_variables(std::map<std::string, GlobalInfo>& globals) {
    for (const Variable& one : syntax_.variables) {
      if (decoding_.symbols.count(one.name)) throw PtxError(1, fmt::format("\"{}\" is there twice", one.name));
      Symbol symbol{one.space, 0, one.bytes, false, false};
      if (one.space == Space::kShared) {
        std::size_t at = (program_.static_shared + one.alignment - 1) / one.alignment * one.alignment;
        symbol.address = at;
        if (!one.dynamic) program_.static_shared = static_cast<std::uint32_t>(at + one.bytes);
      } else if (one.space == Space::kGlobal || one.space == Space::kConst) {
        symbol.address = memory_.allocate(std::max<std::size_t>(one.bytes, 1));
        if (!symbol.address) throw PtxError(1, fmt::format("no memory for \"{}\"", one.name));
        globals[one.name] = {symbol.address, one.bytes};
      } else {
        throw PtxError(1, fmt::format("\"{}\" cannot be declared outside of functions", one.name));
      }
      decoding_.symbols[one.name] = symbol;
    }
  }

  void name_functions() {
    for (const FunctionSyntax& one : syntax_.functions) {
      auto [found, added] =
          program_.by_name.try_emplace(one.name, static_cast<std::uint32_t>(program_.functions.size()));
      if (added) program_.functions.emplace_back();
      Function& function = program_.functions[found->second];
      if (function.has_body && one.has_body) throw PtxError(one.line, fmt::format("\"{}\" is there twice", one.name));
      function.name = one.name;
      function.is_entry = one.is_entry;
      function.has_body |= one.has_body;
      function.max_threads = std::max(function.max_threads, one.max_threads);
    }
  }

  // Shared variables of functions lie before those of kernels, each of which has the rest for itself.
  void place_functions(bool entries, std::vector<Decoder>& decoders) {
    std::uint32_t begin = program_.static_shared;
    for (const FunctionSyntax& one : syntax_.functions) {
      if (!one.has_body || one.is_entry != entries) continue;
      if (entries) program_.static_shared = begin;
      decoders.emplace_back(decoding_, one, program_.functions[program_.by_name[one.name]]);
      most_shared_ = std::max(most_shared_, program_.static_shared);
    }
  }

  void place_dynamic() {
    program_.dynamic_shared = (std::max(most_shared_, program_.static_shared) + 127) / 128 * 128;
    for (const Variable& one : syntax_.variables)
      if (one.dynamic) decoding_.symbols[one.name].address = program_.dynamic_shared;
  }

  Address generic(const std::string& name, int line) const {
    if (auto found = decoding_.symbols.find(name); found != decoding_.symbols.end())
      return found->second.address + (found->second.space == Space::kShared ? kSharedWindow : 0);
    if (auto found = program_.by_name.find(name); found != program_.by_name.end())
      return kFunctionWindow + found->second;
    throw PtxError(line, fmt::format("\"{}\" is not declared", name));
  }

  void fill_variables(const std::map<std::string, GlobalInfo>& globals) {
    for (const Variable& one : syntax_.variables) {
      auto found = globals.find(one.name);
      if (found == globals.end()) continue;
      std::vector<std::uint8_t> bytes = one.initial;
      bytes.resize(one.bytes);
      for (const Variable::Reference& reference : one.references) {
        Address address = generic(reference.name, 1) + static_cast<Address>(reference.addend);
        std::memcpy(&bytes[reference.offset], &address, 8);
      }
      memory_.write(found->second.address, bytes.data(), bytes.size());
    }
  }

  KernelInfo info(const FunctionSyntax& syntax) const {
    const Function& function = program_.functions[program_.by_name.at(syntax.name)];
    KernelInfo made;
    made.name = syntax.name;
    for (const Placed& one : function.parameters) made.parameters.push_back({one.offset, one.bytes});
    if (!function.parameters.empty())
      made.parameter_bytes = function.parameters.back().offset + function.parameters.back().bytes;
    made.static_shared_bytes = function.shared_bytes;
    made.local_bytes = function.local_bytes;
    made.max_threads_per_block = syntax.max_threads;
    unsigned words = 0;
    for (const auto& [name, one] : syntax.registers)
      words += std::max(bytes_of(one.type) / 4, one.type != Type::kPred ? 1u : 0u);
    made.registers = std::min(words, 255u);
    return made;
  }

  ModuleSyntax syntax_;
  DeviceMemory& memory_;
  Program& program_;
  Decoding decoding_;
  std::uint32_t most_shared_ = 0;
};

// The word behind a directive, without reading what else there is.
std::string behind(std::string_view text, std::string_view directive) {
  for (std::size_t at = 0; (at = text.find(directive, at)) != std::string_view::npos; ++at) {
    std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (text.substr(line, at - line).find("//") != std::string_view::npos) continue;
    std::size_t begin = text.find_first_not_of(" \t", at + directive.size());
    if (begin == std::string_view::npos) break;
    std::size_t end = text.find_first_of(" \t\r\n,;/", begin);
    return std::string(text.substr(begin, end - begin));
  }
  return {};
}

}  // namespace

std::string ptx_target(std::string_view ptx) { return behind(ptx, ".target"); }
std::string ptx_version(std::string_view ptx) { return behind(ptx, ".version"); }

Module::Module(DeviceMemory& memory) : memory_(memory), program_(std::make_unique<Program>()) {}

std::unique_ptr<Module> Module::load(std::string_view ptx, DeviceMemory& memory, std::string& log) {
  std::unique_ptr<Module> made(new Module(memory));
  try {
    Loader loader(ptx, memory, *made->program_);
    made->version_ = loader.syntax().version;
    made->target_ = loader.syntax().target;
    loader.run(made->kernels_, made->globals_);
    return made;
  } catch (const PtxError& error) {
    log += fmt::format("ptx input, line {}; fatal: {}\n", error.line, error.what());
  }
  return nullptr;
}

Module::~Module() {
  for (const auto& [name, global] : globals_) memory_.release(global.address);
}

const KernelInfo* Module::kernel(const std::string& name) const {
  auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, info] : kernels_) names.push_back(name);
  return names;
}

const GlobalInfo* Module::global(const std::string& name) const {
  auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : &found->second;
}

}  // namespace emulated
