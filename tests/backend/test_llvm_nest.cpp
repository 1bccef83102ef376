// Loop nests built by hand, compiled and run: the vector loop, its tail, rows, folds and columns.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/llvm/code_generator.h"
#include "backend/tiers/kernel_cache.h"
#include "ir/graph/op_ids.h"
#include "registry/reduction_order.h"

namespace md {
namespace {

int load(LoopNest& nest, DType t, SizeVec strides) {
  nest.accesses.push_back(nest.access(nest.buffers++, t, std::move(strides)));
  NestValue v;
  v.dtype = t;
  v.access = static_cast<int>(nest.accesses.size()) - 1;
  return nest.add(v);
}
int compute(LoopNest& nest, OpId op, DType t, DType result, std::initializer_list<int> args) {
  NestValue v;
  v.kind = NestValue::Kind::Compute;
  v.op = op, v.compute = t, v.dtype = result, v.args = args;
  return nest.add(v);
}
int number(LoopNest& nest, double x) {
  NestValue v;
  v.kind = NestValue::Kind::Constant;
  v.number = x;
  return nest.add(v);
}
int reduce(LoopNest& nest, OpId op, int arg) {
  NestValue v;
  v.kind = NestValue::Kind::Reduce;
  v.op = op, v.dtype = nest.values[static_cast<std::size_t>(arg)].dtype, v.args = {arg};
  return nest.add(v);
}
void store(LoopNest& nest, int value, DType t, SizeVec strides) {
  nest.stores.push_back({value, nest.access(nest.buffers++, t, std::move(strides))});
}
std::int64_t run(const CompiledNest& k, std::vector<void*> buffers) {
  std::vector<std::int64_t> params;
  for (Size s : k.params) params.push_back(s.value());
  return k.function(buffers.data(), params.data(), 0, k.rows.value(), 0, k.cols.value());
}
std::vector<float> ramp(std::int64_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(static_cast<float>(i) * 0.37f) * 3;
  return v;
}

TEST(LlvmNest, PointwiseEveryLength) {
  for (int n : {1, 2, 7, 15, 16, 17, 31, 32, 100, 1000}) {
    LoopNest nest;
    nest.extents = {n};
    const int x = load(nest, DType::Float32, {1}), y = load(nest, DType::Float32, {1});
    const int product = compute(nest, id::Mul, DType::Float32, DType::Float32, {x, y});
    store(nest, compute(nest, id::Add, DType::Float32, DType::Float32, {product, number(nest, 0.5)}), DType::Float32,
          {1});
    auto a = ramp(n), b = ramp(n), out = std::vector<float>(static_cast<std::size_t>(n) + 1, 42.f);
    EXPECT_EQ(run(compile_nest(nest, host_target()), {a.data(), b.data(), out.data()}), 0);
    for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], a[i] * b[i] + 0.5f) << i << " of " << n;
    EXPECT_EQ(out[n], 42.f);
  }
}

TEST(LlvmNest, SameNestIsCompiledOnce) {
  LoopNest nest;
  nest.extents = {64};
  store(nest, compute(nest, id::Neg, DType::Float32, DType::Float32, {load(nest, DType::Float32, {1})}), DType::Float32,
        {1});
  const CompiledNest first = compile_nest(nest, host_target());
  nest.extents = {128};
  EXPECT_EQ(compile_nest(nest, host_target()).function, first.function);
  nest.accesses[0].strides[0] = 2;
  EXPECT_NE(compile_nest(nest, host_target()).function, first.function);
}

TEST(LlvmNest, StridesBroadcastAndBool) {
  const int rows = 5, cols = 19;
  LoopNest nest;
  nest.extents = {rows, cols};
  const int x = load(nest, DType::Float32, {1, rows});  // transposed
  const int row = load(nest, DType::Float32, {1, 0}), col = load(nest, DType::Float32, {0, 1});
  const int sum = compute(nest, id::Add, DType::Float32, DType::Float32, {x, row});
  store(nest, compute(nest, id::Lt, DType::Float32, DType::Bool, {sum, col}), DType::Bool, {cols, 1});
  auto a = ramp(rows * cols), b = ramp(rows), c = ramp(cols);
  std::vector<unsigned char> out(rows * cols, 9);
  run(compile_nest(nest, host_target()), {a.data(), b.data(), c.data(), out.data()});
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) EXPECT_EQ(out[i * cols + j], a[j * rows + i] + b[i] < c[j]) << i << "," << j;
}

