// mma, ldmatrix: fragments against products of whole matrices, and the order in which they are summed.
#include <cmath>
#include <random>

#include "emulator_fixture.h"
#include "small_floats.h"

namespace emulated {
namespace {

struct Product {
  const char* name;
  int k;
  int parts;  // numbers in a register of a and b
  std::uint32_t (*bits)(float);
  float (*value)(std::uint32_t);
};

class MatrixTest : public EmulatorTest {
 protected:
  std::mt19937 random{3};
  float number() { return static_cast<float>(static_cast<int>(random() % 401) - 200) / 16; }
};

TEST_F(MatrixTest, Products) {
  const Product products[] = {
      {"m16n8k16.row.col.f32.f16.f16.f32", 16, 2, [](float v) -> std::uint32_t { return half_bits(v); },
       [](std::uint32_t b) { return half_value(static_cast<std::uint16_t>(b)); }},
      {"m16n8k8.row.col.f32.f16.f16.f32", 8, 2, [](float v) -> std::uint32_t { return half_bits(v); },
       [](std::uint32_t b) { return half_value(static_cast<std::uint16_t>(b)); }},
      {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2, [](float v) -> std::uint32_t { return brain_bits(v); },
       [](std::uint32_t b) { return brain_value(static_cast<std::uint16_t>(b)); }},
      {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1,
       [](float v) { return __builtin_bit_cast(std::uint32_t, v) & 0xffffe000u; },
       [](std::uint32_t b) { return __builtin_bit_cast(float, b); }},
  };
  for (const Product& product : products) {
    int a_count = 16 * product.k / 32 / product.parts, b_count = 8 * product.k / 32 / product.parts;
    std::vector<std::vector<float>> a(16, std::vector<float>(product.k)), b(product.k, std::vector<float>(8)),
        c(16, std::vector<float>(8));
    for (auto* all : {&a, &b, &c})
      for (auto& row : *all)
        for (float& one : row) one = product.value(product.bits(number()));
    // Fragments, as the ISA's tables give them: 12 words of each lane.
    std::vector<std::uint32_t> words(32 * 12);
    for (int lane = 0; lane < 32; ++lane) {
      int group = lane / 4, within = lane % 4, parts = product.parts;
      for (int r = 0; r < a_count; ++r)
        for (int j = 0; j < parts; ++j)
          words[lane * 12 + r] |= product.bits(a[group + 8 * (r % 2)][within * parts + j + (r / 2) * 4 * parts])
                                  << (16 * j);
      for (int r = 0; r < b_count; ++r)
        for (int j = 0; j < parts; ++j)
          words[lane * 12 + 4 + r] |= product.bits(b[within * parts + j + r * 4 * parts][group]) << (16 * j);
      for (int r = 0; r < 4; ++r)
        words[lane * 12 + 6 + r] = __builtin_bit_cast(std::uint32_t, c[group + 8 * (r / 2)][within * 2 + r % 2]);
    }
    std::string list_a, list_b;
    for (int r = 0; r < a_count; ++r) list_a += (r ? ", %r" : "%r") + std::to_string(10 + r);
    for (int r = 0; r < b_count; ++r) list_b += (r ? ", %r" : "%r") + std::to_string(14 + r);
    auto module =
        loaded(kernel("mul.wide.u32 %a, %t, 48; add.s64 %d1, %i, %a; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d1];"
                      "ld.global.v2.u32 {%r14, %r15}, [%d1+16]; ld.global.v2.f32 {%f1, %f2}, [%d1+24]; "
                      "ld.global.v2.f32 {%f3, %f4}, [%d1+32];"
                      "mma.sync.aligned." +
                      std::string(product.name) + " {%f5, %f6, %f7, %f8}, {" + list_a + "}, {" + list_b +
                      "}, {%f1, %f2, %f3, %f4}; mul.wide.u32 %a, %t, 16; add.s64 %d2, %o, %a; st.global.v4.f32 [%d2], "
                      "{%f5, %f6, %f7, %f8};"));
    Address in = placed(words), out = placed(std::vector<float>(128));
    LaunchResult result = launched(*module, out, in, 0);
    ASSERT_EQ(result.code, kSuccess) << first_finding(result);
    auto made = taken<float>(out, 128);
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) {
        int row = lane / 4 + 8 * (r / 2), column = lane % 4 * 2 + r % 2;
        float sum = c[row][column];
        for (int k = 0; k < product.k; ++k) sum = std::fma(a[row][k], b[k][column], sum);
        EXPECT_EQ(made[lane * 4 + r], sum) << product.name << " " << row << " " << column;
      }
  }
}

TEST_F(MatrixTest, LoadedMatrices) {
  for (bool turned : {false, true}) {
    auto module = loaded(kernel(
        "mov.u32 %r1, tile; shl.b32 %r2, %t, 4; add.s32 %r1, %r1, %r2; mul.wide.u32 %a, %t, 16; add.s64 %d1, %i, %a;"
        "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d1]; st.shared.v4.u32 [%r1], {%r3, %r4, %r5, %r6}; bar.sync 0;"
        "ldmatrix.sync.aligned.m8n8.x4" +
            std::string(turned ? ".trans" : "") +
            ".shared.b16 {%r3, %r4, %r5, %r6}, [%r1];"
            "add.s64 %d2, %o, %a; st.global.v4.u32 [%d2], {%r3, %r4, %r5, %r6};",
        ".shared .align 16 .b8 tile[512];\n"));
    std::vector<std::uint16_t> numbers(256);
    for (std::size_t i = 0; i < 256; ++i) numbers[i] = static_cast<std::uint16_t>(i);
    Address in = placed(numbers), out = placed(std::vector<std::uint16_t>(256));
    LaunchResult result = launched(*module, out, in, 0);
    ASSERT_EQ(result.code, kSuccess) << first_finding(result);
    auto made = taken<std::uint16_t>(out, 256);
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int part = 0; part < 2; ++part) {
          int row = turned ? lane % 4 * 2 + part : lane / 4, column = turned ? lane / 4 : lane % 4 * 2 + part;
          EXPECT_EQ(made[lane * 8 + matrix * 2 + part], matrix * 64 + row * 8 + column);
        }
  }
}

}  // namespace
}  // namespace emulated
