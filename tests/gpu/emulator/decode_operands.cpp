// Modifiers and operands of one statement, for the decoders of opcodes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "decode.h"
#include "special_rows.h"

namespace emulated {

const Operand& Decoder::operand(std::size_t index) const {
  if (index >= statement_->operands.size()) fail("an operand is missing");
  return statement_->operands[index];
}

void Decoder::want(std::size_t operands) const {
  if (count() != operands) fail(fmt::format("{} operands expected, {} are there", operands, count()));
}

bool Decoder::take(std::string_view modifier) {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i] && statement_->modifiers[i] == modifier) return used_[i] = true;
  return false;
}

void Decoder::take_any(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers) take(modifier);
}

Type Decoder::take_type() {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    Type type = type_of(statement_->modifiers[i]);
    if (type == Type::kNone) continue;
    used_[i] = true;
    return type;
  }
  return Type::kNone;
}

Type Decoder::want_type() {
  Type type = take_type();
  if (type == Type::kNone) fail("a type is missing");
  return type;
}

std::string_view Decoder::take_next() {
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (!used_[i]) {
      used_[i] = true;
      return statement_->modifiers[i];
    }
  return {};
}

Rounding Decoder::take_rounding() {
  static constexpr std::pair<std::string_view, Rounding> kNames[] = {{"rn", Rounding::kNearest},
                                                                     {"rz", Rounding::kZero},
                                                                     {"rm", Rounding::kDown},
                                                                     {"rp", Rounding::kUp},
                                                                     {"rna", Rounding::kNearestAway}};
  for (auto [name, rounding] : kNames)
    if (take(name)) return rounding;
  return Rounding::kNone;
}

std::uint16_t Decoder::take_float_flags() {
  std::uint16_t flags = 0;
  if (take("ftz")) flags |= kFlushDenormals;
  if (take("sat")) flags |= kSaturate;
  return flags;
}

Row Decoder::constant(unsigned bytes, std::uint64_t bits) {
  if (bytes && bytes < 8) bits &= (std::uint64_t{1} << (8 * bytes)) - 1;
  auto [found, added] = module_.constants.try_emplace({bytes, bits}, 0);
  if (!added) return found->second;
  std::vector<std::byte>& kept = module_.program.constants;
  std::size_t offset = (kept.size() + 63) / 64 * 64;
  kept.resize(offset + std::max<std::size_t>(bytes * kLanes, 4));
  if (!bytes) {
    std::uint32_t mask = bits ? kAllLanes : 0;
    std::memcpy(&kept[offset], &mask, 4);
  }
  for (unsigned lane = 0; bytes && lane < kLanes; ++lane) std::memcpy(&kept[offset + lane * bytes], &bits, bytes);
  return found->second = kConstantRow | static_cast<Row>(offset);
}

namespace {

std::uint64_t float_bits(const Operand& operand, Type type) {
  if (operand.kind == Operand::kInteger) {
    auto value = static_cast<double>(static_cast<std::int64_t>(operand.bits));
    if (type == Type::kF64) return std::bit_cast<std::uint64_t>(value);
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  if (type == Type::kF64)
    return operand.single
               ? std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))})
               : operand.bits;
  return operand.single ? operand.bits
                        : std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits)));
}

}  // namespace

Row Decoder::source(const Operand& operand, Type type) {
  unsigned bytes = type == Type::kPred ? 0 : std::max(bytes_of(type), 2u);
  switch (operand.kind) {
    case Operand::kInteger:
      if (type == Type::kF32 || type == Type::kF64) return constant(bytes, float_bits(operand, type));
      return constant(bytes, operand.bits);
    case Operand::kFloat:
      if (type == Type::kF64 || (type == Type::kF32 && bytes == 4)) return constant(bytes, float_bits(operand, type));
      if (operand.single && bytes >= 4) return constant(bytes, operand.bits);
      if (!operand.single && bytes == 8) return constant(bytes, operand.bits);
      fail("a number of another type");
    case Operand::kName: {
      if (auto found = registers_.find(operand.name); found != registers_.end()) {
        if (found->second.bytes != bytes)
          fail(fmt::format("\"{}\" has not the size of .{}", operand.name, name_of(type)));
        return found->second.row;
      }
      if (auto row = special_row(operand.name)) {
        if (bytes != (operand.name == "%gridid" ? 8 : 4)) fail(fmt::format("\"{}\" is of another size", operand.name));
        return *row;
      }
      if (operand.name == "WARP_SZ") return constant(bytes, kLanes);
      if (const Symbol* found = symbol(operand.name); found && bytes >= 4) return constant(bytes, address_of(*found));
      fail(fmt::format("\"{}\" is not declared", operand.name));
    }
    default:
      fail("an operand that cannot stand here");
  }
}

