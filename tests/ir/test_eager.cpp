// Ops called on real tensors: values, dtypes and the random stream, family by family.
#include <cmath>
#include <limits>

#include "ir/tensor/philox.h"
#include "tests/ir/calls.h"

namespace md {
namespace {

using testing::call;
using testing::inplace;
using testing::list;
using testing::raised;
using testing::run;
using testing::tensor;
using testing::tuple;
using testing::values;
using testing::vec;
using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Bools = std::vector<bool>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Eager, Arithmetic) {
  EXPECT_EQ(values<float>(run("add", {vec<float>({1, 2}), 1})), (Floats{2, 3}));
  EXPECT_EQ(values<float>(run("sub", {1, vec<float>({1, 2})})), (Floats{0, -1}));
  EXPECT_EQ(values<float>(run("div", {vec<std::int64_t>({1, 2}), 2})), (Floats{0.5, 1}));
  EXPECT_EQ(values<float>(run("add", {vec<float>({1, 2}), vec<float>({3, 4})}, {{"alpha", 2}})), (Floats{7, 10}));
  EXPECT_EQ(values<float>(run("add", {tensor<float>({1, 2}, {2, 1}), vec<float>({10, 20})})), (Floats{11, 21, 12, 22}));
  EXPECT_EQ(values<bool>(run("add", {vec<bool>({true, false}), vec<bool>({true, false})})), (Bools{true, false}));
}

TEST(Eager, IntegerDivisionFollowsPython) {
  const TensorRef x = vec<std::int64_t>({7, -7, 7, -7, kMin}), y = vec<std::int64_t>({2, 2, -2, -2, -1});
  EXPECT_EQ(values<std::int64_t>(run("floor_divide", {x, y})), (Longs{3, -4, -4, 3, kMin}));
  EXPECT_EQ(values<std::int64_t>(run("remainder", {x, y})), (Longs{1, 1, -1, -1, 0}));
  EXPECT_EQ(values<std::int64_t>(run("fmod", {x, y})), (Longs{1, -1, 1, -1, 0}));
  EXPECT_EQ(values<std::int64_t>(run("div", {x, y}, {{"rounding_mode", "trunc"}})), (Longs{3, -3, -3, 3, kMin}));
  const auto r = raised([&] { run("floor_divide", {x, 0}); });
  EXPECT_EQ(r.kind, ErrorKind::Runtime);
  EXPECT_EQ(r.text, "ZeroDivisionError");
}

TEST(Eager, FloatDivisionFollowsPython) {
  const auto divide = [](float x, float y) { return values<float>(run("floor_divide", {vec<float>({x}), y}))[0]; };
  EXPECT_EQ(divide(7, 2), 3);
  EXPECT_EQ(divide(-7, 2), -4);
  EXPECT_EQ(divide(1, kInf), 0);
  EXPECT_EQ(divide(-1, kInf), -1);
  EXPECT_EQ(divide(1, 0), kInf);
  EXPECT_TRUE(std::isnan(divide(0, 0)));
  EXPECT_TRUE(std::signbit(divide(-0.0f, 3)));
  EXPECT_FALSE(std::signbit(divide(0.0f, 3)));
  EXPECT_EQ(values<float>(run("remainder", {vec<float>({-7, 7, 5.5}), 3})), (Floats{2, 1, 2.5}));
}

TEST(Eager, Powers) {
  const TensorRef x = vec<std::int64_t>({2, -3, 0, 1, -1});
  EXPECT_EQ(values<std::int64_t>(run("pow", {x, 5})), (Longs{32, -243, 0, 1, -1}));
  EXPECT_EQ(values<std::int64_t>(run("pow", {x, vec<std::int64_t>({-1, -1, -1, -3, -3})})), (Longs{0, 0, 0, 1, -1}));
  EXPECT_EQ(values<float>(run("pow", {vec<float>({3, -2}), 2})), (Floats{9, 4}));
  EXPECT_EQ(values<float>(run("pow", {vec<float>({4, 9}), 0.5})), (Floats{2, 3}));
  EXPECT_EQ(values<float>(run("pow", {2, vec<float>({3, -1})})), (Floats{8, 0.5}));
  EXPECT_EQ(raised([&] { run("pow", {x, -1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(values<std::int64_t>(run("square", {vec<bool>({true, false})})), (Longs{1, 0}));
}

TEST(Eager, LimitsAndRounding) {
  const Floats m = values<float>(run("maximum", {vec<float>({1, kNan, 2}), vec<float>({3, 1, kNan})}));
  EXPECT_EQ(m[0], 3);
  EXPECT_TRUE(std::isnan(m[1]) && std::isnan(m[2]));
  EXPECT_EQ(values<float>(run("clamp", {vec<float>({-2, 0.5, 9}), 0, 1})), (Floats{0, 0.5, 1}));
  EXPECT_EQ(values<float>(run("clamp", {vec<float>({-2, 3})}, {{"max", 1}})), (Floats{-2, 1}));
  EXPECT_EQ(raised([&] { run("clamp", {vec<float>({1})}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(values<float>(run("round", {vec<float>({0.5, 1.5, 2.5, -0.5})})), (Floats{0, 2, 2, -0.0f}));
  EXPECT_EQ(values<float>(run("round", {vec<float>({1.25, 1.35})}, {{"decimals", 1}})), (Floats{1.2f, 1.4f}));
  EXPECT_EQ(values<float>(run("sign", {vec<float>({-3, 0, kNan, 2})})), (Floats{-1, 0, 0, 1}));
}

TEST(Eager, ConversionsAreDefined) {
  const TensorRef x = vec<float>({1.9f, -1.9f, 1e30f, kNan, -kInf});
  EXPECT_EQ(values<std::int64_t>(run("long", {x})), (Longs{1, -1, kMin, kMin, kMin}));
  EXPECT_EQ(values<bool>(run("bool", {vec<float>({0, -0.0f, kNan})})), (Bools{false, false, true}));
  EXPECT_EQ(run("float", {x}).get(), x.get());
  EXPECT_NE(run("to", {x, DType::Float32}, {{"copy", true}}).get(), x.get());
  EXPECT_EQ(run("to", {x, "cpu"}).get(), x.get());
  EXPECT_EQ(raised([&] { run("to", {x, "cuda"}); }).kind, ErrorKind::Assertion);
}

TEST(Eager, SumFollowsTheDefinedOrder) {
  // 100 elements: lane k holds x[k] + x[k + 64]; the lanes fold by halving.
  TensorRef x = empty_tensor({100}, DType::Float32);
  for (int i = 0; i < 100; ++i) x->as<float>()[i] = 1.0f / static_cast<float>(i + 3);
  float lane[64];
  for (int k = 0; k < 64; ++k) lane[k] = k < 36 ? x->as<float>()[k] + x->as<float>()[k + 64] : x->as<float>()[k];
  for (int half = 32; half; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
  }
  EXPECT_EQ(values<float>(run("sum", {x}))[0], lane[0]);
  EXPECT_FALSE(std::signbit(values<float>(run("sum", {vec<float>({})}))[0]));
  EXPECT_TRUE(std::signbit(values<float>(run("sum", {vec<float>({-0.0f})}))[0]));
}

TEST(Eager, Reductions) {
  const TensorRef x = tensor<float>({1, 5, 3, 4, 2, 6}, {2, 3});
  EXPECT_EQ(values<float>(run("sum", {x, 0})), (Floats{5, 7, 9}));
  EXPECT_EQ(values<float>(run("mean", {x, 1})), (Floats{3, 4}));
  EXPECT_EQ(values<float>(run("prod", {x, 1})), (Floats{15, 48}));
  EXPECT_EQ(values<float>(run("max", {x})), (Floats{6}));
  EXPECT_EQ(values<std::int64_t>(run("argmax", {x})), (Longs{5}));
  EXPECT_EQ(values<std::int64_t>(run("argmin", {x, 1})), (Longs{0, 1}));
  const Arg both = call("max", {x, 1});
  EXPECT_EQ(values<float>(both.get<ListArg>().items[0].get<TensorRef>()), (Floats{5, 6}));
  EXPECT_EQ(values<std::int64_t>(both.get<ListArg>().items[1].get<TensorRef>()), (Longs{1, 2}));
  EXPECT_EQ(values<float>(run("var", {x, 1})), (Floats{4, 4}));
  EXPECT_EQ(values<float>(run("std", {x, 1})), (Floats{2, 2}));
  EXPECT_EQ(values<float>(run("var", {vec<float>({1, 3})}, {{"correction", 0}})), (Floats{1}));
  EXPECT_TRUE(std::isnan(values<float>(run("var", {vec<float>({1})}))[0]));
  EXPECT_EQ(values<bool>(run("any", {tensor<float>({0, 0, 0, 2}, {2, 2}), 1})), (Bools{false, true}));
  EXPECT_EQ(values<bool>(run("all", {vec<float>({})})), (Bools{true}));
  EXPECT_EQ(values<std::int64_t>(run("argmax", {vec<float>({1, kNan, 3, kNan})})), (Longs{1}));
}

TEST(Eager, ViewsShareAndIndexAssigns) {
  const TensorRef x = tensor<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  assign_index(x, tuple({make_slice({}, {}, {}), 1}), 9);
  EXPECT_EQ(values<float>(x), (Floats{0, 9, 2, 3, 9, 5}));
  assign_index(x, 0, tensor<float>({7, 8, 9}, {1, 3}));
  EXPECT_EQ(values<float>(x), (Floats{7, 8, 9, 3, 9, 5}));
  inplace("add", {run("t", {x}), 1});
  EXPECT_EQ(values<float>(x), (Floats{8, 9, 10, 4, 10, 6}));
  EXPECT_EQ(raised([&] { assign_index(x, 0, vec<float>({1, 2})); }).text,
            "assignment to x[...]: a value of sizes [2] does not fit a part of sizes [3]");
  EXPECT_EQ(raised([&] { assign_index(run("expand", {x, 2, 2, 3}), EllipsisArg{}, 1); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { assign_index(x, 0, NoneArg{}); }).kind, ErrorKind::Type);
}

TEST(Eager, InPlace) {
  const TensorRef x = vec<float>({1, 2, 3, 4});
  const std::uint32_t version = x->storage->version;
  EXPECT_EQ(inplace("mul", {x, 2}).get(), x.get());
  EXPECT_EQ(x->storage->version, version + 1);
  EXPECT_EQ(values<float>(x), (Floats{2, 4, 6, 8}));
  // The right side is read before the left side is written.
  inplace("copy", {index_tensor(x, make_slice(1, 4, {})), index_tensor(x, make_slice(0, 3, {}))});
  EXPECT_EQ(values<float>(x), (Floats{2, 2, 4, 6}));
  EXPECT_EQ(raised([&] { inplace("add", {x, tensor<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})}); }).kind,
            ErrorKind::Runtime);
  const TensorRef i = vec<std::int64_t>({1, 2});
  EXPECT_EQ(raised([&] { inplace("add", {i, 1.5}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { inplace("add", {run("expand", {vec<float>({1}), 3}), 1}); }).kind, ErrorKind::Runtime);
  inplace("copy", {i, vec<float>({2.7f, 3.2f})});
  EXPECT_EQ(values<std::int64_t>(i), (Longs{2, 3}));
  inplace("zero", {i});
  EXPECT_EQ(values<std::int64_t>(i), (Longs{0, 0}));
  const TensorRef narrow = vec<std::int32_t>({1, 2});
  inplace("add", {narrow, vec<std::int64_t>({5, 6})});
  EXPECT_EQ(values<std::int32_t>(narrow), (std::vector<std::int32_t>{6, 8}));
}

TEST(Eager, CreationAndJoining) {
  EXPECT_EQ(values<std::int64_t>(run("arange", {2, 8, 3})), (Longs{2, 5}));
  EXPECT_EQ(values<float>(run("linspace", {0, 1, 5})), (Floats{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(values<float>(run("eye", {2, 3})), (Floats{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values<std::int64_t>(run("full", {list({2}), 7})), (Longs{7, 7}));
  EXPECT_EQ(values<bool>(run("ones_like", {vec<bool>({false})})), (Bools{true}));
  const TensorRef x = tensor<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(values<float>(run("cat", {list({x, run("t", {x})}), 1})), (Floats{1, 2, 1, 3, 3, 4, 2, 4}));
  EXPECT_EQ(values<float>(run("stack", {list({x, x}), 2})), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  const Arg parts = call("split", {vec<float>({1, 2, 3}), 2});
  ASSERT_EQ(parts.get<ListArg>().items.size(), 2u);
  EXPECT_EQ(values<float>(parts.get<ListArg>().items[1].get<TensorRef>()), (Floats{3}));
  EXPECT_EQ(call("chunk", {vec<float>({1, 2, 3, 4, 5}), 4}).get<ListArg>().items.size(), 3u);
}

TEST(Eager, Products) {
  const TensorRef a = tensor<float>({1, 2, 3, 4}, {2, 2}), v = vec<float>({1, 10});
  EXPECT_EQ(values<float>(run("matmul", {a, a})), (Floats{7, 10, 15, 22}));
  EXPECT_EQ(values<float>(run("matmul", {a, v})), (Floats{21, 43}));
  EXPECT_EQ(values<float>(run("matmul", {v, a})), (Floats{31, 42}));
  EXPECT_EQ(values<float>(run("dot", {v, v})), (Floats{101}));
  EXPECT_EQ(values<float>(run("matmul", {run("t", {a}), a})), (Floats{10, 14, 14, 20}));
  const TensorRef batch = run("stack", {list({a, a})});
  EXPECT_EQ(values<float>(run("matmul", {batch, a})), (Floats{7, 10, 15, 22, 7, 10, 15, 22}));
  EXPECT_EQ(values<float>(run("matmul", {a, batch})), (Floats{7, 10, 15, 22, 7, 10, 15, 22}));
  const TensorRef ints = tensor<std::int64_t>({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(values<std::int64_t>(run("mm", {ints, ints})), (Longs{7, 10, 15, 22}));
}

TEST(Random, PhiloxMatchesThePublishedVectors) {
  // Known answers of the authors' Random123 for ten rounds.
  EXPECT_EQ(philox(0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Random, SeedsRepeatAndDistributionsFit) {
  seed_generator(7);
  const Floats a = values<float>(run("rand", {1000})), b = values<float>(run("rand", {1000}));
  seed_generator(7);
  EXPECT_EQ(values<float>(run("rand", {1000})), a);
  EXPECT_NE(a, b);
  for (const float x : a) EXPECT_TRUE(x >= 0 && x < 1);
  const TensorRef n = run("randn", {20000}, {{"dtype", DType::Float64}});
  EXPECT_NEAR(values<double>(run("mean", {n}))[0], 0, 0.05);
  EXPECT_NEAR(values<double>(run("std", {n}))[0], 1, 0.05);
  for (const std::int64_t i : values<std::int64_t>(run("randint", {-2, 3, list({500})}))) EXPECT_TRUE(i >= -2 && i < 3);
}

}  // namespace
}  // namespace md
