// Random traced programs with in-place ops through views: interpreting them and evaluating what the pipeline makes of
// them give the same bits, the same aliasing and the same inputs afterwards.
#include <gtest/gtest.h>

#include "ir/compile/pipeline.h"
#include "ir/core/error.h"
#include "ir/reference/engine.h"
#include "ir/run/evaluate_graph.h"
#include "tests/ir/fusion_check.h"
#include "tests/ir/random_program.h"

namespace md {
namespace {

void compare(const Graph& traced, unsigned seed) {
  std::unique_ptr<Graph> functional;
  try {
    functional = optimize(traced, {.verify = true});
  } catch (const NotFunctional&) {
    return;  // interpreted
  }
  const auto a = RandomProgram::inputs(traced, seed), b = RandomProgram::inputs(traced, seed);
  std::vector<TensorRef> want;
  try {
    want = interpret(traced, a);
  } catch (const OpError& e) {
    return;  // a failing program: nothing may have changed
  }
  const auto got = evaluate(*functional, b, reference_engine());
  const std::string both = print_ir(traced) + print_ir(*functional);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i]->dtype, got[i]->dtype) << both;
    ASSERT_EQ(bits(*want[i]), bits(*got[i])) << "output " << i << "\n" << both;
  }
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(bits(*a[i]), bits(*b[i])) << "input " << i << "\n" << both;
  ASSERT_EQ(aliasing(a, want), aliasing(b, got)) << both;
}

TEST(RandomGraphs, PipelineKeepsEveryBit) {
  int functional = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    const RandomProgram p(seed);
    ASSERT_NO_FATAL_FAILURE(compare(p.graph(), seed)) << "seed " << seed;
    try {
      const auto g = optimize(p.graph(), {});
      EXPECT_EQ(print_ir(*parse_ir(print_ir(*g))), print_ir(*g));
      check_groups(*g);
      ASSERT_FALSE(::testing::Test::HasFailure()) << print_ir(*g);
      ++functional;
    } catch (const NotFunctional&) {
    }
    EXPECT_EQ(print_ir(*parse_ir(print_ir(p.graph()))), print_ir(p.graph()));
  }
  EXPECT_GT(functional, 1300) << "most programs have a functional form";
}

}  // namespace
}  // namespace md
