// Instructions against what the host computes, on random bits.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "emulator_fixture.h"

namespace emulated {

using Bits = std::uint64_t;
using Inputs = std::array<Bits, 4>;

struct Form {
  std::string instruction;  // of %a, %b, %c, %e, which have the sizes of `from`; the result is %z
  unsigned from, to;        // bytes
  std::function<Bits(const Inputs&)> expected;
  unsigned third = 0;  // bytes of %c where they differ
};

template <class T>
T as(Bits bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
Bits bits_of(T value) {
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
inline Bits bits_of_float(float value) { return value == value ? bits_of(value) : 0x7fffffff; }

template <class T, class F>
Form binary(const std::string& name, F f) {
  return {name + " %z, %a, %b;", sizeof(T), sizeof(T),
          [f](const Inputs& x) { return bits_of<T>(static_cast<T>(f(as<T>(x[0]), as<T>(x[1])))); }};
}
template <class T, class F>
Form floats(const std::string& name, F f) {
  return {name + " %z, %a, %b;", sizeof(T), sizeof(T), [f](const Inputs& x) {
            T value = f(as<T>(x[0]), as<T>(x[1]));
            return sizeof(T) == 4 ? bits_of_float(static_cast<float>(value)) : bits_of(value);
          }};
}

class ArithmeticTest : public EmulatorTest {
 protected:
  std::mt19937_64 random{7};

  // Any bits, with more of those at the edges.
  Bits any(unsigned bytes) {
    static const Bits kEdges[] = {0, 1, 2, 31, 32, 33, 63, 64, 127, 128, 255};
    switch (random() % 8) {
      case 0:
        return kEdges[random() % std::size(kEdges)];
      case 1:
        return ~kEdges[random() % std::size(kEdges)];
      case 2:
        return bytes == 8 ? bits_of(static_cast<double>(static_cast<int>(random() % 2000) - 1000) / 8)
                          : bits_of(static_cast<float>(static_cast<int>(random() % 2000) - 1000) / 8);
      case 3:
        return Bits{1} << (8 * bytes - 1);
      case 4:
        return bytes == 8 ? 0x7ff0000000000000 : bytes == 4 ? 0x7f800000 : 0x7c00;
      default:
        return random();
    }
  }

  static std::string type(unsigned bytes) { return bytes ? ".b" + std::to_string(8 * bytes) : ".pred"; }

  void check(const Form& form) {
    unsigned third = form.third ? form.third : form.from;
    std::string body = "{.reg " + type(form.from) + " %a, %b, %e; .reg " + type(third) + " %c; .reg " + type(form.to) +
                       " %z; .reg .b64 %x;\nmul.wide.u32 %x, %t, 32; add.s64 %d1, %i, %x; mul.wide.u32 %x, %t, 8;"
                       "add.s64 %d2, %o, %x;\n";
    const char* names[] = {"%a", "%b", "%c", "%e"};
    for (int k = 0; k < 4; ++k)
      body +=
          "ld.global" + type(k == 2 ? third : form.from) + " " + names[k] + ", [%d1+" + std::to_string(8 * k) + "];\n";
    body += form.instruction + "\n";
    body +=
        form.to ? "st.global" + type(form.to) + " [%d2], %z;}" : "selp.b32 %r1, 1, 0, %z; st.global.b32 [%d2], %r1;}";
    auto module = loaded(kernel(body));
    ASSERT_TRUE(module) << form.instruction;
    constexpr std::size_t kCount = 512;
    std::vector<Inputs> inputs(kCount);
    for (Inputs& one : inputs)
      for (int k = 0; k < 4; ++k) one[static_cast<std::size_t>(k)] = any(k == 2 ? third : form.from);
    Address in = placed(inputs), out = placed(std::vector<Bits>(kCount));
    LaunchResult result = launched(*module, out, in, 0, {kCount, 1, 1});
    ASSERT_EQ(result.code, kSuccess) << form.instruction << first_finding(result);
    auto results = taken<Bits>(out, kCount);
    Bits kept = form.to == 8 || !form.to ? ~Bits{0} : (Bits{1} << (8 * form.to)) - 1;
    for (std::size_t k = 0; k < kCount; ++k) {
      Inputs cut = inputs[k];
      for (int m = 0; m < 4; ++m) {
        unsigned bytes = m == 2 ? third : form.from;
        if (bytes < 8) cut[static_cast<std::size_t>(m)] &= (Bits{1} << (8 * bytes)) - 1;
      }
      ASSERT_EQ(results[k], form.expected(cut) & kept)
          << form.instruction << std::hex << " of " << cut[0] << ", " << cut[1] << ", " << cut[2] << ", " << cut[3];
    }
    memory.release(in);
    memory.release(out);
  }
  void check_all(const std::vector<Form>& forms) {
    for (const Form& form : forms) check(form);
  }
};

using I16 = std::int16_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
__extension__ typedef __int128 I128;
__extension__ typedef unsigned __int128 U128;

}  // namespace emulated
