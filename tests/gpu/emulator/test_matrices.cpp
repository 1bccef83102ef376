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

// One element of each operand is not 0, and one result with it: which, the ISA says by the number i of an element among
// those of a lane (its sections "Matrix Fragments for mma.m16n8k8", "... k16").
struct Place {
  int row, column;
};
Place left_place(const std::string& name, int lane, int i) {
  int group = lane >> 2, within = lane % 4;
  if (name.find("tf32") != std::string::npos)
    return {i == 0 || i == 2 ? group : group + 8, i < 2 ? within : within + 4};
  if (name.find("k8") != std::string::npos) return {i < 2 ? group : group + 8, within * 2 + (i & 1)};
  return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, within * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Place right_place(const std::string& name, int lane, int i) {
  int group = lane >> 2, within = lane % 4;
  if (name.find("tf32") != std::string::npos) return {i == 0 ? within : within + 4, group};
  return {within * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
}

TEST_F(MatrixTest, EachElementHasThePlaceOfTheIsa) {
  struct Form {
    const char* name;
    int k, parts;
    std::uint32_t one, two, three;
  };
  const Form forms[] = {{"m16n8k16.row.col.f32.f16.f16.f32", 16, 2, 0x3c00, 0x4000, 0x4200},
                        {"m16n8k8.row.col.f32.f16.f16.f32", 8, 2, 0x3c00, 0x4000, 0x4200},
                        {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2, 0x3f80, 0x4000, 0x4040},
                        {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1, 0x3f800000, 0x40000000, 0x40400000}};
  for (const Form& form : forms) {
    std::string name = form.name;
    int a_words = 16 * form.k / 32 / form.parts, b_words = 8 * form.k / 32 / form.parts;
    std::string list_a = "%r10", list_b = "%r14";
    for (int r = 1; r < a_words; ++r) list_a += ", %r" + std::to_string(10 + r);
    for (int r = 1; r < b_words; ++r) list_b += ", %r" + std::to_string(14 + r);
    auto module = loaded(kernel(
        "mul.wide.u32 %a, %t, 32; add.s64 %d1, %i, %a; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d1];"
        "ld.global.v2.u32 {%r14, %r15}, [%d1+16]; mov.f32 %f1, 0f00000000; mma.sync.aligned." +
        name + " {%f5, %f6, %f7, %f8}, {" + list_a + "}, {" + list_b +
        "}, {%f1, %f1, %f1, %f1}; mul.wide.u32 %a, %t, 16; add.s64 %d2, %o, %a; st.global.v4.f32 [%d2], {%f5, %f6, "
        "%f7, %f8};"));
    Address in = placed(std::vector<std::uint32_t>(256)), out = placed(std::vector<float>(128));
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<std::uint32_t> words(256);
      auto put = [&](int lane, int first, int i, std::uint32_t bits) {
        words[lane * 8 + first + i / form.parts] |= bits << (16 * (i % form.parts));
      };
      int lane = static_cast<int>(random() % 32), i = static_cast<int>(random() % (a_words * form.parts));
      Place left = left_place(name, lane, i);
      put(lane, 0, i, form.two);
      int columns[2] = {-1, -1};  // of results, with 3 and 1 as factors
      for (int which = 0; which < 2; ++which)
        for (int other = 0; other < 32; ++other)
          for (int j = 0; j < b_words * form.parts; ++j) {
            Place right = right_place(name, other, j);
            if (right.row != left.column || right.column != (which ? 6 : 1)) continue;
            put(other, 4, j, which ? form.one : form.three);
            columns[which] = right.column;
          }
      ASSERT_TRUE(columns[0] == 1 && columns[1] == 6);
      memory.write(in, words.data(), words.size() * 4);
      LaunchResult result = launched(*module, out, in, 0);
      ASSERT_EQ(result.code, kSuccess) << first_finding(result);
      auto made = taken<float>(out, 128);
      for (int at = 0; at < 128; ++at) {
        int row = (at / 4 >> 2) + (at % 4 < 2 ? 0 : 8), column = at / 4 % 4 * 2 + (at & 1);
        float expected = row != left.row ? 0 : column == 1 ? 6 : column == 6 ? 2 : 0;
        ASSERT_EQ(made[at], expected) << name << " lane " << lane << " element " << i;
      }
    }
  }
}

TEST_F(MatrixTest, AWarpMultipliesTogether) {
  std::string product =
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f5, %f6, %f7, %f8}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
      "{%f1, %f1, %f1, %f1};";
  EXPECT_EQ(found(product), "");
  EXPECT_EQ(found("setp.lt.u32 %p1, %t, 16; @%p1 bra $after; " + product + " $after: mov.u32 %r7, 0;"),
            "lanes missing");
  EXPECT_EQ(found("setp.lt.u32 %p1, %t, 16; @%p1 exit; " + product), "lanes missing");
}

TEST_F(MatrixTest, WhatADeviceDoesNotHave) {
  std::string log, early = kernel(
                       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r1, %r2}, "
                       "{%r5}, {%f1, %f1, %f1, %f1};");
  early.replace(early.find("sm_80"), 5, "sm_75");
  EXPECT_TRUE(Module::load(early, memory, log)) << log;
  for (std::string later : {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r1, %r2, %r3, "
                            "%r4}, {%r5, %r6}, {%f1, %f1, %f1, %f1};",
                            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f5, %f6, %f7, %f8}, {%r1, %r2, %r3, "
                            "%r4}, {%r5, %r6}, {%f1, %f1, %f1, %f1};",
                            "cp.async.commit_group;"}) {
    std::string text = kernel(later);
    EXPECT_TRUE(Module::load(text, memory, log)) << log;
    text.replace(text.find("sm_80"), 5, "sm_75");
    EXPECT_FALSE(Module::load(text, memory, log));
  }
  EXPECT_NE(log.find("this needs .target sm_80"), std::string::npos) << log;
  EXPECT_FALSE(
      Module::load(kernel("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r1}, {%r2}, {%f2};"), memory, log));
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
