// Block kernels of every CPU level this machine runs, against the scalar reference engine: the same bits for every op,
// dtype and stride pattern.
#include "tests/backend/blocks_fixture.h"

namespace md {
namespace {

struct Shape {
  DimVec sizes;
  Layout first, second;
};
const Shape kShapes[] = {
    {{}, Layout::RowMajor, Layout::RowMajor},
    {{0}, Layout::RowMajor, Layout::RowMajor},
    {{1}, Layout::RowMajor, Layout::Offset},
    {{7}, Layout::Offset, Layout::Stepped},
    {{2500}, Layout::RowMajor, Layout::Offset},
    {{1030}, Layout::Stepped, Layout::RowMajor},
    {{37, 53}, Layout::Transposed, Layout::RowMajor},
    {{37, 53}, Layout::Transposed, Layout::Transposed},
    {{300, 3}, Layout::RowMajor, Layout::BroadcastFirst},
    {{3, 600}, Layout::RowMajor, Layout::BroadcastLast},
    {{3, 600}, Layout::BroadcastFirst, Layout::Transposed},
    {{4, 0, 3}, Layout::RowMajor, Layout::RowMajor},
    {{5, 4, 70}, Layout::Stepped, Layout::BroadcastLast},
    {{6, 40, 300}, Layout::RowMajor, Layout::Transposed},
};

// --- Pointwise -----------------------------------------------------------------------------------------------------

class Pointwise : public testing::TestWithParam<OpId> {};

TEST_P(Pointwise, SameBitsAsReference) {
  const Op& o = op(GetParam());
  int ran = 0;
  unsigned seed = o.id * 1000;
  for (const Shape& s : kShapes) {
    for (const DType t : kTypes) {
      const DType mask = o.decl->promote == Promote::Select ? DType::Bool : t;
      std::vector<Arg> operands{random_tensor(s.sizes, mask, s.first, ++seed)};
      for (int k = 1; k < o.operands; ++k) {
        operands.push_back(random_tensor(operand_sizes(o, k, s.sizes), t, k == 1 ? s.second : s.first, ++seed, true));
      }
      std::vector<Arg> args = with_defaults(o, operands);
      if (o.dtype < 0 || o.schema.params[o.dtype].has_default) {
        ran += same_everywhere(o, args);
        continue;
      }
      for (const DType to : kTypes) {
        args[o.dtype] = to;
        ran += same_everywhere(o, args);
      }
    }
  }
  EXPECT_GT(ran, 0);
}

TEST_P(Pointwise, MixedDtypesAndNumbers) {
  const Op& o = op(GetParam());
  if (o.operands < 2) return;
  unsigned seed = o.id * 1000 + 500;
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      const DType mask = o.decl->promote == Promote::Select ? DType::Bool : a;
      std::vector<Arg> operands{random_tensor({70, 19}, mask, Layout::RowMajor, ++seed),
                                random_tensor(operand_sizes(o, 1, {70, 19}), b, Layout::Transposed, ++seed, true)};
      if (o.operands == 3) operands.push_back(random_tensor({19}, a, Layout::Stepped, ++seed));
      same_everywhere(o, with_defaults(o, operands));
    }
    for (const Arg& number : {Arg(3), Arg(0.1), Arg(-2), Arg(true)}) {
      const DType mask = o.decl->promote == Promote::Select ? DType::Bool : a;
      std::vector<Arg> operands{random_tensor({1100}, mask, Layout::RowMajor, ++seed), number};
      if (o.operands == 3) operands.push_back(random_tensor({1100}, a, Layout::RowMajor, ++seed));
      const md::ParamType second = o.schema.params[1].type;
      if (second == md::ParamType::Operand) same_everywhere(o, with_defaults(o, operands));
    }
  }
}

// Results of many tasks on two threads are those of one.
TEST_P(Pointwise, ThreadsDoNotMatter) {
  const Op& o = op(GetParam());
  std::vector<Arg> operands;
  for (int k = 0; k < o.operands; ++k) {
    const DType t = k == 0 && o.decl->promote == Promote::Select ? DType::Bool : DType::Float32;
    operands.push_back(random_tensor(operand_sizes(o, k, {3 * blocks::kGrain + 77}), t, Layout::RowMajor,
                                     static_cast<unsigned>(k) + 1));
  }
  std::vector<Arg> args = with_defaults(o, operands);
  if (o.dtype >= 0) args[o.dtype] = DType::Float64;
  std::vector<TensorType> types;
  try {
    types = infer(o, args);
  } catch (const OpError& e) {
    EXPECT_TRUE(is_refused(o, args)) << o.name() << ": " << e.what();
    return;
  }
  const int before = num_threads();
  const auto one = allocate(types), two = allocate(types);
  set_num_threads(1);
  engines()[0]->run(o, args, one);
  set_num_threads(2);
  engines()[0]->run(o, args, two);
  set_num_threads(before);
  EXPECT_EQ(all_bits(*one[0]), all_bits(*two[0]));
}