Row Decoder::target(const Operand& operand, unsigned bytes) {
  if (operand.kind != Operand::kName) fail("a register expected");
  if (operand.name == "_") return kNoRow;
  auto found = registers_.find(operand.name);
  if (found == registers_.end()) fail(fmt::format("the register \"{}\" is not declared", operand.name));
  if (found->second.bytes != (bytes == 1 ? 2 : bytes)) fail(fmt::format("\"{}\" is of another size", operand.name));
  return found->second.row;
}

Row Decoder::any_register(const Operand& operand, std::uint8_t& bytes) {
  if (operand.kind != Operand::kName) fail("a register expected");
  if (operand.name == "_") return kNoRow;
  auto found = registers_.find(operand.name);
  if (found == registers_.end()) fail(fmt::format("the register \"{}\" is not declared", operand.name));
  bytes = found->second.bytes;
  return found->second.row;
}

Row Decoder::predicate(const Operand& operand, bool& negated) {
  negated = operand.kind == Operand::kNot;
  if (operand.kind == Operand::kInteger) return constant(0, operand.bits);
  Operand plain = operand;
  plain.kind = Operand::kName;
  auto found = registers_.find(plain.name);
  if (found == registers_.end() || found->second.bytes) fail(fmt::format("\"{}\" is no predicate", plain.name));
  return found->second.row;
}

std::uint64_t Decoder::number(std::size_t index) const {
  if (operand(index).kind != Operand::kInteger) fail("a number expected");
  return operand(index).bits;
}

bool Decoder::is_register(const Operand& operand) const {
  return operand.kind == Operand::kName && registers_.count(operand.name);
}

unsigned Decoder::register_bytes(const Operand& operand) const {
  auto found = registers_.find(operand.name);
  return found == registers_.end() ? 0 : found->second.bytes;
}

const Symbol* Decoder::symbol(const std::string& name) const {
  if (auto found = symbols_.find(name); found != symbols_.end()) return &found->second;
  if (auto found = module_.symbols.find(name); found != module_.symbols.end()) return &found->second;
  return nullptr;
}

std::uint64_t Decoder::address_of(const Symbol& symbol) const { return symbol.address; }

std::uint32_t Decoder::label(const std::string& name) const {
  auto found = labels_.find(name);
  if (found == labels_.end()) fail(fmt::format("the label \"{}\" is not there", name));
  return found->second;
}

std::uint32_t Decoder::function(const std::string& name) const {
  auto found = module_.program.by_name.find(name);
  if (found == module_.program.by_name.end()) fail(fmt::format("the function \"{}\" is not there", name));
  return found->second;
}

const std::vector<std::string>* Decoder::branch_targets(const std::string& name) const {
  auto found = syntax_.branch_targets.find(name);
  return found == syntax_.branch_targets.end() ? nullptr : &found->second;
}

std::uint32_t Decoder::keep(const std::vector<Row>& rows) {
  auto first = static_cast<std::uint32_t>(module_.program.rows.size());
  module_.program.rows.insert(module_.program.rows.end(), rows.begin(), rows.end());
  return first;
}

std::optional<Decoder::At> Decoder::variable_at(const Operand& operand) const {
  if (operand.name.empty()) return std::nullopt;
  const Symbol* found = symbol(operand.name);
  if (!found) return std::nullopt;
  return At{found->space, found->address, found->of_entry};
}

void Decoder::address(const Operand& operand, Instruction& made) {
  if (operand.kind != Operand::kAddress) fail("an address in brackets expected");
  made.offset = operand.offset;
  if (operand.name.empty()) {
    made.a = constant(8, 0);
    made.a_bytes = 8;
    return;
  }
  if (auto found = registers_.find(operand.name); found != registers_.end()) {
    if (found->second.bytes != 4 && found->second.bytes != 8) fail("an address has 32 or 64 bits");
    made.a = found->second.row;
    made.a_bytes = found->second.bytes;
    if (made.a_bytes == 4) made.flags |= kNarrowAddress;
    return;
  }
  auto found = variable_at(operand);
  if (!found) fail(fmt::format("\"{}\" is not declared", operand.name));
  made.a = constant(8, found->address);
  made.a_bytes = 8;
}

}  // namespace emulated
