// Matrix products, joining and creation: the same bits on every CPU level as in the scalar reference engine.
#include "tests/backend/blocks_fixture.h"

namespace md {
namespace {

// --- Kernels -------------------------------------------------------------------------------------------------------

TEST(BlocksProduct, SameBitsAsReference) {
  struct Case {
    std::int64_t m, k, n;
  };
  for (const Case& c : {Case{1, 1, 1},
                        {3, 5, 2},
                        {8, 48, 48},
                        {17, 400, 50},
                        {70, 9, 1},
                        {1, 30, 200},
                        {6, 0, 4},
                        {0, 3, 4},
                        {1, 700, 41},
                        {2, 1024, 53},
                        {4, 300, 30},
                        {13, 40, 16},
                        {25, 37, 48},
                        {200, 33, 70},
                        {33, 70, 1600},
                        // columns of b read in place, by tiles of some level
                        {64, 450, 100},
                        {16, 64, 131},
                        {45, 400, 50},
                        {48, 70, 1600},
                        {128, 128, 1600},
                        {10, 70, 60}}) {
    for (const DType t : {DType::Float32, DType::Float64, DType::Int32, DType::Int64}) {
      for (const Layout a : {Layout::RowMajor, Layout::Transposed, Layout::Stepped}) {
        const TensorRef x = random_tensor({c.m, c.k}, t, a, 21), y = random_tensor({c.k, c.n}, t, Layout::RowMajor, 22);
        const TensorRef z = random_tensor({c.k, c.n}, t, Layout::Transposed, 23);
        EXPECT_TRUE(same_everywhere(op(id::Mm), {x, y}));
        EXPECT_TRUE(same_everywhere(op(id::Mm), {x, z}));
      }
    }
  }
}

TEST(BlocksProduct, Batches) {
  const TensorRef x = random_tensor({5, 7, 20}, DType::Float32, Layout::RowMajor, 24);
  const TensorRef y = random_tensor({5, 20, 9}, DType::Float32, Layout::Transposed, 25);
  EXPECT_TRUE(same_everywhere(op(id::Bmm), {x, y}));
}

TEST(BlocksProduct, ThreadsDoNotMatter) {
  const int before = num_threads();
  const TensorRef x = random_tensor({500, 90}, DType::Float32, Layout::RowMajor, 26);
  const TensorRef y = random_tensor({90, 300}, DType::Float32, Layout::RowMajor, 27);
  const TensorRef one = empty_tensor({500, 300}, DType::Float32), two = empty_tensor({500, 300}, DType::Float32);
  const std::vector<Arg> args{x, y};
  set_num_threads(1);
  engines()[0]->run(op(id::Mm), args, {{one}});
  set_num_threads(2);
  engines()[0]->run(op(id::Mm), args, {{two}});
  set_num_threads(before);
  EXPECT_EQ(all_bits(*one), all_bits(*two));
}

TEST(BlocksCat, SameBitsAsReference) {
  for (const int dim : {0, 1, -1}) {
    const TensorRef x = random_tensor({30, 40}, DType::Float32, Layout::Transposed, 28);
    const TensorRef y = random_tensor({30, 40}, DType::Int64, Layout::Stepped, 29);
    EXPECT_TRUE(same_everywhere(op(id::Cat), {ListArg{{x, y, x}}, Arg(dim)}));
  }
}

TEST(BlocksCreate, SameBitsAsReference) {
  for (const DType t : kTypes) {
    for (const Arg& value : {Arg(2.75), Arg(3), Arg(true)}) {
      std::vector<Arg> args = with_defaults(op(id::Full), {ListArg{{Arg(1100), Arg(3)}}, value});
      args[op(id::Full).dtype] = t;
      EXPECT_TRUE(same_everywhere(op(id::Full), args));
    }
  }
}

}  // namespace
}  // namespace md
