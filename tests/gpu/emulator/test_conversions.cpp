// cvt between all types of numbers, and arithmetic of f16 and bf16, against the host.
#include <immintrin.h>

#include <cmath>

#include "arithmetic_fixture.h"

namespace emulated {
namespace {

Bits half_of(float value) {
  return value == value ? static_cast<U16>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)) : 0x7fff;
}
float half(Bits bits) { return _cvtsh_ss(static_cast<U16>(bits)); }
Bits brain_of(float value) {
  if (value != value) return 0x7fff;
  auto bits = std::bit_cast<U32>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
float brain(Bits bits) { return std::bit_cast<float>(static_cast<U32>(bits << 16)); }

template <class T, class F>
Bits clamped(F value) {
  if (value != value) return sizeof(F) == 8 || sizeof(T) == 8 ? Bits{1} << (8 * sizeof(T) - 1) : 0;
  if (value >= std::ldexp(F{1}, 8 * sizeof(T) - std::is_signed_v<T>)) return Bits(std::numeric_limits<T>::max());
  if (value <= static_cast<F>(std::numeric_limits<T>::min())) return Bits(std::numeric_limits<T>::min());
  return Bits(static_cast<T>(value));
}

// Exact in 80 bits but for sums that are far apart, whose rest cannot matter; rounded so that rounding again is as
// once.
float sum_to_odd(long double product, float c) {
  long double sum = product + c;
  long double rest = (product - (sum - (sum - product))) + (c - (sum - product));
  auto single = static_cast<float>(sum);
  bool exact = static_cast<long double>(single) == sum && rest == 0;
  if (exact || !std::isfinite(single) || std::bit_cast<U32>(single) & 1) return single;
  bool above = static_cast<long double>(single) == sum ? rest > 0 : static_cast<long double>(single) < sum;
  return std::nextafter(single, above ? HUGE_VALF : -HUGE_VALF);
}

TEST_F(ArithmeticTest, IntegersOfOtherSizes) {
  check_all({
      {"cvt.u64.u32 %z, %a;", 4, 8, [](const Inputs& x) { return x[0]; }},
      {"cvt.s64.s32 %z, %a;", 4, 8, [](const Inputs& x) { return Bits(I64{I32(x[0])}); }},
      {"cvt.u32.u64 %z, %a;", 8, 4, [](const Inputs& x) { return x[0]; }},
      {"cvt.s32.s16 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(I64{I16(x[0])}); }},
      {"cvt.s32.s8 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(I64{std::int8_t(x[0])}); }},
      {"cvt.u32.u8 %z, %a;", 4, 4, [](const Inputs& x) { return x[0] & 255; }},
      {"cvt.s8.s64 %z, %a;", 8, 2, [](const Inputs& x) { return Bits(I64{std::int8_t(x[0])}); }},
      {"cvt.u16.u32 %z, %a;", 4, 2, [](const Inputs& x) { return x[0]; }},
      {"cvt.s64.s8 %z, %a;", 2, 8, [](const Inputs& x) { return Bits(I64{std::int8_t(x[0])}); }},
      {"cvt.sat.s8.s32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(I64{std::clamp(I32(x[0]), -128, 127)}); }},
      {"cvt.sat.u32.s32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(I64{std::max(I32(x[0]), 0)}); }},
      {"cvt.sat.s32.u32 %z, %a;", 4, 4, [](const Inputs& x) { return std::min<Bits>(x[0], 0x7fffffff); }},
  });
}

TEST_F(ArithmeticTest, IntegersAndFloats) {
  check_all({
      {"cvt.rn.f32.s32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of(static_cast<float>(I32(x[0]))); }},
      {"cvt.rn.f32.u32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of(static_cast<float>(U32(x[0]))); }},
      {"cvt.rn.f32.s64 %z, %a;", 8, 4, [](const Inputs& x) { return bits_of(static_cast<float>(I64(x[0]))); }},
      {"cvt.rn.f32.u64 %z, %a;", 8, 4, [](const Inputs& x) { return bits_of(static_cast<float>(x[0])); }},
      {"cvt.rn.f64.s64 %z, %a;", 8, 8, [](const Inputs& x) { return bits_of(static_cast<double>(I64(x[0]))); }},
      {"cvt.rn.f64.u64 %z, %a;", 8, 8, [](const Inputs& x) { return bits_of(static_cast<double>(x[0])); }},
      {"cvt.rn.f64.s32 %z, %a;", 4, 8, [](const Inputs& x) { return bits_of(static_cast<double>(I32(x[0]))); }},
      {"cvt.rn.f32.u16 %z, %a;", 2, 4, [](const Inputs& x) { return bits_of(static_cast<float>(x[0])); }},
      {"cvt.rn.f32.s8 %z, %a;", 2, 4, [](const Inputs& x) { return bits_of(static_cast<float>(std::int8_t(x[0]))); }},
      {"cvt.rzi.s32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return clamped<I32>(std::trunc(as<float>(x[0]))); }},
      {"cvt.rni.s32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return clamped<I32>(std::nearbyint(as<float>(x[0]))); }},
      {"cvt.rmi.s64.f32 %z, %a;", 4, 8, [](const Inputs& x) { return clamped<I64>(std::floor(as<float>(x[0]))); }},
      {"cvt.rpi.u32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return clamped<U32>(std::ceil(as<float>(x[0]))); }},
      {"cvt.rzi.u64.f64 %z, %a;", 8, 8, [](const Inputs& x) { return clamped<U64>(std::trunc(as<double>(x[0]))); }},
      {"cvt.rzi.s64.f64 %z, %a;", 8, 8, [](const Inputs& x) { return clamped<I64>(std::trunc(as<double>(x[0]))); }},
      {"cvt.rzi.s32.f64 %z, %a;", 8, 4, [](const Inputs& x) { return clamped<I32>(std::trunc(as<double>(x[0]))); }},
      {"cvt.rni.f32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of_float(std::nearbyint(as<float>(x[0]))); }},
      {"cvt.rzi.f32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of_float(std::trunc(as<float>(x[0]))); }},
      {"cvt.rmi.f64.f64 %z, %a;", 8, 8, [](const Inputs& x) { return bits_of(std::floor(as<double>(x[0]))); }},
      {"cvt.rpi.f32.f32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of_float(std::ceil(as<float>(x[0]))); }},
      {"cvt.sat.f32.f32 %z, %a;", 4, 4,
       [](const Inputs& x) {
         float v = as<float>(x[0]);
         return bits_of(v > 0 ? std::min(v, 1.0f) : 0.0f);
       }},
      {"cvt.f64.f32 %z, %a;", 4, 8, [](const Inputs& x) { return bits_of(static_cast<double>(as<float>(x[0]))); }},
      {"cvt.rn.f32.f64 %z, %a;", 8, 4,
       [](const Inputs& x) { return bits_of_float(static_cast<float>(as<double>(x[0]))); }},
  });
}

TEST_F(ArithmeticTest, SmallFloats) {
  check_all({
      {"cvt.f32.f16 %z, %a;", 2, 4, [](const Inputs& x) { return bits_of_float(half(x[0])); }},
      {"cvt.rn.f16.f32 %z, %a;", 4, 2, [](const Inputs& x) { return half_of(as<float>(x[0])); }},
      {"cvt.rz.f16.f32 %z, %a;", 4, 2,
       [](const Inputs& x) {
         float v = as<float>(x[0]);
         return v == v ? Bits{static_cast<U16>(_cvtss_sh(v, _MM_FROUND_TO_ZERO))} : 0x7fff;
       }},
      {"cvt.rn.f16.s32 %z, %a;", 4, 2,
       [](const Inputs& x) { return half_of(static_cast<float>(std::clamp(I32(x[0]), -100000, 100000))); }},
      {"cvt.rzi.s32.f16 %z, %a;", 2, 4, [](const Inputs& x) { return clamped<I32>(std::trunc(half(x[0]))); }},
      {"cvt.rn.bf16.f32 %z, %a;", 4, 2, [](const Inputs& x) { return brain_of(as<float>(x[0])); }},
      {"cvt.f32.bf16 %z, %a;", 2, 4, [](const Inputs& x) { return bits_of_float(brain(x[0])); }},
      {"cvt.rn.f16x2.f32 %z, %a, %b;", 4, 4,
       [](const Inputs& x) { return half_of(as<float>(x[0])) << 16 | half_of(as<float>(x[1])); }},
      {"cvt.rn.bf16x2.f32 %z, %a, %b;", 4, 4,
       [](const Inputs& x) { return brain_of(as<float>(x[0])) << 16 | brain_of(as<float>(x[1])); }},
      {"cvt.rna.tf32.f32 %z, %a;", 4, 4,
       [](const Inputs& x) {
         float v = as<float>(x[0]);
         if (v != v) return Bits{0x7fffffff};
         return std::isinf(v) ? x[0] : (x[0] + 0x1000) & ~Bits{0x1fff};
       }},
      {"add.rn.f16 %z, %a, %b;", 2, 2, [](const Inputs& x) { return half_of(half(x[0]) + half(x[1])); }},
      {"mul.rn.f16 %z, %a, %b;", 2, 2, [](const Inputs& x) { return half_of(half(x[0]) * half(x[1])); }},
      {"sub.f16x2 %z, %a, %b;", 4, 4,
       [](const Inputs& x) {
         return half_of(half(x[0] >> 16) - half(x[1] >> 16)) << 16 | half_of(half(x[0]) - half(x[1]));
       }},
      {"fma.rn.f16 %z, %a, %b, %c;", 2, 2,
       [](const Inputs& x) {
         return half_of(sum_to_odd(static_cast<long double>(half(x[0])) * half(x[1]), half(x[2])));
       }},
      {"fma.rn.bf16 %z, %a, %b, %c;", 2, 2,
       [](const Inputs& x) {
         return brain_of(sum_to_odd(static_cast<long double>(brain(x[0])) * brain(x[1]), brain(x[2])));
       }},
      {"max.f16 %z, %a, %b;", 2, 2,
       [](const Inputs& x) {
         float a = half(x[0]), b = half(x[1]);
         if (a != a || b != b) return half_of(a == a ? a : b);
         return half_of(a == b ? (std::signbit(a) ? b : a) : std::max(a, b));
       }},
      {"neg.f16 %z, %a;", 2, 2, [](const Inputs& x) { return x[0] ^ 0x8000; }},
      {"setp.lt.f16 %z, %a, %b;", 2, 0, [](const Inputs& x) { return Bits{half(x[0]) < half(x[1])}; }},
      {"setp.ltu.bf16 %z, %a, %b;", 2, 0, [](const Inputs& x) { return Bits{!(brain(x[0]) >= brain(x[1]))}; }},
  });
}

}  // namespace
}  // namespace emulated
