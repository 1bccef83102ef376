// Expressions of symbolic sizes: normal forms, what ranges and guards decide, agreement with Python on random ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "ir/core/error.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

TEST(Sizes, NormalFormsMeet) {
  ShapeEnv env;
  const Size s = env.backed(5, "x.size(0)"), t = env.backed(7, "x.size(1)");
  EXPECT_EQ((s + t) * (s - t), s * s - t * t);
  EXPECT_EQ(s + s, 2 * s);
  EXPECT_EQ(s - s, Size(0));
  EXPECT_EQ(to_string((s + 1) * (s + 1)), "s0**2 + 2*s0 + 1");
  EXPECT_EQ(to_string(4 * s + 1), "4*s0 + 1");
  EXPECT_EQ(to_string(t - s * 2), "-2*s0 + s1");
  EXPECT_EQ(min(s, t), min(t, s));
}

TEST(Sizes, FloordivAndMod) {
  ShapeEnv env;
  const Size s = env.backed(5, "a"), t = env.backed(7, "b");
  EXPECT_EQ(floordiv(4 * s + 3, 4), s);
  EXPECT_EQ(mod(4 * s + 3, 4), Size(3));
  EXPECT_EQ(floordiv(s * t, t), s);
  EXPECT_EQ(mod(s * t, t), Size(0));
  EXPECT_EQ(floordiv(floordiv(s, 2), 3), floordiv(s, 6));
  EXPECT_EQ(floordiv(5 * s, 4), s + floordiv(s, 4));
  EXPECT_EQ(to_string(floordiv(s + 1, 2)), "((s0 + 1)//2)");
  EXPECT_THROW(floordiv(s, 0), OpError);
  EXPECT_THROW(mod(s, 0), OpError);
  const Size u = env.unbacked({SizeRange::kMin, SizeRange::kMax});
  EXPECT_EQ(to_string(floordiv(u * s, u)), "((s0*u0)//u0)") << "u0 may be zero";
}

TEST(Sizes, RangesDecide) {
  ShapeEnv env;
  const Size s = env.backed(5, "a"), u = env.unbacked();
  EXPECT_EQ(max(s, 1), s);
  EXPECT_EQ(min(s, 2), Size(2));
  EXPECT_EQ(mod(mod(s, 4), 8), mod(s, 4));
  EXPECT_FALSE(guard_eq(s, 1));
  EXPECT_FALSE(guard_lt(u, 0));
  EXPECT_TRUE(guard_lt(u, u + 1));
  EXPECT_TRUE(env.guards().empty()) << "nothing was assumed";
}

TEST(Sizes, GuardsAreRecordedAndLearntFrom) {
  ShapeEnv env;
  const Size s = env.backed(8, "a"), t = env.backed(2, "b");
  EXPECT_TRUE(guard_eq(s, 4 * t));
  ASSERT_EQ(env.guards().size(), 1u);
  EXPECT_EQ(to_string(env.guards()[0]), "s0 == 4*s1");
  EXPECT_EQ(env.simplify(s + 1), 4 * t + 1);
  EXPECT_FALSE(guard_lt(s, t)) << "s0 is 4*s1 now";
  EXPECT_TRUE(guard_lt(t, 6));
  EXPECT_TRUE(guard_lt(t, 7)) << "follows from the guard before";
  EXPECT_EQ(env.guards().size(), 2u);
  EXPECT_TRUE(guard_eq(mod(s + t, 5), 0)) << "5*s1 % 5";
  EXPECT_EQ(env.guards().size(), 2u);
}

TEST(Sizes, DivisibilityIsAFact) {
  ShapeEnv env;
  const Size s = env.backed(6, "a");
  EXPECT_TRUE(guard_eq(mod(s, 3), 0));
  EXPECT_EQ(mod(s, 3), Size(0));
  EXPECT_EQ(3 * floordiv(s, 3), s);
}

TEST(Sizes, ZeroOneAndDuckSizing) {
  ShapeEnv env;
  EXPECT_EQ(env.backed(1, "a"), Size(1));
  EXPECT_EQ(env.backed(0, "b"), Size(0));
  const Size s = env.backed(4, "c");
  EXPECT_EQ(env.backed(4, "d"), s);
  EXPECT_EQ(hint(s * s), 16);
}

TEST(Sizes, UnbackedHasNoHint) {
  ShapeEnv env;
  const Size u = env.unbacked();
  EXPECT_THROW(hint(u + 1), DataDependent);
  EXPECT_THROW(guard_eq(u, 3), DataDependent);
}

TEST(Sizes, OverflowIsAnError) {
  ShapeEnv env;
  const Size big = std::int64_t{1} << 62, s = env.backed(1000, "a");
  EXPECT_THROW(big + big, OpError);
  EXPECT_THROW(s * big * big, OpError);
  EXPECT_THROW(hint(s * big), OpError);
}

