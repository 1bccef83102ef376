// The running version's opcodes as they stand in co_code, by name. Numbers and caches come from raw_opcodes.inc.
#pragma once

#include <Python.h>

#include <cstdint>

namespace md {

constexpr int kMinor = PY_MINOR_VERSION;
// locals() of one frame is one dictionary, and so are its f_locals and what exec() works on.
constexpr bool kOneLocalsDict = kMinor < 13;
// Calls find their NULL above the callable, not below it.
constexpr bool kNullAboveCallable = kMinor >= 13;

enum class RawOp : std::uint8_t {
  Unknown,
#define MD_RAW(name, ...) name,
#include "frontend/bytecode/raw_opcodes.inc"
#undef MD_RAW
};

// What the operand of a raw instruction is. NameBit and Attr: (name << 1 | bit) where the version has the bit.
enum class RawArg : std::uint8_t {
  None,
  Number,
  Name,
  NameBit,
  Attr,
  NameTwoBits,
  Const,
  Slot,
  TwoSlots,
  Compare,
  Format,
  Conversion,
  Forward,
  Backward,
};

struct RawInfo {
  const char* name;
  std::uint8_t number;  // 0: not in this version
  std::uint8_t caches;
  RawArg arg;
  std::int16_t canonical;  // Opcode of the same meaning and operand, or -1
};

const RawInfo& raw_info(RawOp op);
RawOp raw_op(std::uint8_t number);  // Unknown: never in co_code
int raw_op_count();

}  // namespace md
