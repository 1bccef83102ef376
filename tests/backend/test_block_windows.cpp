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

// Widths and numbers of filters around those of tiles, so that every tile and edge of every level is met.
TEST(BlockWindows, ConvolutionsOfEveryTileAreTheReferences) {
  unsigned seed = 0;
  const auto check = [&](const DimVec& x, const DimVec& w, int stride, int padding, int groups, DType t) {
    const Arg s = ints({stride, stride}), p = ints({padding, padding}), one = ints({1, 1});
    const TensorRef a = random_tensor(x, t, Layout::RowMajor, ++seed),
                    b = random_tensor(w, t, Layout::RowMajor, ++seed);
    EXPECT_TRUE(same_everywhere(op(id::Convolution), {a, b, s, p, one, groups}))
        << x[1] << " channels, width " << x[3] << ", " << w[0] << " filters, stride " << stride;
  };
  for (const DType t : {DType::Float32, DType::Float64, DType::Int64}) {
    for (int width = 1; width <= 17; ++width) {
      for (const int filters : {1, 2, 3, 6, 9, 16, 21, 37}) check({1, 4, 5, width}, {filters, 4, 3, 3}, 1, 1, 1, t);
    }
    for (const int width : {29, 33, 47, 48, 49, 63, 64, 65, 100}) {
      for (const int filters : {1, 2, 4, 5, 8, 20}) check({1, 9, 3, width}, {filters, 9, 2, 2}, 1, 0, 1, t);
      check({2, 4, 4, width}, {8, 1, 3, 3}, 2, 1, 4, t);
      check({1, 3, 9, width}, {17, 3, 4, 4}, 3, 2, 1, t);
      check({1, 3, 9, width}, {40, 3, 1, 1}, 2, 0, 1, t);
    }
  }
  // Patches: rows, columns and filters are cut.
  check({1, 700, 3, 70}, {70, 700, 1, 3}, 1, 1, 1, DType::Float32);
  check({1, 64, 30, 20}, {96, 64, 3, 3}, 1, 1, 1, DType::Float32);
  check({5, 500, 4, 4}, {70, 500, 3, 3}, 1, 1, 1, DType::Float32);  // images together
  check({5, 1000, 3, 3}, {130, 500, 3, 3}, 1, 1, 2, DType::Float32);
  for (const int size : {3, 4, 5, 6, 7}) check({9, 500, size, size}, {75, 500, 3, 3}, 1, 0, 1, DType::Float32);
  check({7, 300, 5, 5}, {70, 300, 3, 3}, 1, 0, 1, DType::Float64);
  check({2, 8, 8, 9}, {12, 2, 3, 3}, 70, 70, 4, DType::Float64);
}

// Images, channels and filters in any order, as in the gradients of weights; planes of one value.
TEST(BlockWindows, ConvolutionsOfOperandsInAnyOrderAreTheReferences) {
  unsigned seed = 0;
  const auto turned = [&](std::int64_t n, std::int64_t channels, std::int64_t height, std::int64_t width, DType t) {
    const TensorRef x = random_tensor({channels, n, height, width}, t, Layout::RowMajor, ++seed);
    const std::int64_t plane = height * width;
    return make_ref<TensorImpl>(x->storage, t, DimVec{n, channels, height, width}, DimVec{plane, n * plane, width, 1},
                                0);
  };
  const Arg one = ints({1, 1}), zero = ints({0, 0}), two = ints({2, 2});
  for (const DType t : {DType::Float32, DType::Float64, DType::Int32, DType::Float16}) {
    for (const int filters : {1, 2, 3, 4, 7, 8, 16, 21, 40}) {
      for (const int channels : {1, 2, 5}) {
        const TensorRef x = turned(3, channels, 12, 13, t), w = turned(filters, channels, 10, 9, t);
        EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, w, one, zero, one, 1})) << filters << " " << channels;
        EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, w, two, two, one, 1})) << filters << " " << channels;
      }
    }
    const TensorRef x = turned(3, 4, 12, 13, t), w = turned(6, 2, 3, 3, t);
    EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, w, one, one, one, 2}));
    const TensorRef flat = make_ref<TensorImpl>(x->storage, t, DimVec{3, 4, 12, 13}, DimVec{0, 0, 13, 1}, 0);
    EXPECT_TRUE(same_everywhere(op(id::Convolution), {flat, w, one, zero, two, 2}));
    const TensorRef column = turned(4, 2, 1, 13, t);
    EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, column, ints({2, 1}), zero, one, 2}));
  }
}

