// The random programs of tests/ir, compiled: same bits, same aliasing, same inputs afterwards as interpreting them.
#include <gtest/gtest.h>

#include "backend/executable/install.h"
#include "ir/compile/backend.h"
#include "ir/compile/pipeline.h"
#include "tests/ir/random_program.h"

namespace md {
namespace {

void compare(const Graph& traced, unsigned seed) {
  std::unique_ptr<Graph> functional;
  try {
    functional = optimize(traced, {});
  } catch (const NotFunctional&) {
    return;  // interpreted, never compiled
  }
  std::unique_ptr<Kernel> kernel;
  try {
    kernel = find_backend("llvm")->compile(clone(*functional));
  } catch (const InternalError& e) {
    FAIL() << e.what() << "\n" << print_ir(*functional);
  }
  const auto a = RandomProgram::inputs(traced, seed), b = RandomProgram::inputs(traced, seed);
  std::vector<TensorRef> want;
  try {
    want = interpret(traced, a);
  } catch (const OpError&) {
    return;
  }
  std::vector<TensorRef> got(want.size());
  std::vector<TensorImpl*> raw;
  for (const TensorRef& t : b) raw.push_back(t.get());
  kernel->run(raw, got);
  const std::string both = print_ir(traced) + print_ir(*functional);
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i]->dtype, got[i]->dtype) << both;
    ASSERT_EQ(bits(*want[i]), bits(*got[i])) << "output " << i << "\n" << both;
  }
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(bits(*a[i]), bits(*b[i])) << "input " << i << "\n" << both;
  ASSERT_EQ(aliasing(a, want), aliasing(b, got)) << both;
}

TEST(LlvmRandom, CompiledProgramsKeepEveryBit) {
  install_llvm_backend();
  for (unsigned seed = 0; seed < 150; ++seed) {
    const RandomProgram p(seed);
    ASSERT_NO_FATAL_FAILURE(compare(p.graph(), seed)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace md
