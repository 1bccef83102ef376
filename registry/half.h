// The 16-bit floats: their bits from and to float32, rounded to nearest even with subnormals, infinities and NaN.
// Inlined always: files compiled for different CPUs must not share a copy.
#pragma once

#include <cstdint>

namespace md {

// A stored element. Arithmetic happens in float32 (DTypeInfo::working).
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

[[gnu::always_inline]] inline float widened(Float16 h) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(h.bits & 0x7fff) << 13;
  // The exponent's bias differs by 112; a product renormalises subnormals on the way.
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f);
  if (magnitude >= 0x0f800000) bits |= 0x7f800000;
  if (magnitude > 0x0f800000) bits |= 0x00400000;  // NaN is quiet, as the machine makes it
  return __builtin_bit_cast(float, bits | static_cast<std::uint32_t>(h.bits & 0x8000) << 16);
}
[[gnu::always_inline]] inline float widened(BFloat16 b) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(b.bits) << 16);
}

[[gnu::always_inline]] inline Float16 to_float16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x), magnitude = bits & 0x7fffffff;
  std::uint32_t h;
  if (magnitude >= 0x47800000) {  // 2^16 and above
    h = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14: the sum with 1/2 rounds at the last place of a subnormal
    h = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000;
  } else {
    h = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  }
  return {static_cast<std::uint16_t>(h | (bits >> 16 & 0x8000))};
}
[[gnu::always_inline]] inline BFloat16 to_bfloat16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<std::uint16_t>(0x7fc0 | (bits >> 16 & 0x8000))};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// The same roundings written as op bodies are (registry/ops/builder.h): float32 lanes in, float32 lanes out.
template <class B>
typename B::V round_to_float16(B& b, typename B::V x) {
  const auto magnitude = b.abs(x);
  const auto bits = b.as_bits(magnitude);
  const auto odd = b.iand(b.ishr(bits, 13), b.iconst(1));
  const auto normal = b.from_bits(b.iand(b.iadd(b.iadd(bits, b.iconst(0xfff)), odd), b.iconst(-0x2000)));
  const auto subnormal = b.sub(b.add(magnitude, b.constant(0.5)), b.constant(0.5));
  auto rounded = b.select(b.lt(magnitude, b.constant(0x1p-14)), subnormal, normal);
  rounded = b.select(b.ge(rounded, b.constant(65536)), b.highest(), rounded);
  const auto sign = b.ixor(b.as_bits(x), bits);
  return b.select(b.ne(x, x), x, b.from_bits(b.ior(b.as_bits(rounded), sign)));
}
template <class B>
typename B::V round_to_bfloat16(B& b, typename B::V x) {
  const auto bits = b.as_bits(x);
  const auto odd = b.iand(b.ishr(bits, 16), b.iconst(1));
  const auto rounded = b.iand(b.iadd(b.iadd(bits, b.iconst(0x7fff)), odd), b.iconst(-0x10000));
  const auto nan = b.ior(b.iand(bits, b.iconst(INT32_MIN)), b.iconst(0x7fc00000));
  return b.from_bits(b.iselect(b.ne(x, x), nan, rounded));
}

}  // namespace md
