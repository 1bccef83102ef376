// A sample of what the `ulp` program sweeps in full: the math functions stay within 2 ULP.
#include <gtest/gtest.h>

#include "tests/ulp/ulp.h"

namespace md::ulp {
namespace {

class Accuracy : public testing::TestWithParam<Function> {};

TEST_P(Accuracy, Float32) {
  // A prime step meets every exponent and all low mantissa bits.
  const Worst w = sweep(GetParam(), blocks::kernel_table(), 0, std::uint64_t{1} << 32, 40961);
  EXPECT_LE(w.ulps, 2) << "at " << w.at;
}

// Signs of zero, infinities, NaN, subnormals and the ends of the range.
TEST_P(Accuracy, Float32Edges) {
  for (const std::uint32_t around : {0x00000000u, 0x00800000u, 0x3f800000u, 0x7f800000u, 0x42b17218u, 0x42cff1b5u,
                                     0x47000000u, 0x48000000u, 0x41b00000u, 0x3f000000u}) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const std::uint64_t center = around | sign;
      const Worst w = sweep(GetParam(), blocks::kernel_table(), center - (around ? 600 : 0), center + 600, 1);
      EXPECT_LE(w.ulps, 2) << "at " << w.at;
    }
  }
}

TEST_P(Accuracy, Float64) {
  const Worst w = sample_double(GetParam(), blocks::kernel_table(), 60000, 7);
  EXPECT_LE(w.ulps, 2) << "at " << w.at;
}

INSTANTIATE_TEST_SUITE_P(Math, Accuracy, testing::ValuesIn(functions()),
                         [](const testing::TestParamInfo<Function>& i) { return std::string(i.param.name); });

TEST(Accuracy, PowEdges) {
  EXPECT_LE(PowTest<float>(blocks::kernel_table()).edges().ulps, 2);
  EXPECT_LE(PowTest<double>(blocks::kernel_table()).edges().ulps, 2);
}

TEST(Accuracy, Pow) {
  EXPECT_LE(PowTest<float>(blocks::kernel_table()).random(200000, 3).ulps, 2);
  EXPECT_LE(PowTest<double>(blocks::kernel_table()).random(100000, 4).ulps, 2);
}

}  // namespace
}  // namespace md::ulp