// Pixels with a few channels next to each other, as pictures have them, times one value per pixel.
TEST(LlvmNest, ShortInnermostAxis) {
  const int kVectorFloats = host_target().vector_bytes / 4;
  for (int channels : {2, 3, 4, 5, 9, 20}) {
    const int height = 3, width = 70, count = height * width * channels;
    LoopNest nest;
    nest.extents = {height, width, channels};
    const int x =
        load(nest, DType::Float32, {(width + 1) * channels, channels, 1});  // rows apart: no two axes collapse
    const int shade = load(nest, DType::Float32, {width, 1, 0});
    store(nest, compute(nest, id::Mul, DType::Float32, DType::Float32, {x, shade}), DType::Float32,
          {width * channels, channels, 1});
    auto a = ramp(height * (width + 1) * channels), b = ramp(height * width);
    std::vector<float> out(static_cast<std::size_t>(count) + 1, 42.f);
    const CompiledNest compiled = compile_nest(nest, host_target());
    EXPECT_EQ(compiled.cols.value(), 2 * channels <= kVectorFloats ? width : channels);
    EXPECT_EQ(run(compiled, {a.data(), b.data(), out.data()}), 0);
    for (int i = 0; i < count; ++i) {
      const int pixel = i / channels, row = pixel / width;
      EXPECT_EQ(out[i], a[i + row * channels] * b[pixel]) << i << ", " << channels << " channels";
    }
    EXPECT_EQ(out[count], 42.f);
  }
}

// The defined order, written down once more.
float fold(const std::vector<float>& v, int lanes) {
  std::vector<float> chunks;
  for (std::size_t begin = 0; begin == 0 || begin < v.size(); begin += kReductionChunk) {
    std::vector<float> lane(static_cast<std::size_t>(lanes), -0.f);
    for (std::size_t k = begin; k < std::min(v.size(), begin + kReductionChunk); ++k)
      lane[(k - begin) % lane.size()] += v[k];
    for (std::size_t h = lane.size() / 2; h > 0; h /= 2)
      for (std::size_t i = 0; i < h; ++i) lane[i] += lane[i + h];
    chunks.push_back(lane[0]);
  }
  while (chunks.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i + 1 < chunks.size(); i += 2) next.push_back(chunks[i] + chunks[i + 1]);
    if (chunks.size() % 2) next.push_back(chunks.back());
    chunks = next;
  }
  return chunks[0];
}

TEST(LlvmNest, RowSums) {
  for (int cols : {1, 3, 16, 63, 64, 65, 200, 1023, 1024, 1025, 5000, 7 * 1024 + 5}) {
    const int rows = 3;
    LoopNest nest;
    nest.extents = {rows, cols};
    nest.reduced = 2, nest.fold_lanes = kInnerLanes;
    const int x = load(nest, DType::Float32, {cols, 1});
    const int sum = reduce(nest, id::Sum, x);
    const int centred = compute(nest, id::Sub, DType::Float32, DType::Float32, {x, sum});
    store(nest, sum, DType::Float32, {1, 0});
    store(nest, centred, DType::Float32, {cols, 1});
    store(nest, reduce(nest, id::Sum, centred), DType::Float32, {1, 0});
    auto a = ramp(rows * cols), sums = ramp(rows), out = ramp(rows * cols), again = ramp(rows);
    run(compile_nest(nest, host_target()), {a.data(), sums.data(), out.data(), again.data()});
    for (int r = 0; r < rows; ++r) {
      std::vector<float> row(a.begin() + r * cols, a.begin() + (r + 1) * cols);
      EXPECT_EQ(sums[r], fold(row, 64)) << cols;
      for (float& v : row) v -= sums[r];
      for (int c = 0; c < cols; ++c) EXPECT_EQ(out[r * cols + c], row[c]) << cols << " " << c;
      EXPECT_EQ(again[r], fold(row, 64)) << cols;
    }
  }
}

// What is dear to compute and needed after the fold stays in L1 where all of the row fits there.
TEST(LlvmNest, RowsKeptForLaterStages) {
  for (int cols : {5, 8, 63, 65, 128, 1000, 1024, 1025}) {
    const int rows = 2;
    LoopNest nest;
    nest.extents = {rows, cols};
    nest.reduced = 2, nest.fold_lanes = kInnerLanes;
    const int x = load(nest, DType::Float32, {cols, 1});
    const int power = compute(nest, id::Exp, DType::Float32, DType::Float32, {x});
    const int twice = compute(nest, id::Add, DType::Float32, DType::Float32, {power, power});
    const int share = compute(nest, id::Div, DType::Float32, DType::Float32, {twice, reduce(nest, id::Sum, twice)});
    store(nest, power, DType::Float32, {cols, 1});
    store(nest, share, DType::Float32, {cols, 1});
    auto a = ramp(rows * cols), powers = ramp(rows * cols), shares = ramp(rows * cols);
    const CompiledNest compiled = compile_nest(nest, host_target());
    std::vector<bool> kept(nest.values.size());
    if (cols <= kReductionChunk) kept[static_cast<std::size_t>(twice)] = true;
    EXPECT_EQ(compiled.schedule.kept, cols <= kReductionChunk ? kept : std::vector<bool>{}) << cols;
    run(compiled, {a.data(), powers.data(), shares.data()});
    for (int r = 0; r < rows; ++r) {
      std::vector<float> row(powers.begin() + r * cols, powers.begin() + (r + 1) * cols);
      for (float& v : row) v += v;
      for (int c = 0; c < cols; ++c) {
        EXPECT_NEAR(powers[r * cols + c], std::exp(a[r * cols + c]), 1e-5);
        EXPECT_EQ(shares[r * cols + c], row[c] / fold(row, 64)) << cols << " " << c;
      }
    }
  }
}