// Finite weights: rows of the window in the padding are left out, which must show nowhere, not even in the sign of
// zero.
TEST(BlockWindows, PaddingOfConvolutionsLeavesEveryBit) {
  const double kTiny = 1e-170;  // its square is rounded to a zero that keeps the sign
  const auto filled = [&](const DimVec& sizes, auto&& value) {
    TensorRef t = empty_tensor(sizes, DType::Float64);
    for (std::int64_t i = 0; i < t->numel(); ++i) t->as<double>()[i] = value(i);
    return t;
  };
  std::mt19937_64 g(7);
  for (const int width : {3, 7, 14, 20}) {
    for (const int padding : {1, 2, 5}) {
      const Arg args[] = {ints({1, 1}), ints({padding, padding}), ints({1, 1})};
      // Negative zeros inside, positive weights in the last row, which lies in the padding at the bottom.
      const TensorRef x = filled({1, 5, 6, width}, [&](std::int64_t) { return kTiny; });
      const TensorRef w = filled({40, 5, 3, 3}, [&](std::int64_t i) { return i % 9 < 6 ? -kTiny : kTiny; });
      EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, w, args[0], args[1], args[2], 1}));
      const TensorRef any = filled({1, 5, 6, width}, [&](std::int64_t) { return random_float(g); });
      const TensorRef mixed = filled({40, 5, 3, 3}, [&](std::int64_t) {
        const double v = random_float(g);
        return std::isfinite(v) ? v : g() % 2 ? -0.0 : kTiny;
      });
      EXPECT_TRUE(same_everywhere(op(id::Convolution), {any, mixed, args[0], args[1], args[2], 1}));
      EXPECT_TRUE(same_everywhere(op(id::Convolution), {x, mixed, ints({3, 2}), args[1], ints({2, 2}), 1}));
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

TEST(BlockWindows, MaxPoolingOfAnyWindowsIsTheReferences) {
  std::mt19937_64 g(11);
  const auto draw = [&](int least, int most) { return least + static_cast<int>(g() % (most - least + 1)); };
  int ran = 0;
  for (int i = 0; i < 400; ++i) {
    const int n = draw(1, 3);
    DimVec sizes{draw(1, 2), draw(1, 3)};
    ListArg k, s, p, d;
    for (int dim = 0; dim < n; ++dim) {
      const int kernel = draw(1, 4);
      sizes.push_back(draw(1, n == 3 ? 9 : 45));
      k.items.emplace_back(kernel), s.items.emplace_back(draw(1, 4));
      p.items.emplace_back(draw(0, 2) ? 0 : draw(0, kernel)), d.items.emplace_back(draw(0, 2) ? 1 : draw(1, 3));
    }
    const DType t = kTypes[g() % kTypes.size()];
    if (t == DType::Bool) continue;
    const TensorRef x = random_tensor(sizes, t, kLayouts[g() % 3], 100 + i);
    const bool ceil = g() % 2;
    ran += same_everywhere(op(id::MaxPool), {x, k, s, p, d, ceil});
    same_everywhere(op(id::MaxPoolValues), {x, k, s, p, d, ceil});
  }
  EXPECT_GT(ran, 200);
  const TensorRef large = random_tensor({1, 2, 150, 170}, DType::Float32, Layout::RowMajor, 1);  // in several patches
  for (const int k : {2, 3}) {
    EXPECT_TRUE(
        same_everywhere(op(id::MaxPool), {large, ints({k, k}), ints({2, 2}), ints({1, 1}), ints({1, 1}), true}));
    const TensorRef lowest = empty_tensor({3, 20, 20}, DType::Float64);
    std::fill_n(lowest->as<double>(), lowest->numel(), -INFINITY);
    EXPECT_TRUE(
        same_everywhere(op(id::MaxPool), {lowest, ints({k, k}), ints({k, 1}), ints({1, 1}), ints({1, 2}), false}));
  }
}

TEST(BlockWindows, ValuesAddedAlongRowsAreTheReferences) {
  std::mt19937_64 g(12);
  for (const DType t : kTypes) {
    for (const Layout layout : kLayouts) {
      TensorRef self = random_tensor({7, 3, 20}, t, layout, static_cast<unsigned>(g()));
      if (layout == Layout::Stepped)  // one value for all
        self = make_ref<TensorImpl>(self->storage, t, self->sizes, DimVec(3), 0);
      const TensorRef source = random_tensor({7, 3, 31}, t, Layout::RowMajor, static_cast<unsigned>(g()));
      const TensorRef index = empty_tensor({7, 3, 31}, DType::Int64);
      for (std::int64_t i = 0; i < index->numel(); ++i)
        index->as<std::int64_t>()[i] = static_cast<std::int64_t>(g() % static_cast<unsigned>(self->sizes[2]));
      EXPECT_TRUE(same_everywhere(op(id::ScatterAdd), {self, -1, index, source}));
      index->as<std::int64_t>()[g() % 651] = g() % 2 ? -1 : self->sizes[2];
      EXPECT_TRUE(same_everywhere(op(id::ScatterAdd), {self, 2, index, source}));  // fails everywhere
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
