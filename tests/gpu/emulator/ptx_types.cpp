// The types of PTX by name, and their sizes.
#include <array>
#include <utility>

#include "ptx_syntax.h"

namespace emulated {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  unsigned bytes;
};

constexpr std::array kTypes = {
    TypeRow{"pred", Type::kPred, 0},   TypeRow{"b8", Type::kB8, 1},       TypeRow{"b16", Type::kB16, 2},
    TypeRow{"b32", Type::kB32, 4},     TypeRow{"b64", Type::kB64, 8},     TypeRow{"b128", Type::kB128, 16},
    TypeRow{"u8", Type::kU8, 1},       TypeRow{"u16", Type::kU16, 2},     TypeRow{"u32", Type::kU32, 4},
    TypeRow{"u64", Type::kU64, 8},     TypeRow{"s8", Type::kS8, 1},       TypeRow{"s16", Type::kS16, 2},
    TypeRow{"s32", Type::kS32, 4},     TypeRow{"s64", Type::kS64, 8},     TypeRow{"f16", Type::kF16, 2},
    TypeRow{"f16x2", Type::kF16x2, 4}, TypeRow{"bf16", Type::kBf16, 2},   TypeRow{"bf16x2", Type::kBf16x2, 4},
    TypeRow{"f32", Type::kF32, 4},     TypeRow{"f64", Type::kF64, 8},     TypeRow{"tf32", Type::kTf32, 4},
    TypeRow{"u16x2", Type::kU16x2, 4}, TypeRow{"s16x2", Type::kS16x2, 4},
};

}  // namespace

Type type_of(std::string_view word) {
  for (const TypeRow& row : kTypes)
    if (row.name == word) return row.type;
  return Type::kNone;
}

std::string_view name_of(Type type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.name;
  return "no type";
}

unsigned bytes_of(Type type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.bytes;
  return 0;
}

bool is_float(Type type) {
  return type == Type::kF16 || type == Type::kBf16 || type == Type::kF32 || type == Type::kF64 ||
         type == Type::kF16x2 || type == Type::kBf16x2 || type == Type::kTf32;
}

bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64 || type == Type::kS16x2;
}

std::string Statement::text() const {
  std::string all = opcode;
  for (const std::string& modifier : modifiers) all += "." + modifier;
  return all;
}

}  // namespace emulated