// Tasks begin anywhere; indices are counted up from there.
TEST(LlvmNest, RowsFromAnyOfThem) {
  const int sizes[] = {3, 4, 5, 6};
  LoopNest nest;
  for (int n : sizes) nest.extents.push_back(n);
  const int x = load(nest, DType::Float32, {1000, 200, 30, 1});  // no two axes collapse
  store(nest, compute(nest, id::Neg, DType::Float32, DType::Float32, {x}), DType::Float32, {120, 30, 6, 1});
  auto a = ramp(3000);
  const CompiledNest compiled = compile_nest(nest, host_target());
  std::vector<std::int64_t> params;
  for (Size s : compiled.params) params.push_back(s.value());
  ASSERT_EQ(compiled.rows.value() * compiled.cols.value(), 360);
  for (std::int64_t step : {1, 7, 59, 60}) {
    std::vector<float> out(360, 42.f);
    void* buffers[] = {a.data(), out.data()};
    for (std::int64_t row = 0; row < compiled.rows.value(); row += step)
      compiled.function(buffers, params.data(), row, std::min(row + step, compiled.rows.value()), 0,
                        compiled.cols.value());
    for (int i = 0; i < 360; ++i)
      EXPECT_EQ(out[i], -a[i / 120 * 1000 + i / 30 % 4 * 200 + i / 6 % 5 * 30 + i % 6]) << i << ", " << step;
  }
}

// Several vectors side by side, but for columns that would be left over.
TEST(LlvmNest, VectorsSideBySide) {
  const int lanes = host_target().vector_bytes / 4;
  const auto vectors = [&](int columns, int step) {
    LoopNest nest;
    nest.extents = {3, columns};
    const int x = load(nest, DType::Float32, {columns * step + 1, step});
    store(nest, compute(nest, id::Exp, DType::Float32, DType::Float32, {x}), DType::Float32, {columns, 1});
    return make_schedule(nest, host_target()).lanes / lanes;
  };
  EXPECT_EQ(vectors(3, 1), 1);
  EXPECT_EQ(vectors(lanes, 1), 1);
  EXPECT_EQ(vectors(2 * lanes + 1, 1), 2);
  EXPECT_EQ(vectors(3 * lanes, 1), 1);
  EXPECT_EQ(vectors(4 * lanes + 1, 1), 4);
  EXPECT_EQ(vectors(6 * lanes, 1), 2);
  EXPECT_EQ(vectors(67 * lanes, 1), 4);
  EXPECT_EQ(vectors(64 * lanes, 2), 1);
}

TEST(LlvmNest, ColumnSums) {
  for (int rows : {1, 2, 5, 1024, 1030, 3 * 1024})
    for (int cols : {2, 16, 37, 600}) {
      LoopNest nest;
      nest.extents = {rows, cols};
      nest.reduced = 1, nest.fold_lanes = kOuterLanes;
      const int x = load(nest, DType::Float32, {cols, 1}), scale = load(nest, DType::Float32, {1, 0});
      const int sum = reduce(nest, id::Sum, compute(nest, id::Mul, DType::Float32, DType::Float32, {x, scale}));
      store(nest, compute(nest, id::Neg, DType::Float32, DType::Float32, {sum}), DType::Float32, {0, 1});
      auto a = ramp(rows * cols), b = ramp(rows), out = ramp(cols + 1);
      out[cols] = 42;
      run(compile_nest(nest, host_target()), {a.data(), b.data(), out.data()});
      for (int c = 0; c < cols; ++c) {
        std::vector<float> column;
        for (int r = 0; r < rows; ++r) column.push_back(a[r * cols + c] * b[r]);
        EXPECT_EQ(out[c], -fold(column, 4)) << rows << " " << cols << " " << c;
      }
      EXPECT_EQ(out[cols], 42.f);
    }
}

}  // namespace
}  // namespace md
