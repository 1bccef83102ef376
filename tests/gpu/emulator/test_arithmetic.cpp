// Instructions that compute, each against the host on random bits.
#include <bit>
#include <cfenv>
#include <cmath>

#include "arithmetic_fixture.h"

namespace emulated {
namespace {

Bits last_bit_first(Bits v, int width) {
  Bits turned = 0;
  for (int i = 0; i < width; ++i) turned |= (v >> i & 1) << (width - 1 - i);
  return turned;
}

TEST_F(ArithmeticTest, Integers) {
  check_all({
      binary<U32>("add.s32", [](U32 a, U32 b) { return a + b; }),
      binary<U64>("add.s64", [](U64 a, U64 b) { return a + b; }),
      binary<U16>("add.s16", [](U16 a, U16 b) { return a + b; }),
      binary<U32>("sub.s32", [](U32 a, U32 b) { return a - b; }),
      binary<U64>("sub.u64", [](U64 a, U64 b) { return a - b; }),
      binary<U16>("sub.u16", [](U16 a, U16 b) { return a - b; }),
      binary<U32>("mul.lo.s32", [](U32 a, U32 b) { return a * b; }),
      binary<U64>("mul.lo.u64", [](U64 a, U64 b) { return a * b; }),
      binary<U16>("mul.lo.s16", [](U16 a, U16 b) { return U32{a} * b; }),
      binary<I32>("mul.hi.s32", [](I32 a, I32 b) { return (I64{a} * b) >> 32; }),
      binary<U32>("mul.hi.u32", [](U32 a, U32 b) { return (U64{a} * b) >> 32; }),
      binary<I64>("mul.hi.s64", [](I64 a, I64 b) { return static_cast<I64>((I128{a} * b) >> 64); }),
      binary<U64>("mul.hi.u64", [](U64 a, U64 b) { return static_cast<U64>((U128{a} * b) >> 64); }),
      binary<I16>("mul.hi.s16", [](I16 a, I16 b) { return (I32{a} * b) >> 16; }),
      binary<I32>("min.s32", [](I32 a, I32 b) { return std::min(a, b); }),
      binary<U32>("min.u32", [](U32 a, U32 b) { return std::min(a, b); }),
      binary<I64>("max.s64", [](I64 a, I64 b) { return std::max(a, b); }),
      binary<U16>("max.u16", [](U16 a, U16 b) { return std::max(a, b); }),
      binary<U32>("and.b32", [](U32 a, U32 b) { return a & b; }),
      binary<U64>("or.b64", [](U64 a, U64 b) { return a | b; }),
      binary<U16>("xor.b16", [](U16 a, U16 b) { return a ^ b; }),
      {"not.b32 %z, %a;", 4, 4, [](const Inputs& x) { return ~x[0]; }},
      {"cnot.b32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits{x[0] == 0}; }},
      {"neg.s32 %z, %a;", 4, 4, [](const Inputs& x) { return -x[0]; }},
      {"neg.s64 %z, %a;", 8, 8, [](const Inputs& x) { return -x[0]; }},
      {"abs.s32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits{x[0] >> 31 ? U32(-x[0]) : U32(x[0])}; }},
      {"mul.wide.s32 %z, %a, %b;", 4, 8, [](const Inputs& x) { return Bits(I64{I32(x[0])} * I32(x[1])); }},
      {"mul.wide.u32 %z, %a, %b;", 4, 8, [](const Inputs& x) { return x[0] * x[1]; }},
      {"mul.wide.s16 %z, %a, %b;", 2, 4, [](const Inputs& x) { return Bits(I32{I16(x[0])} * I16(x[1])); }},
      {"mad.lo.s32 %z, %a, %b, %c;", 4, 4, [](const Inputs& x) { return x[0] * x[1] + x[2]; }},
      {"mad.lo.u64 %z, %a, %b, %c;", 8, 8, [](const Inputs& x) { return x[0] * x[1] + x[2]; }},
      {"mad.hi.s32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) { return Bits((I64{I32(x[0])} * I32(x[1])) >> 32) + x[2]; }},
      {"mad.wide.u32 %z, %a, %b, %c;", 4, 8, [](const Inputs& x) { return x[0] * x[1] + x[2]; }, 8},
      {"mad.wide.s32 %z, %a, %b, %c;", 4, 8, [](const Inputs& x) { return Bits(I64{I32(x[0])} * I32(x[1])) + x[2]; },
       8},
      {"add.cc.u32 %z, %a, %b; addc.u32 %z, %c, %e;", 4, 4,
       [](const Inputs& x) { return x[2] + x[3] + ((x[0] + x[1]) >> 32); }},
      {"sub.cc.u32 %z, %a, %b; subc.u32 %z, %c, %e;", 4, 4,
       [](const Inputs& x) { return x[2] - x[3] - (x[0] < x[1]); }},
      {"add.sat.s32 %z, %a, %b;", 4, 4,
       [](const Inputs& x) {
         I64 sum = I64{I32(x[0])} + I32(x[1]);
         return Bits(std::clamp<I64>(sum, INT32_MIN, INT32_MAX));
       }},
      {"mul24.lo.u32 %z, %a, %b;", 4, 4, [](const Inputs& x) { return (x[0] & 0xffffff) * (x[1] & 0xffffff); }},
      {"dp4a.s32.u32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) {
         Bits sum = x[2];
         for (int k = 0; k < 32; k += 8) sum += Bits(I64{std::int8_t(x[0] >> k)} * I64(x[1] >> k & 255));
         return sum;
       }},
      {"dp2a.hi.u32.s32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) {
         return x[2] + Bits(I64(x[0] & 0xffff) * std::int8_t(x[1] >> 16)) +
                Bits(I64(x[0] >> 16) * std::int8_t(x[1] >> 24));
       }},
      {"sad.u32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) { return (x[0] > x[1] ? x[0] - x[1] : x[1] - x[0]) + x[2]; }},
  });
}

TEST_F(ArithmeticTest, Divisions) {
  auto quotient = [](auto a, auto b) -> decltype(a) {
    if (!b) return static_cast<decltype(a)>(~decltype(a){0});
    if (std::is_signed_v<decltype(a)> && b == static_cast<decltype(a)>(-1)) return static_cast<decltype(a)>(-Bits(a));
    return static_cast<decltype(a)>(a / b);
  };
  auto rest = [](auto a, auto b) -> decltype(a) {
    if (!b) return a;
    if (std::is_signed_v<decltype(a)> && b == static_cast<decltype(a)>(-1)) return 0;
    return static_cast<decltype(a)>(a % b);
  };
  check_all({binary<I32>("div.s32", quotient), binary<U32>("div.u32", quotient), binary<I64>("div.s64", quotient),
             binary<U64>("div.u64", quotient), binary<I16>("div.s16", quotient), binary<U16>("div.u16", quotient),
             binary<I32>("rem.s32", rest), binary<U32>("rem.u32", rest), binary<I64>("rem.s64", rest),
             binary<U64>("rem.u64", rest), binary<I16>("rem.s16", rest), binary<U16>("rem.u16", rest)});
}

TEST_F(ArithmeticTest, Bits) {
  auto byte = [](Bits a, Bits b, unsigned at) { return ((b << 32 | a) >> (8 * (at & 7))) & 255; };
  check_all({
      {"shl.b32 %z, %a, %c;", 4, 4, [](const Inputs& x) { return x[2] > 31 ? 0 : x[0] << x[2]; }},
      {"shl.b64 %z, %a, %c;", 8, 8, [](const Inputs& x) { return x[2] > 63 ? 0 : x[0] << x[2]; }, 4},
      {"shl.b16 %z, %a, %c;", 2, 2, [](const Inputs& x) { return x[2] > 15 ? 0 : x[0] << x[2]; }, 4},
      {"shr.u32 %z, %a, %c;", 4, 4, [](const Inputs& x) { return x[2] > 31 ? 0 : x[0] >> x[2]; }},
      {"shr.s32 %z, %a, %c;", 4, 4, [](const Inputs& x) { return Bits(I32(x[0]) >> std::min<Bits>(x[2], 31)); }},
      {"shr.s64 %z, %a, %c;", 8, 8, [](const Inputs& x) { return Bits(I64(x[0]) >> std::min<Bits>(x[2], 63)); }, 4},
      {"shr.s16 %z, %a, %c;", 2, 2, [](const Inputs& x) { return Bits(I16(x[0]) >> std::min<Bits>(x[2], 15)); }, 4},
      {"shf.l.wrap.b32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) { return ((x[1] << 32 | x[0]) << (x[2] & 31)) >> 32; }},
      {"shf.r.clamp.b32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) { return (x[1] << 32 | x[0]) >> std::min<Bits>(x[2], 32); }},
      {"popc.b32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(std::popcount(x[0])); }},
      {"popc.b64 %z, %a;", 8, 4, [](const Inputs& x) { return Bits(std::popcount(x[0])); }},
      {"clz.b32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(std::countl_zero(U32(x[0]))); }},
      {"clz.b64 %z, %a;", 8, 4, [](const Inputs& x) { return Bits(std::countl_zero(x[0])); }},
      {"bfind.u32 %z, %a;", 4, 4, [](const Inputs& x) { return Bits(x[0] ? 31 - std::countl_zero(U32(x[0])) : -1); }},
      {"bfind.shiftamt.s32 %z, %a;", 4, 4,
       [](const Inputs& x) {
         U32 bits = I32(x[0]) < 0 ? ~U32(x[0]) : U32(x[0]);
         return Bits(bits ? std::countl_zero(bits) : -1);
       }},
      {"brev.b32 %z, %a;", 4, 4, [](const Inputs& x) { return last_bit_first(x[0], 32); }},
      {"brev.b64 %z, %a;", 8, 8, [](const Inputs& x) { return last_bit_first(x[0], 64); }},
      {"bfe.u32 %z, %a, 5, 9;", 4, 4, [](const Inputs& x) { return x[0] >> 5 & 511; }},
      {"bfe.s32 %z, %a, 5, 9;", 4, 4, [](const Inputs& x) { return Bits(I32(U32(x[0]) << 18) >> 23); }},
      {"bfe.s32 %z, %a, 28, 9;", 4, 4, [](const Inputs& x) { return Bits(I32(x[0]) >> 28); }},
      {"bfi.b32 %z, %a, %b, 5, 9;", 4, 4,
       [](const Inputs& x) { return (x[1] & ~Bits{0x3fe0}) | (x[0] << 5 & 0x3fe0); }},
      {"bfi.b64 %z, %a, %b, 40, 60;", 8, 8,
       [](const Inputs& x) { return (x[1] & ((Bits{1} << 40) - 1)) | x[0] << 40; }},
      {"prmt.b32 %z, %a, %b, 0x5140;", 4, 4,
       [byte](const Inputs& x) {
         return byte(x[0], x[1], 0) | byte(x[0], x[1], 4) << 8 | byte(x[0], x[1], 1) << 16 | byte(x[0], x[1], 5) << 24;
       }},
      {"prmt.b32 %z, %a, %b, 0xb3a2;", 4, 4,
       [byte](const Inputs& x) {
         auto sign = [&](unsigned at) -> Bits { return byte(x[0], x[1], at) & 128 ? 255 : 0; };
         return byte(x[0], x[1], 2) | sign(2) << 8 | byte(x[0], x[1], 3) << 16 | sign(3) << 24;
       }},
      {"lop3.b32 %z, %a, %b, %c, 0x96;", 4, 4, [](const Inputs& x) { return x[0] ^ x[1] ^ x[2]; }},
      {"lop3.b32 %z, %a, %b, %c, 0xca;", 4, 4, [](const Inputs& x) { return (x[0] & x[1]) | (~x[0] & x[2]); }},
      {"slct.s32.s32 %z, %a, %b, %c;", 4, 4, [](const Inputs& x) { return I32(x[2]) >= 0 ? x[0] : x[1]; }},
      {"mov.b64 %z, {%a, %b};", 4, 8, [](const Inputs& x) { return x[1] << 32 | x[0]; }},
      {"mov.b32 {%h1, %h2}, %a; mov.b32 %z, {%h2, %h1};", 4, 4,
       [](const Inputs& x) { return Bits{std::rotl(U32(x[0]), 16)}; }},
      {"mov.b64 {_, %z}, %a;", 8, 4, [](const Inputs& x) { return x[0] >> 32; }},
  });
}

TEST_F(ArithmeticTest, Floats) {
  auto least = [](auto a, auto b) {
    if (a != a) return b;
    if (b != b) return a;
    return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
  };
  auto flush = [](float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; };
  check_all({
      floats<float>("add.rn.f32", [](float a, float b) { return a + b; }),
      floats<float>("sub.f32", [](float a, float b) { return a - b; }),
      floats<float>("mul.rn.f32", [](float a, float b) { return a * b; }),
      floats<float>("div.rn.f32", [](float a, float b) { return a / b; }),
      floats<double>("add.rn.f64", [](double a, double b) { return a + b; }),
      floats<double>("mul.rn.f64", [](double a, double b) { return a * b; }),
      floats<double>("div.rn.f64", [](double a, double b) { return a / b; }),
      floats<float>("min.f32", least),
      floats<double>("min.f64", least),
      floats<float>("max.NaN.f32",
                    [](float a, float b) {
                      return a != a || b != b ? NAN : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
                    }),
      floats<float>("add.ftz.f32", [=](float a, float b) { return flush(flush(a) + flush(b)); }),
      floats<float>("mul.rn.sat.f32",
                    [](float a, float b) {
                      float p = a * b;
                      return p > 0 ? std::min(p, 1.0f) : 0.0f;
                    }),
      {"fma.rn.f32 %z, %a, %b, %c;", 4, 4,
       [](const Inputs& x) { return bits_of_float(std::fma(as<float>(x[0]), as<float>(x[1]), as<float>(x[2]))); }},
      {"fma.rn.f64 %z, %a, %b, %c;", 8, 8,
       [](const Inputs& x) { return bits_of(std::fma(as<double>(x[0]), as<double>(x[1]), as<double>(x[2]))); }},
      {"sqrt.rn.f32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of_float(std::sqrt(as<float>(x[0]))); }},
      {"rcp.rn.f32 %z, %a;", 4, 4, [](const Inputs& x) { return bits_of_float(1 / as<float>(x[0])); }},
      {"neg.f32 %z, %a;", 4, 4, [](const Inputs& x) { return x[0] ^ 0x80000000; }},
      {"abs.f64 %z, %a;", 8, 8, [](const Inputs& x) { return x[0] << 1 >> 1; }},
      {"copysign.f32 %z, %a, %b;", 4, 4, [](const Inputs& x) { return (x[0] & 0x80000000) | (x[1] & 0x7fffffff); }},
  });
}

template <class T>
Bits directed(int mode, const std::function<T(T, T)>& f, const Inputs& x) {
  volatile T a = as<T>(x[0]), b = as<T>(x[1]);
  std::fesetround(mode);
  volatile T value = f(a, b);
  std::fesetround(FE_TONEAREST);
  T kept = value;
  return sizeof(T) == 4 ? bits_of_float(static_cast<float>(kept)) : bits_of(kept);
}

TEST_F(ArithmeticTest, DirectedRoundings) {
  for (auto [name, mode] : {std::pair{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}}) {
    std::string dot = std::string(".") + name;
    check({"add" + dot + ".f32 %z, %a, %b;", 4, 4, [mode = mode](const Inputs& x) {
             return directed<float>(mode, [](float a, float b) { return a + b; }, x);
           }});
    check({"mul" + dot + ".f64 %z, %a, %b;", 8, 8, [mode = mode](const Inputs& x) {
             return directed<double>(mode, [](double a, double b) { return a * b; }, x);
           }});
    check({"div" + dot + ".f32 %z, %a, %b;", 4, 4, [mode = mode](const Inputs& x) {
             return directed<float>(mode, [](float a, float b) { return a / b; }, x);
           }});
    check({"cvt" + dot + ".f32.s32 %z, %a;", 4, 4, [mode = mode](const Inputs& x) {
             std::fesetround(mode);
             volatile float value = static_cast<float>(static_cast<volatile I32&&>(I32(x[0])));
             std::fesetround(FE_TONEAREST);
             return bits_of_float(value);
           }});
  }
}

TEST_F(ArithmeticTest, Comparisons) {
  check_all({
      {"setp.lt.s32 %z, %a, %b;", 4, 0, [](const Inputs& x) { return Bits{I32(x[0]) < I32(x[1])}; }},
      {"setp.lo.u32 %z, %a, %b;", 4, 0, [](const Inputs& x) { return Bits{x[0] < x[1]}; }},
      {"setp.ge.s64 %z, %a, %b;", 8, 0, [](const Inputs& x) { return Bits{I64(x[0]) >= I64(x[1])}; }},
      {"setp.eq.b16 %z, %a, %b;", 2, 0, [](const Inputs& x) { return Bits{x[0] == x[1]}; }},
      {"setp.lt.f32 %z, %a, %b;", 4, 0, [](const Inputs& x) { return Bits{as<float>(x[0]) < as<float>(x[1])}; }},
      {"setp.neu.f32 %z, %a, %b;", 4, 0, [](const Inputs& x) { return Bits{as<float>(x[0]) != as<float>(x[1])}; }},
      {"setp.ne.f32 %z, %a, %b;", 4, 0,
       [](const Inputs& x) { return Bits{as<float>(x[0]) < as<float>(x[1]) || as<float>(x[0]) > as<float>(x[1])}; }},
      {"setp.geu.f64 %z, %a, %b;", 8, 0, [](const Inputs& x) { return Bits{!(as<double>(x[0]) < as<double>(x[1]))}; }},
      {"setp.nan.f32 %z, %a, %b;", 4, 0,
       [](const Inputs& x) { return Bits{std::isunordered(as<float>(x[0]), as<float>(x[1]))}; }},
      {"setp.lt.s32 %p1, %a, %b; setp.gt.and.u32 %z, %c, %e, !%p1;", 4, 0,
       [](const Inputs& x) { return Bits{x[2] > x[3] && !(I32(x[0]) < I32(x[1]))}; }},
      {"setp.lt.s32 %p1|%p2, %a, %b; xor.pred %p3, %p1, %p2; not.pred %p4, %p1; and.pred %z, %p3, %p4;", 4, 0,
       [](const Inputs& x) { return Bits{!(I32(x[0]) < I32(x[1]))}; }},
      {"set.lt.u32.s32 %z, %a, %b;", 4, 4, [](const Inputs& x) { return I32(x[0]) < I32(x[1]) ? ~Bits{0} : 0; }},
      {"setp.lt.s32 %p1, %a, %b; selp.b32 %z, %c, %e, %p1;", 4, 4,
       [](const Inputs& x) { return I32(x[0]) < I32(x[1]) ? x[2] : x[3]; }},
  });
}

}  // namespace
}  // namespace emulated