std::vector<OpId> ops_of(OpKind kind) {
  std::vector<OpId> ids;
  for (const Op& o : all_ops()) {
    if (o.kind() == kind) ids.push_back(o.id);
  }
  return ids;
}
std::string op_test_name(const testing::TestParamInfo<OpId>& i) {
  std::string name(op(i.param).name());
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Blocks, Pointwise, testing::ValuesIn(ops_of(OpKind::Pointwise)), op_test_name);

// --- In place ------------------------------------------------------------------------------------------------------

TensorRef view(const TensorRef& t, DimVec sizes, DimVec strides, std::int64_t offset) {
  return make_ref<TensorImpl>(t->storage, t->dtype, std::move(sizes), std::move(strides), offset);
}

TEST(BlocksInPlace, ExactAlias) {
  const TensorRef x = random_tensor({3000}, DType::Float32, Layout::RowMajor, 1);
  const TensorRef y = random_tensor({3000}, DType::Float32, Layout::RowMajor, 2);
  const TensorRef want = empty_tensor({3000}, DType::Float32);
  const std::vector<Arg> args{x, y};
  reference_engine().run(op(id::Mul), args, {{want}});
  engines()[0]->run(op(id::Mul), args, {{x}});
  EXPECT_EQ(all_bits(*x), all_bits(*want));
}

// x[1:] += x[:-1] reads the values from before the call, whichever way the operands overlap.
TEST(BlocksInPlace, ShiftedOverlap) {
  for (const std::int64_t shift : {0, 1}) {
    const TensorRef x = random_tensor({5000}, DType::Float64, Layout::RowMajor, 3);
    const TensorRef to = view(x, {4999}, {1}, shift), from = view(x, {4999}, {1}, 1 - shift);
    const TensorRef want = empty_tensor({4999}, DType::Float64);
    const std::vector<Arg> args{to, from};
    reference_engine().run(op(id::Add), args, {{want}});
    engines()[0]->run(op(id::Add), args, {{to}});
    EXPECT_EQ(all_bits(*to), all_bits(*want));
  }
}

TEST(BlocksInPlace, TransposedOntoItself) {
  const TensorRef x = random_tensor({60, 60}, DType::Float32, Layout::RowMajor, 4);
  const TensorRef flipped = view(x, {60, 60}, {1, 60}, 0);
  const TensorRef want = empty_tensor({60, 60}, DType::Float32);
  const std::vector<Arg> args{x, flipped};
  reference_engine().run(op(id::Sub), args, {{want}});
  engines()[0]->run(op(id::Sub), args, {{x}});
  EXPECT_EQ(all_bits(*x), all_bits(*want));
}

TEST(BlocksInPlace, StridedResult) {
  const TensorRef base = random_tensor({40, 50}, DType::Float32, Layout::RowMajor, 5);
  const std::vector<std::uint64_t> before = all_bits(*base);
  const TensorRef columns = view(base, {40, 20}, {50, 2}, 3);
  const std::vector<Arg> args{columns, Arg(2.5)};
  const TensorRef want = empty_tensor({40, 20}, DType::Float32);
  reference_engine().run(op(id::Add), args, {{want}});
  engines()[0]->run(op(id::Add), args, {{columns}});
  EXPECT_EQ(all_bits(*columns), all_bits(*want));
  const std::vector<std::uint64_t> after = all_bits(*base);
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t c = i % 50;
    const bool written = c >= 3 && c < 43 && (c - 3) % 2 == 0;
    EXPECT_TRUE(written || before[i] == after[i]) << "element " << i << " is not the view's";
  }
}

TEST(BlocksInPlace, FailureLeavesTheOperand) {
  const TensorRef x = random_tensor({2000}, DType::Int32, Layout::RowMajor, 6);
  const TensorRef y = random_tensor({2000}, DType::Int32, Layout::RowMajor, 7, true);
  y->as<std::int32_t>()[1999] = 0;
  const auto before = all_bits(*x);
  const std::vector<Arg> args{x, y};
  for (blocks::BlockEngine* e : engines()) {
    EXPECT_THROW(e->run(op(id::Remainder), args, {{x}}), OpError);
    EXPECT_EQ(all_bits(*x), before);
  }
}

// --- Reductions ----------------------------------------------------------------------------------------------------

