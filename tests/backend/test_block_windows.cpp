// Convolution, pooling, resampling and products of few rows: every CPU level gives the reference's bits.
#include "tests/backend/blocks_fixture.h"
#include "tests/ir/calls.h"

namespace md {
namespace {

Arg ints(std::initializer_list<int> items) {
  ListArg l;
  for (const int i : items) l.items.emplace_back(i);
  return l;
}

constexpr Layout kLayouts[] = {Layout::RowMajor, Layout::Transposed, Layout::Stepped};

TEST(BlockWindows, ConvolutionsAreTheReferences) {
  struct Case {
    DimVec x, w;
    Arg stride, padding, dilation;
    int groups;
  };
  const Case cases[] = {
      {{2, 3, 9, 11}, {4, 3, 3, 3}, ints({1, 1}), ints({1, 1}), ints({1, 1}), 1},
      {{1, 4, 30, 31}, {6, 2, 3, 5}, ints({1, 1}), ints({1, 2}), ints({1, 1}), 2},
      {{2, 3, 17, 13}, {5, 3, 2, 3}, ints({2, 3}), ints({1, 0}), ints({2, 1}), 1},
      {{3, 7, 8, 8}, {9, 7, 1, 1}, ints({1, 1}), ints({0, 0}), ints({1, 1}), 1},
      {{1, 6, 12, 40}, {6, 1, 3, 3}, ints({1, 1}), ints({1, 1}), ints({1, 1}), 6},
      {{1, 2, 3, 200}, {3, 2, 3, 7}, ints({1, 1}), ints({1, 9}), ints({1, 3}), 1},
      {{2, 5, 60}, {4, 5, 4}, ints({2}), ints({3}), ints({1}), 1},
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, ints({1, 2, 1}), ints({1, 0, 1}), ints({1, 1, 2}), 1},
  };
  unsigned seed = 0;
  for (const Case& c : cases) {
    for (const DType t : {DType::Float32, DType::Float64, DType::Int32, DType::Int64, DType::Float16, DType::Int8}) {
      for (const Layout layout : kLayouts) {
        const TensorRef x = random_tensor(c.x, t, layout, ++seed), w = random_tensor(c.w, t, layout, ++seed);
        EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, w, c.stride, c.padding, c.dilation, c.groups}));
      }
    }
  }
}

TEST(BlockWindows, PlanesAreTheReferences) {
  unsigned seed = 0;
  for (const DType t : {DType::Float32, DType::Float64, DType::Float16, DType::Int64}) {
    for (const Layout layout : kLayouts) {
      const TensorRef x = random_tensor({40, 5, 23, 19}, t, layout, ++seed);
      const Arg k = ints({3, 2}), s = ints({2, 1}), p = ints({1, 1}), d = ints({1, 2});
      EXPECT_TRUE(same_everywhere(op(id::MaxPool), {x, k, s, p, d, true}));
      EXPECT_TRUE(same_everywhere(op(id::MaxPoolValues), {x, k, s, p, d, true}));
      EXPECT_TRUE(same_everywhere(op(id::AvgPool), {x, k, s, p, true, false, NoneArg{}}));
      EXPECT_TRUE(same_everywhere(op(id::AdaptiveAvgPool), {x, ints({4, 7})}));
      EXPECT_TRUE(same_everywhere(op(id::AdaptiveMaxPool), {x, ints({4, 7})}));
      const Arg scales = testing::list({NoneArg{}, 1.5});
      EXPECT_TRUE(same_everywhere(op(id::Resample), {x, ints({40, 28}), "nearest", false, scales}));
      EXPECT_TRUE(same_everywhere(op(id::Resample), {x, ints({40, 28}), "linear", false, scales}));
    }
  }
}

TEST(BlockWindows, ProductsOfFewRowsAreTheReferences) {
  unsigned seed = 0;
  for (const int m : {1, 2, 3, 4, 5}) {
    for (const int n : {1, 7, 16, 50, 131}) {
      for (const int k : {1, 15, 16, 100}) {
        for (const Layout layout : kLayouts) {
          for (const DType t : {DType::Float32, DType::Float64, DType::Int32, DType::BFloat16}) {
            const TensorRef a = random_tensor({m, k}, t, layout, ++seed), b = random_tensor({k, n}, t, layout, ++seed);
            const TensorRef columns = random_tensor({k, m}, t, layout, ++seed);
            EXPECT_TRUE(same_everywhere(op(id::Mm), {a, b})) << m << " " << n << " " << k;
            const TensorRef rows = random_tensor({n, k}, t, layout, ++seed);
            EXPECT_TRUE(same_everywhere(op(id::Mm), {rows, columns})) << n << " " << m << " " << k;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace md
