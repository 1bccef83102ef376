// Every declared op runs through the reference engine in every dtype it claims, and refuses the others cleanly.
#include <cstring>
#include <set>

#include "ir/tensor/philox.h"
#include "tests/ir/calls.h"
#include "tests/ir/elements.h"

namespace md {
namespace {

bool computes(const Op& o, DType t) {
  switch (info(t).category) {
    case DTypeCategory::Floating:
      return o.traits.on_floats;
    case DTypeCategory::Integral:
      return o.traits.on_ints;
    default:
      return o.traits.on_bools;
  }
}

TensorRef small(DType t, DimVec sizes) {
  TensorRef x = empty_tensor(sizes, t);
  const TensorRef from = testing::run("arange", {1, x->numel() + 1});
  const Arg convert[] = {from, t};
  const TensorRef values = call_op(op(id::Convert), convert).get<TensorRef>();
  std::memcpy(x->data(), values->data(), static_cast<std::size_t>(x->numel()) * item_size(t));
  return x;
}

// A plausible argument for every kind of required parameter.
Arg sample(const Op& o, std::size_t i, DType t) {
  const Param& p = o.schema.params[i];
  switch (p.type) {
    case ParamType::Tensor:
    case ParamType::Operand:
      if (i == 0 && o.decl->promote == Promote::Select) return small(DType::Bool, {2, 2});
      if (p.name == "mask" || p.name == "condition") return small(DType::Bool, {2, 2});
      return small(t, {2, 2});
    case ParamType::TensorList:
    case ParamType::TensorRest:
      return testing::list({small(t, {2, 2}), small(t, {2, 2})});
    case ParamType::DType:
      return t;
    case ParamType::IntList:
      return testing::list({2, 2});
    case ParamType::Int:
      return 1;
    case ParamType::Scalar:
      return 2;
    case ParamType::Bool:
      return true;
    case ParamType::Str:
      return "floor";
    case ParamType::Index:
      return 0;
    case ParamType::True:
      return true;
    default:
      return NoneArg{};
  }
}

std::vector<Arg> complex_args(const Op& o, DType t) {
  switch (o.id) {
    case id::ViewAsReal:
    case id::ImagPart:
    case id::ConjView:
      return {small(DType::Complex64, {2})};
    case id::FourierPairs:
      return {small(t, {2, 2}), 0, false, 1.0};
    case id::FourierTransform:
      return {small(DType::Complex64, {2, 2}), testing::list({0}), false, 1.0};
    default:
      return {};
  }
}

std::vector<Arg> random_args(const Op& o, DType t) {
  switch (o.id) {
    case id::Bernoulli:
      return {small(t, {1})};
    case id::BernoulliTensor:
      return {small(t, {2, 2}), small(t, {1})};
    case id::BernoulliP:
    case id::Geometric:
      return {small(t, {2, 2}), 0.5};
    case id::RandintLikeLow:
    case id::RandomFrom:
      return {small(t, {2, 2}), 1, 5};
    case id::NormalSpread:
      return {0.0, small(t, {2, 2})};
    case id::NormalSize:
      return {0.0, 1.0, testing::list({2, 2})};
    default:
      return complex_args(o, t);
  }
}

// Of the ops that work by position: the first row is meant.
std::vector<Arg> position_args(const Op& o, DType t) {
  const TensorRef x = small(t, {2, 2}), row = small(t, {1, 2});
  const TensorRef at = testing::run("zeros", {testing::list({1})}, {{"dtype", DType::Int64}});
  const TensorRef places = testing::run("zeros", {testing::list({1, 2})}, {{"dtype", DType::Int64}});
  switch (o.id) {
    case id::Index:
      return {x, testing::list({at})};
    case id::IndexPut:
      return {x, testing::list({at}), row};
    case id::Take:
    case id::IndexSelect:
      return o.id == id::Take ? std::vector<Arg>{x, at} : std::vector<Arg>{x, 0, at};
    case id::Put:
      return {x, at, small(t, {1})};
    case id::IndexAdd:
    case id::IndexCopy:
      return {x, 0, at, row};
    case id::IndexFill:
      return {x, 0, at, 2};
    case id::IndexFillTensor:
      return {x, 0, at, small(t, {})};
    case id::Scatter:
    case id::ScatterAdd:
      return {x, 0, places, row};
    case id::ScatterValue:
      return {x, 0, places, 2};
    case id::ScatterReduceSource:
      return {x, 0, places, row, "add"};
    case id::ScatterReduceValue:
      return {x, 0, places, 2, "multiply"};
    case id::ScatterReduce:
      return {x, 0, places, row, "amax"};
    case id::BinCount:
    case id::RepeatPositions:
      return {small(t, {2})};
    case id::RepeatInterleaveTensor:
      return {small(t, {2}), small(DType::Int64, {2})};
    case id::SearchSorted:
      return {small(t, {4}), x};
    case id::SearchSortedScalar:
      return {small(t, {4}), 2};
    case id::Bucketize:
      return {x, small(t, {4})};
    case id::BucketizeScalar:
      return {2, small(t, {4})};
    case id::Item:
    case id::ItemNumber:
      return {small(t, {1})};
    case id::Position:
      return {small(t, {1}), 5};
    case id::AssertSizes:
      return {1, 2, "lt"};
    default:
      return random_args(o, t);
  }
}

std::vector<Arg> product_args(const Op& o, DType t) {
  switch (o.id) {
    case id::Addbmm:
      return {small(t, {2, 2}), small(t, {1, 2, 2}), small(t, {1, 2, 2})};
    case id::Addr:
      return {small(t, {2, 2}), small(t, {2}), small(t, {2})};
    case id::Vdot:
      return {small(t, {2}), small(t, {2})};
    case id::Einsum:
      return {"ij,jk->ik", testing::list({small(t, {2, 2}), small(t, {2, 2})})};
    case id::MatrixNorm:
      return {small(t, {2, 2}), 1};
    default:
      return position_args(o, t);
  }
}

std::vector<Arg> window_args(const Op& o, DType t) {
  const Arg one = testing::list({1}), two = testing::list({2}), none = testing::list({0});
  switch (o.id) {
    case id::Convolution:
      return {small(t, {1, 2, 4}), small(t, {2, 2, 2}), one, none, one, 1};
    case id::MaxPool:
    case id::MaxPoolValues:
      return {small(t, {2, 4}), two, two, none, one, false};
    case id::AvgPool:
      return {small(t, {2, 4}), two, two, none, false, true, NoneArg{}};
    case id::Resample:
      return {small(t, {2, 4}), testing::list({3}), "linear", false, testing::list({NoneArg{}})};
    case id::Conv1d:
    case id::Conv1dPadding:
    case id::ConvTranspose1d:
      return {small(t, {1, 2, 4}), small(t, {2, 2, 2})};
    case id::Conv2d:
    case id::Conv2dPadding:
    case id::ConvTranspose2d:
      return {small(t, {1, 2, 3, 3}), small(t, {2, 2, 2, 2})};
    case id::Conv3d:
    case id::Conv3dPadding:
      return {small(t, {1, 1, 2, 2, 2}), small(t, {1, 1, 2, 2, 2})};
    case id::AdaptiveAvgPool:
    case id::AdaptiveMaxPool:
    case id::AdaptiveAvgPool1d:
    case id::AdaptiveMaxPool1d:
    case id::MaxPool1d:
    case id::MaxPool1dWithIndices:
    case id::AvgPool1d:
      return {small(t, {2, 4}), two};
    case id::AdaptiveAvgPool2d:
    case id::AdaptiveMaxPool2dWithIndices:
    case id::MaxPool2d:
    case id::MaxPool2dWithIndices:
    case id::AvgPool2d:
      return {small(t, {2, 4, 4}), two};
    case id::MaxPool3d:
    case id::MaxPool3dWithIndices:
    case id::AvgPool3d:
      return {small(t, {2, 2, 2, 2}), two};
    case id::Interpolate:
      return {small(t, {1, 2, 4}), 3};
    case id::Im2Col:
      return {small(t, {1, 1, 3, 3}), two};
    case id::Col2Im:
      return {small(t, {1, 4, 4}), testing::list({3, 3}), two};
    case id::PixelShuffle:
      return {small(t, {1, 4, 2, 2}), 2};
    case id::PixelUnshuffle:
      return {small(t, {1, 1, 2, 2}), 2};
    case id::ChannelShuffle:
      return {small(t, {1, 2, 2}), 2};
    default:
      return product_args(o, t);
  }
}

std::vector<Arg> more_special_args(const Op& o, DType t) {
  switch (o.id) {
    case id::LogSumExp:
      return {small(t, {2, 2}), testing::list({0, 1})};
    case id::Gather:
      return {small(t, {2, 2}), 1, testing::run("zeros", {testing::list({2, 1})}, {{"dtype", DType::Int64}})};
    case id::TakeAlongDim:
      return {small(t, {2, 2}), testing::run("zeros", {testing::list({2, 1})}, {{"dtype", DType::Int64}}), 1};
    case id::OneHot:
      return {small(t, {2, 2}), 6};
    case id::Cross:
    case id::LinalgCross:
      return {small(t, {2, 3}), small(t, {2, 3})};
    case id::QuantileScalar:
    case id::NanQuantileScalar:
      return {small(t, {2, 2}), 0.5};
    case id::Quantile:
    case id::NanQuantile:
      return {small(t, {2, 2}), small(t, {1})};
    case id::LinalgNormName:
      return {small(t, {2, 2}), "fro"};
    case id::MoveDim:
      return {small(t, {2, 2}), testing::list({0}), testing::list({1})};
    case id::Flip:
      return {small(t, {2, 2}), testing::list({0, 1})};
    case id::AsStrided:
      return {small(t, {2, 2}), testing::list({2}), testing::list({2})};
    case id::EmptyStrided:
      return {testing::list({2, 2}), testing::list({1, 2})};
    case id::Unflatten:
      return {small(t, {2, 2}), 0, testing::list({2, 1})};
    case id::MeshGrid:
    case id::CartesianProd:
      return {testing::list({small(t, {2}), small(t, {3})})};
    case id::Outer:
      return {small(t, {2}), small(t, {3})};
    case id::Prelu:
      return {small(t, {2, 2}), small(t, {2})};
    case id::Addmv:
      return {small(t, {2}), small(t, {2, 2}), small(t, {2})};
    case id::Baddbmm:
      return {small(t, {2, 2}), small(t, {1, 2, 2}), small(t, {1, 2, 2})};
    case id::DSplit:
    case id::DSplitAt:
      return {small(t, {2, 2, 2})};
    case id::Roll:
      return {small(t, {2, 2}), testing::list({1}), testing::list({0})};
    case id::Xlogy:
      return {small(t, {2, 2}), small(t, {2, 2})};
    default:
      return window_args(o, t);
  }
}

// Arguments whose shapes or values an op is particular about, by op.
std::vector<Arg> special_args(const Op& o, DType t) {
  switch (o.id) {
    case id::Permute:
      return {small(t, {2, 2}), testing::list({1, 0})};
    case id::SqueezeDim:
      return {small(t, {2, 2}), testing::list({0})};
    case id::Transpose:
      return {small(t, {2, 2}), 0, 1};
    case id::Clamp:
      return {small(t, {2, 2}), 0, 1};
    case id::Fill:
      return {small(t, {2, 2}), 2};
    case id::SplitSizes:
      return {small(t, {2, 2}), testing::list({1, 1}), 0};
    case id::Mv:
      return {small(t, {2, 2}), small(t, {2})};
    case id::Dot:
      return {small(t, {2}), small(t, {2})};
    case id::Bmm:
      return {small(t, {2, 2, 2}), small(t, {2, 2, 2})};
    case id::Randint:
      return {1, 5, testing::list({2})};
    case id::WriteView:
      return {small(t, {2, 2}), small(t, {2}), testing::list({1}), 1};
    case id::PowScalar:
      return {small(t, {2, 2}), 3};
    case id::LstmCell:
      return {small(t, {2, 8}), small(t, {2, 2})};
    default:
      return more_special_args(o, t);
  }
}

std::vector<Arg> arguments(const Op& o, DType t) {
  std::vector<Arg> args = special_args(o, t);
  for (std::size_t i = args.size(); i < o.schema.params.size(); ++i) {
    const Param& p = o.schema.params[i];
    args.push_back(p.has_default ? p.default_value : sample(o, i, t));
  }
  return args;
}

void expect_as_inferred(const Op& o, const Arg& result, const std::vector<TensorType>& types) {
  const auto* list = result.get_if<ListArg>();
  const std::vector<Arg> results = list ? list->items : std::vector<Arg>{result};
  ASSERT_EQ(results.size(), types.size()) << o.name();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorType t = type_of(results[i]);
    EXPECT_EQ(t.dtype, types[i].dtype) << o.name();
    EXPECT_EQ(t.sizes, types[i].sizes) << o.name();
    EXPECT_EQ(t.strides, types[i].strides) << o.name();
  }
}

TEST(EveryOp, RunsInEveryDtypeAsInferred) {
  std::set<std::string_view> never_ran;
  for (const Op& o : all_ops()) {
    never_ran.insert(o.name());
    for (const DType t : every_dtype()) {
      const std::vector<Arg> args = arguments(o, t);
      try {
        const Arg result = call_op(o, args);
        never_ran.erase(o.name());
        expect_as_inferred(o, result, infer(o, args));
      } catch (const DataDependent&) {  // types alone do not say what a composite's sizes are
      } catch (const OpError& e) {
        // Only a dtype may be refused here, and only by an op that computes nothing in it.
        EXPECT_TRUE(e.kind == ErrorKind::NotImplemented || e.kind == ErrorKind::Runtime) << o.name() << e.what();
        const bool elementwise = o.kind() == OpKind::Pointwise || o.kind() == OpKind::Reduction;
        EXPECT_FALSE(elementwise && computes(o, t)) << o.name() << " " << info(t).name << ": " << e.what();
      }
    }
  }
  EXPECT_TRUE(never_ran.empty()) << *never_ran.begin();
}

TEST(EveryOp, EmptyTensorsGiveEmptyResults) {
  for (const Op& o : all_ops()) {
    if (o.kind() != OpKind::Pointwise) continue;
    std::vector<Arg> args = arguments(o, DType::Float32);
    for (Arg& a : args) {
      if (auto* x = a.get_if<TensorRef>()) a = empty_tensor({0, 3}, (*x)->dtype);
    }
    try {
      EXPECT_EQ(call_op(o, args).get<TensorRef>()->numel(), 0) << o.name();
    } catch (const OpError& e) {
      EXPECT_FALSE(o.traits.on_floats) << o.name() << ": " << e.what();
    }
  }
}

TEST(EveryOp, InPlaceFormsGiveWhatTheOpGives) {
  for (const Op& o : all_ops()) {
    if (!o.decl->inplace) continue;
    for (const DType t : every_dtype()) {
      std::vector<Arg> args = arguments(o, t);
      try {
        const TensorType type = infer(o, args).front();
        if (type.dtype != t) continue;
        seed_generator(1);  // random ops draw the same numbers twice
        const TensorRef expected = call_op(o, args).get<TensorRef>();
        seed_generator(1);
        const TensorRef self = call_inplace(o, args);
        EXPECT_EQ(self, args[0].get<TensorRef>());
        ASSERT_EQ(self->sizes, expected->sizes) << o.name();
        const auto bytes = static_cast<std::size_t>(self->numel()) * item_size(t);
        EXPECT_EQ(std::memcmp(self->data(), expected->data(), bytes), 0) << o.name();
      } catch (const OpError& e) {
        EXPECT_FALSE(o.kind() == OpKind::Pointwise && computes(o, t)) << o.name() << ": " << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace md