TEST(Sizes, LongSumsMeetAndFollowWhatIsLearnt) {
  ShapeEnv env;
  constexpr int kCount = 2000;
  std::vector<Size> symbols;
  for (int i = 0; i < kCount; ++i) symbols.push_back(env.integer(i + 2, "l[" + std::to_string(i) + "]"));
  Size forward = 0, backward = 0;
  for (int i = 0; i < kCount; ++i) forward = env.simplify(forward + symbols[static_cast<std::size_t>(i)]);
  for (int i = kCount; i-- > 0;) backward = env.simplify(symbols[static_cast<std::size_t>(i)] + backward);
  EXPECT_EQ(forward, backward);
  const std::int64_t total = kCount * (kCount + 3) / 2;
  EXPECT_EQ(hint(forward), total);
  EXPECT_EQ(env.range(forward).lo, SizeRange::kMin);

  EXPECT_TRUE(guard_eq(symbols[5], 7));
  EXPECT_EQ(env.simplify(forward), forward - symbols[5] + 7);
  EXPECT_TRUE(guard_eq(symbols[6], symbols[0] + 6));
  EXPECT_EQ(env.simplify(forward), forward - symbols[5] - symbols[6] + symbols[0] + 13) << "kept results are old";
  EXPECT_EQ(hint(env.simplify(forward)), total);
  for (Size s : symbols) guard_lt(s, 0);
  EXPECT_EQ(env.range(env.simplify(forward)).lo, 13) << "kept ranges are old";
}

TEST(Sizes, SharedOperandsAreSearchedAndEvaluatedOnce) {
  ShapeEnv env;
  const Size s = env.integer(1'000'000'007, "n");
  std::int64_t want = 1'000'000'007;
  Size n = s;
  for (int i = 0; i < 60; ++i) {  // written out these are 2**60 occurrences of n
    n = floordiv(3 * n, 2) - mod(n, 7);
    n = floordiv(n, 2);
    want = (3 * want / 2 - want % 7) / 2;
  }
  const std::vector<std::int64_t> values{1'000'000'007};
  EXPECT_EQ(hint(n), want);
  EXPECT_EQ(env.evaluate(n, values), want);
  EXPECT_EQ(env.simplify(n), n);
  int found = 0;
  for_each_symbol(n, [&](int) { ++found; });
  EXPECT_GE(found, 1);
  EXPECT_LE(found, 1000);
}

TEST(Sizes, TwoTracesDoNotMix) {
  ShapeEnv a, b;
  EXPECT_THROW(a.backed(4, "x") + b.backed(4, "y"), InternalError);
}

// A random expression built twice: as a Size and as Python text.
struct Pair {
  Size size;
  std::string text;
};

Pair random_pair(std::mt19937& rng, const std::vector<Pair>& leaves, int depth) {
  if (depth == 0 || rng() % 5 == 0) {
    if (rng() % 3 != 0) return leaves[rng() % leaves.size()];
    const int c = static_cast<int>(rng() % 13) - 4;
    return {c, "(" + std::to_string(c) + ")"};
  }
  const Pair a = random_pair(rng, leaves, depth - 1), b = random_pair(rng, leaves, depth - 1);
  const int divisor = static_cast<int>(rng() % 9) - 3;
  const std::string d = "(" + std::to_string(divisor) + ")";
  switch (rng() % 9) {
    case 0:
    case 1:
      return {a.size + b.size, "(" + a.text + " + " + b.text + ")"};
    case 2:
      return {a.size - b.size, "(" + a.text + " - " + b.text + ")"};
    case 3:
      return {a.size * b.size, "(" + a.text + " * " + b.text + ")"};
    case 4:
      return {min(a.size, b.size), "min(" + a.text + ", " + b.text + ")"};
    case 5:
      return {max(a.size, b.size), "max(" + a.text + ", " + b.text + ")"};
    case 6:
      if (divisor != 0) return {floordiv(a.size, divisor), "(" + a.text + " // " + d + ")"};
      return {floordiv(a.size, leaves[0].size), "(" + a.text + " // " + leaves[0].text + ")"};
    case 7:
      if (divisor != 0) return {mod(a.size, divisor), "(" + a.text + " % " + d + ")"};
      return {mod(a.size, leaves[0].size), "(" + a.text + " % " + leaves[0].text + ")"};
    default:
      return a;
  }
}

// Python evaluates the tree as built and the normal form as printed; both must give our value, within our range.
TEST(Sizes, RandomExpressionsAgreeWithPython) {
  std::mt19937 rng(20);
  const std::string path = testing::TempDir() + "md_sizes_check.py";
  std::ofstream script(path);
  for (int round = 0; round < 600; ++round) {
    ShapeEnv env;
    const std::vector<Pair> leaves{{env.backed(100, "a"), "s0"},
                                   {env.backed(101, "b"), "s1"},
                                   {env.unbacked({SizeRange::kMin, SizeRange::kMax}), "u0"}};
    const Pair p = random_pair(rng, leaves, 5);
    for (int draw = 0; draw < 4; ++draw) {
      const std::int64_t values[] = {2 + static_cast<int>(rng() % 30), 2 + static_cast<int>(rng() % 30),
                                     static_cast<int>(rng() % 41) - 20};
      const std::int64_t got = env.evaluate(p.size, values);
      const SizeRange r = env.range(p.size);
      EXPECT_LE(r.lo, got) << p.text;
      EXPECT_GE(r.hi, got) << p.text;
      script << "s0, s1, u0 = " << values[0] << ", " << values[1] << ", " << values[2] << "\n"
             << "assert (" << p.text << ") == " << got << " == (" << to_string(p.size) << ")\n";
    }
  }
  script.close();
  EXPECT_EQ(std::system((MINIDYNAMO_PYTHON " " + path).c_str()), 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace md
