// Shapes, dtypes, strides and errors of ops, inferred without computing them.
#include "ir/sizes/shape_env.h"
#include "tests/ir/calls.h"

namespace md {
namespace {

using testing::list;
using testing::raised;
using testing::run;
using testing::tuple;

TensorRef make(DType t, DimVec sizes) { return empty_tensor(sizes, t); }

std::vector<TensorType> types(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  const BoundCall c = md::bind(name, std::vector<Arg>(args), kwargs);
  return infer(op(c.op), c.args);
}
TensorType type(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  return types(name, args, kwargs).front();
}
SizeVec sizes(std::initializer_list<Size> s) { return SizeVec(s); }

TEST(Promotion, DimensionedTensorsBeatScalarsOfTheirCategory) {
  const Arg f32 = make(DType::Float32, {2}), f64 = make(DType::Float64, {2}), i32 = make(DType::Int32, {2});
  const Arg i64 = make(DType::Int64, {2}), b = make(DType::Bool, {2});
  const Arg f64_0d = make(DType::Float64, {}), i64_0d = make(DType::Int64, {});
  EXPECT_EQ(type("add", {f32, f64}).dtype, DType::Float64);
  EXPECT_EQ(type("add", {f32, f64_0d}).dtype, DType::Float32);
  EXPECT_EQ(type("add", {i32, i64_0d}).dtype, DType::Int32);
  EXPECT_EQ(type("add", {i32, f64_0d}).dtype, DType::Float64);
  EXPECT_EQ(type("add", {i64_0d, i32}).dtype, DType::Int32);
  EXPECT_EQ(type("add", {i32, 1.5}).dtype, DType::Float32);
  EXPECT_EQ(type("add", {f64, 1.5}).dtype, DType::Float64);
  EXPECT_EQ(type("add", {i32, 1}).dtype, DType::Int32);
  EXPECT_EQ(type("add", {b, 1}).dtype, DType::Int64);
  EXPECT_EQ(type("add", {b, true}).dtype, DType::Bool);
  EXPECT_EQ(type("add", {i32, i64}).dtype, DType::Int64);
  EXPECT_EQ(type("add", {b, i32}).dtype, DType::Int32);
}

TEST(Promotion, ByRule) {
  const Arg f32 = make(DType::Float32, {2}), i64 = make(DType::Int64, {2}), b = make(DType::Bool, {2});
  EXPECT_EQ(type("div", {i64, i64}).dtype, DType::Float32);
  EXPECT_EQ(type("floor_divide", {i64, i64}).dtype, DType::Int64);
  EXPECT_EQ(type("sin", {i64}).dtype, DType::Float32);
  EXPECT_EQ(type("lt", {f32, i64}).dtype, DType::Bool);
  EXPECT_EQ(type("logical_and", {f32, i64}).dtype, DType::Bool);
  EXPECT_EQ(type("where", {b, 1, 2.5}).dtype, DType::Float32);
  EXPECT_EQ(type("sum", {b}).dtype, DType::Int64);
  EXPECT_EQ(type("sum", {make(DType::Int32, {2})}).dtype, DType::Int64);
  EXPECT_EQ(type("sum", {i64}, {{"dtype", DType::Float32}}).dtype, DType::Float32);
  EXPECT_EQ(type("argmax", {f32}).dtype, DType::Int64);
  EXPECT_EQ(type("any", {f32}).dtype, DType::Bool);
  EXPECT_EQ(type("full", {list({2}), 1}).dtype, DType::Int64);
  EXPECT_EQ(type("arange", {3.0}).dtype, DType::Float32);
}

TEST(Promotion, RefusesDtypesWithoutABody) {
  const Arg b = make(DType::Bool, {2}), f = make(DType::Float32, {2});
  for (const auto& [name, args] : std::vector<std::pair<std::string, std::vector<Arg>>>{
           {"neg", {b}}, {"abs", {b}}, {"floor", {b}}, {"bitwise_and", {f, f}}, {"argmax", {b}}}) {
    const BoundCall c = md::bind(name, args, {});
    EXPECT_EQ(raised([&] { infer(op(c.op), c.args); }).kind, ErrorKind::NotImplemented) << name;
  }
  EXPECT_EQ(raised([&] { type("mean", {make(DType::Int64, {2})}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("where", {f, 1, 2}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("sub", {f, b}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("sub", {b, true}); }).kind, ErrorKind::Runtime);
}

TEST(Broadcast, SizesAndErrors) {
  const Arg a = make(DType::Float32, {4, 1, 3}), b = make(DType::Float32, {5, 1});
  EXPECT_EQ(type("add", {a, b}).sizes, sizes({4, 5, 3}));
  EXPECT_EQ(type("add", {make(DType::Float32, {0, 3}), make(DType::Float32, {1, 3})}).sizes, sizes({0, 3}));
  const auto r = raised([&] { type("add", {make(DType::Float32, {3}), make(DType::Float32, {4})}); });
  EXPECT_EQ(r.kind, ErrorKind::Runtime);
  EXPECT_EQ(r.text, "add(): sizes [3] and [4] do not broadcast: 3 against 4 at dimension 0");
}

TEST(Layout, PointwiseKeepsADensePermutation) {
  const TensorRef x = make(DType::Float32, {2, 3, 4});
  const TensorRef p = run("permute", {x, 2, 0, 1});
  EXPECT_EQ(type("sin", {p}).strides, sizes({1, 12, 4}));
  EXPECT_EQ(type("add", {p, p}).strides, sizes({1, 12, 4}));
  EXPECT_EQ(type("add", {x, 1}).strides, sizes({12, 4, 1}));
  EXPECT_EQ(type("add", {p, make(DType::Float32, {4, 2, 3})}).strides, sizes({1, 12, 4}));  // the first decides
  EXPECT_EQ(type("contiguous", {p}).strides, sizes({6, 3, 1}));
  EXPECT_EQ(type("sum", {p}, {{"dim", 0}}).strides, sizes({3, 1}));
  EXPECT_EQ(type("zeros_like", {p}).strides, sizes({1, 12, 4}));
}

TEST(Views, ViewNeedsCompatibleStrides) {
  const TensorRef x = make(DType::Float32, {2, 3, 4});
  EXPECT_EQ(type("view", {x, 6, -1}).sizes, sizes({6, 4}));
  EXPECT_EQ(type("view", {x, 2, 1, 3, 4}).strides, sizes({12, 12, 4, 1}));
  const TensorRef t = run("transpose", {x, 0, 1});
  EXPECT_EQ(raised([&] { type("view", {t, 6, 4}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(type("view", {t, 3, 2, 2, 2}).strides, sizes({4, 12, 2, 1}));
  EXPECT_EQ(raised([&] { type("view", {x, 5, -1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("view", {x, -1, -1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("view", {make(DType::Float32, {0}), -1, 0}); }).kind, ErrorKind::Runtime);
}

TEST(Views, ReshapeSharesWhereItCan) {
  const TensorRef x = make(DType::Float32, {2, 3});
  EXPECT_EQ(run("reshape", {x, 6})->storage, x->storage);
  const TensorRef t = run("t", {x});
  EXPECT_FALSE(run("reshape", {t, 6})->storage == x->storage);
  EXPECT_EQ(run("flatten", {x})->storage, x->storage);
  EXPECT_EQ(run("flatten", {x, 1}).get(), x.get());
}

TEST(Views, Shapes) {
  const TensorRef x = make(DType::Float32, {2, 1, 3});
  EXPECT_EQ(type("squeeze", {x}).sizes, sizes({2, 3}));
  EXPECT_EQ(type("squeeze", {x, 0}).sizes, sizes({2, 1, 3}));
  EXPECT_EQ(type("squeeze", {x, -2}).sizes, sizes({2, 3}));
  EXPECT_EQ(type("unsqueeze", {x, -1}).sizes, sizes({2, 1, 3, 1}));
  EXPECT_EQ(type("expand", {x, -1, 4, 3}).strides, sizes({3, 0, 1}));
  EXPECT_EQ(type("expand", {x, 5, 2, 1, 3}).sizes, sizes({5, 2, 1, 3}));
  EXPECT_EQ(raised([&] { type("expand", {x, 3, 1, 3}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("unsqueeze", {x, 4}); }).kind, ErrorKind::Index);
  EXPECT_EQ(raised([&] { type("permute", {x, 0, 0, 1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("t", {x}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(type("T", {x}).sizes, sizes({3, 1, 2}));
  EXPECT_EQ(type("mT", {x}).sizes, sizes({2, 3, 1}));
}

TEST(Views, Indexing) {
  const TensorRef x = make(DType::Float32, {4, 5, 6});
  const auto part = [&](Arg index) { return type("getitem", {x, std::move(index)}); };
  EXPECT_EQ(part(1).sizes, sizes({5, 6}));
  EXPECT_EQ(part(-1).offset, Size(90));
  EXPECT_EQ(part(make_slice(1, NoneArg{}, 2)).sizes, sizes({2, 5, 6}));
  EXPECT_EQ(part(make_slice(-100, 100, NoneArg{})).sizes, sizes({4, 5, 6}));
  EXPECT_EQ(part(make_slice(3, 1, NoneArg{})).sizes, sizes({0, 5, 6}));
  EXPECT_EQ(part(tuple({EllipsisArg{}, 2})).sizes, sizes({4, 5}));
  EXPECT_EQ(part(tuple({NoneArg{}, 0, make_slice({}, {}, {}), NoneArg{}})).sizes, sizes({1, 5, 1, 6}));
  EXPECT_EQ(raised([&] { part(4); }).text, "index 4 is out of bounds for dimension 0 with size 4");
  EXPECT_EQ(raised([&] { part(tuple({0, 0, 0, 0})); }).kind, ErrorKind::Index);
  EXPECT_EQ(raised([&] { part(make_slice({}, {}, -1)); }).kind, ErrorKind::Value);
  EXPECT_EQ(raised([&] { part(tuple({EllipsisArg{}, EllipsisArg{}})); }).kind, ErrorKind::Index);
  EXPECT_EQ(part(list({0, 1})).sizes, sizes({2, 5, 6}));
  EXPECT_EQ(part(tuple({make_slice({}, {}, {}), list({0, 1, 2}), list({5, 5, 5})})).sizes, sizes({4, 3}));
  EXPECT_EQ(raised([&] { part(list({0.5})); }).kind, ErrorKind::Index);
}

TEST(Reductions, DimsAndErrors) {
  const TensorRef x = make(DType::Float32, {2, 3, 4});
  EXPECT_EQ(type("sum", {x}).sizes, sizes({}));
  EXPECT_EQ(type("sum", {x, list({0, -1})}).sizes, sizes({3}));
  EXPECT_EQ(type("sum", {x, list({})}).sizes, sizes({}));
  EXPECT_EQ(type("mean", {x, 1, true}).sizes, sizes({2, 1, 4}));
  EXPECT_EQ(type("sum", {make(DType::Float32, {}), 0}).sizes, sizes({}));
  EXPECT_EQ(raised([&] { type("sum", {x, 3}); }).kind, ErrorKind::Index);
  EXPECT_EQ(raised([&] { type("sum", {x, list({0, 0})}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("amax", {make(DType::Float32, {0, 3}), 0}); }).kind, ErrorKind::Index);
  EXPECT_EQ(type("amax", {make(DType::Float32, {0, 3}), 1}).sizes, sizes({0}));
  const auto both = types("max", {x, 1});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].dtype, DType::Int64);
  EXPECT_EQ(op(find_op("max.dim")).schema.result_names, (std::vector<std::string>{"values", "indices"}));
}

TEST(Products, Shapes) {
  const auto m = [](DimVec s) { return Arg(make(DType::Float32, std::move(s))); };
  EXPECT_EQ(type("matmul", {m({2, 3}), m({3, 4})}).sizes, sizes({2, 4}));
  EXPECT_EQ(type("matmul", {m({3}), m({3})}).sizes, sizes({}));
  EXPECT_EQ(type("matmul", {m({2, 3}), m({3})}).sizes, sizes({2}));
  EXPECT_EQ(type("matmul", {m({3}), m({5, 3, 4})}).sizes, sizes({5, 4}));
  EXPECT_EQ(type("matmul", {m({6, 1, 2, 3}), m({5, 3, 4})}).sizes, sizes({6, 5, 2, 4}));
  EXPECT_EQ(type("matmul", {m({6, 2, 3}), m({3, 4})}).sizes, sizes({6, 2, 4}));
  EXPECT_EQ(raised([&] { type("mm", {m({2, 3}), m({2, 3})}); }).text,
            "mm(): mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  EXPECT_EQ(raised([&] { type("mm", {m({2, 3}), make(DType::Float64, {3, 2})}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("matmul", {m({}), m({3})}); }).kind, ErrorKind::Runtime);
}

TEST(Creation, SizesDevicesDtypes) {
  EXPECT_EQ(type("arange", {0, 1, 0.3}).sizes, sizes({4}));
  EXPECT_EQ(type("arange", {5, 0, -2}).sizes, sizes({3}));
  EXPECT_EQ(type("arange", {5, 5}).sizes, sizes({0}));
  EXPECT_EQ(raised([&] { type("arange", {5, 1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("arange", {1, 5, 0}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("zeros", {-1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("zeros", {2}, {{"device", "cuda"}}); }).kind, ErrorKind::Assertion);
  EXPECT_EQ(type("zeros", {2}, {{"dtype", DType::Float16}}).dtype, DType::Float16);
  EXPECT_EQ(raised([&] { type("full", {list({2}), 300}, {{"dtype", DType::Int8}}); }).kind, ErrorKind::Runtime);
  EXPECT_TRUE(type("zeros", {2}, {{"requires_grad", true}}).requires_grad);
  EXPECT_EQ(raised([&] { type("arange", {2}, {{"requires_grad", true}}); }).kind, ErrorKind::Runtime);
}

TEST(Joining, Cat) {
  const Arg a = make(DType::Float32, {2, 3}), b = make(DType::Int64, {4, 3}), e = make(DType::Float32, {0});
  const TensorType t = type("cat", {list({a, b, e})});
  EXPECT_EQ(t.sizes, sizes({6, 3}));
  EXPECT_EQ(t.dtype, DType::Float32);
  EXPECT_EQ(raised([&] { type("cat", {list({a, b}), 1}); }).kind, ErrorKind::Runtime);
  EXPECT_EQ(raised([&] { type("cat", {list({})}); }).kind, ErrorKind::Value);
  EXPECT_EQ(type("stack", {list({a, a}), -1}).sizes, sizes({2, 3, 2}));
}

TEST(Symbolic, SizesFlowThroughRules) {
  ShapeEnv env;
  const Size s = env.backed(8, "x.size()[0]");
  Node x{.kind = NodeKind::Placeholder};
  TensorType t;
  t.sizes = {s, 3};
  t.strides = {3, 1};
  x.types = {t};
  EXPECT_EQ(type("add", {&x, 1}).sizes, sizes({s, 3}));
  EXPECT_EQ(type("view", {&x, -1}).sizes, sizes({s * 3}));
  EXPECT_EQ(type("getitem", {&x, make_slice(1, NoneArg{}, NoneArg{})}).sizes, sizes({s - 1, 3}));
  EXPECT_EQ(type("sum", {&x, 1}).sizes, sizes({s}));
  EXPECT_EQ(type("t", {&x}).strides, sizes({1, 3}));
  EXPECT_EQ(type("matmul", {&x, make(DType::Float32, {3, 5})}).sizes, sizes({s, 5}));
  EXPECT_EQ(type("mean", {&x}).sizes, sizes({}));
}

}  // namespace
}  // namespace md