class Reduction : public testing::TestWithParam<OpId> {};

// Every way this op's `dim` may name the axes in `mask`; empty if it cannot.
std::vector<Arg> dim_arguments(const Op& o, int rank, unsigned mask) {
  const md::ParamType type = o.schema.params[o.dim].type;
  const bool all = mask == (1u << rank) - 1;
  if (type == md::ParamType::IntList || type == md::ParamType::IntListOpt) {
    ListArg list;
    for (int d = 0; d < rank; ++d) {
      if (mask >> d & 1) list.items.emplace_back(d % 2 ? d - rank : d);
    }
    if (list.items.empty()) return {};
    return {list};
  }
  if (all && type == md::ParamType::IntOpt) return {Arg(NoneArg{})};
  if (__builtin_popcount(mask) != 1) return {};
  return {Arg(__builtin_ctz(mask))};
}

TEST_P(Reduction, SameBitsAsReference) {
  const Op& o = op(GetParam());
  int ran = 0;
  unsigned seed = o.id * 1000;
  const std::pair<DimVec, Layout> kCases[] = {
      {{1}, Layout::RowMajor},          {{63}, Layout::Offset},           {{1024}, Layout::RowMajor},
      {{5000}, Layout::Stepped},        {{2049, 3}, Layout::RowMajor},    {{3, 1500}, Layout::Transposed},
      {{1100, 70}, Layout::RowMajor},   {{7, 90}, Layout::BroadcastLast}, {{6, 5, 33}, Layout::Transposed},
      {{5, 40, 130}, Layout::RowMajor}, {{4, 3, 2, 17}, Layout::Stepped}, {{2, 0, 3}, Layout::RowMajor},
      {{0}, Layout::RowMajor},
  };
  for (const auto& [sizes, layout] : kCases) {
    for (const DType t : kTypes) {
      const TensorRef x = random_tensor(sizes, t, layout, ++seed);
      const int rank = static_cast<int>(sizes.size());
      for (unsigned mask = 1; mask < 1u << rank; ++mask) {
        for (const Arg& dim : dim_arguments(o, rank, mask)) {
          std::vector<Arg> args = with_defaults(o, {x});
          args[o.dim] = dim;
          ran += same_everywhere(o, args);
        }
      }
    }
  }
  EXPECT_GT(ran, 0);
}

TEST_P(Reduction, ZeroDimensional) {
  const Op& o = op(GetParam());
  for (const DType t : kTypes) {
    std::vector<Arg> args = with_defaults(o, {random_tensor({}, t, Layout::RowMajor, 9)});
    if (args[o.dim].is_none() && o.schema.params[o.dim].type == md::ParamType::Int) args[o.dim] = Arg(0);
    same_everywhere(o, args);
  }
}

TEST_P(Reduction, ThreadsDoNotMatter) {
  const Op& o = op(GetParam());
  const int before = num_threads();
  for (const int axis : {0, 1}) {
    std::vector<Arg> args = with_defaults(o, {random_tensor({400, 700}, DType::Float32, Layout::RowMajor, 11)});
    const md::ParamType type = o.schema.params[o.dim].type;
    args[o.dim] = type == md::ParamType::Int || type == md::ParamType::IntOpt ? Arg(axis) : Arg(ListArg{{Arg(axis)}});
    const std::vector<TensorType> types = infer(o, args);
    const auto one = allocate(types), two = allocate(types);
    set_num_threads(1);
    engines()[0]->run(o, args, one);
    set_num_threads(2);
    engines()[0]->run(o, args, two);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(all_bits(*one[i]), all_bits(*two[i]));
  }
  set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Reduction, testing::ValuesIn(ops_of(OpKind::Reduction)), op_test_name);

// The lowest position among equal winners, across lanes, vectors and chunks; the first NaN beats everything.
TEST(BlocksReduction, FirstOfEqualsAndFirstNan) {
  for (blocks::BlockEngine* e : engines()) {
    for (const std::int64_t at : {0, 5, 17, 1023, 1024, 2999}) {
      const TensorRef x = empty_tensor({3000}, DType::Float32);
      std::fill_n(x->as<float>(), 3000, 1.0f);
      for (const float winner : {2.0f, NAN}) {
        x->as<float>()[at] = winner;
        x->as<float>()[2999] = winner;
        const TensorRef position = empty_tensor({}, DType::Int64);
        const std::vector<Arg> args{x, Arg(NoneArg{}), false};
        e->run(op(id::ArgMax), args, {{position}});
        EXPECT_EQ(*position->as<std::int64_t>(), at);
      }
    }
  }
}

}  // namespace
}  // namespace md
