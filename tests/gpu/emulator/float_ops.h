// Forms of arithmetic opcodes on floating point numbers: each is false, with nothing used up, where the statement is of
// another type.
#pragma once

#include "decode.h"

namespace emulated {

bool decode_float_sum(Decoder& decoder, Instruction& made, bool subtract);
bool decode_float_product(Decoder& decoder, Instruction& made);
bool decode_float_fma(Decoder& decoder, Instruction& made);
bool decode_float_quotient(Decoder& decoder, Instruction& made);
bool decode_float_choice(Decoder& decoder, Instruction& made, bool minimum);
bool decode_float_sign(Decoder& decoder, Instruction& made, bool negate);

// The last modifier that is a type.
Type type_of_statement(const Statement& statement);

// Those of 16 bits, one or two to a register.
enum class HalfOp : std::uint8_t { kAdd, kSub, kMul, kFma, kMin, kMax, kNeg, kAbs, kFmaRelu };
bool decode_half(Decoder& decoder, Instruction& made, Type type, HalfOp op);

// With a rounding that is not to nearest.
enum class RoundedOp : std::uint8_t { kAdd, kSub, kMul, kFma, kDiv, kSqrt, kRcp };
Handler rounded_handler(Type type, RoundedOp op);

// f32 results that are not numbers have one form.
inline float canonical(float value) { return value == value ? value : __builtin_bit_cast(float, 0x7fffffffu); }
inline double canonical(double value) { return value; }
inline float flushed(float value) {
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  return bits & 0x7f800000u ? value : __builtin_bit_cast(float, bits & 0x80000000u);
}
inline double flushed(double value) { return value; }
template <class T>
T saturated(T value) {
  return value > T{0} ? (value < T{1} ? value : T{1}) : T{0};
}

}  // namespace emulated
