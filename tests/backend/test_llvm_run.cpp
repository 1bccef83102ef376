// Kernels as the frontend uses them: many sizes, many threads, forked children, and nothing left behind.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "backend/llvm/code_generator.h"
#include "backend/tiers/kernel_cache.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/engine.h"
#include "ir/sizes/shape_env.h"
#include "tests/backend/graph_fixture.h"

namespace md::testing {
namespace {

// Two symbolic sizes: layer norm, sums of columns and of everything, and a mean whose divisor is a size.
std::unique_ptr<Graph> symbolic_graph() {
  GraphFixture g;
  g.graph.shapes = std::make_shared<ShapeEnv>();
  const Size rows = g.graph.shapes->backed(6, "rows"), cols = g.graph.shapes->backed(40, "cols");
  std::mt19937 random(1);
  Node* x = g.input(random_tensor(random, {6, 40}, DType::Float32, Layout::Contiguous));
  TensorType& t = x->types[0];
  t.sizes = {rows, cols}, t.strides = {cols, 1}, t.offset = 0;
  const ListArg last{{Arg(1)}}, first{{Arg(0)}};
  Node* mean = g.call("div", {g.call("sum", {x, last, Arg(true)}), Arg(cols)});
  Node* centred = g.call("sub", {x, mean});
  Node* total = g.call("sum", {g.call("exp", {g.call("neg", {g.call("abs", {x})})})});
  Node* turned = g.call("transpose", {centred, Arg(0), Arg(1)});
  g.finish({centred, g.call("sum", {centred, first}), total, g.call("mul", {turned, turned}), turned});
  auto copy = clone(g.graph);
  return copy;
}

TEST(LlvmRun, EverySizeOfOneCompilation) {
  install_llvm_backend();
  const auto graph = symbolic_graph();
  const auto kernel = find_backend("llvm")->compile(clone(*graph));
  std::mt19937 random(2);
  for (const auto& [rows, cols] : {std::pair{6, 40}, {2, 2}, {300, 17}, {3, 5000}, {6, 40}, {1100, 3}}) {
    TensorRef x = random_tensor(random, {rows, cols}, DType::Float32, Layout::Contiguous, true);
    std::vector<TensorRef> expected = evaluate(*graph, std::vector<TensorRef>{x}, reference_engine()), got(5);
    TensorImpl* in = x.get();
    kernel->run({&in, 1}, got);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(difference(*got[i], *expected[i]), "") << rows << "x" << cols << " result " << i;
    EXPECT_EQ(got[4]->storage, got[0]->storage);
  }
}

TEST(LlvmRun, RefusesInputsItWasNotCompiledFor) {
  GraphFixture g;
  std::mt19937 random(3);
  g.finish({g.call("neg", {g.input(random_tensor(random, {4, 4}, DType::Float32, Layout::Contiguous))})});
  install_llvm_backend();
  const auto kernel = find_backend("llvm")->compile(clone(g.graph));
  for (const TensorRef& wrong : {random_tensor(random, {4, 5}, DType::Float32, Layout::Contiguous),
                                 random_tensor(random, {4, 4}, DType::Float64, Layout::Contiguous),
                                 random_tensor(random, {4, 4}, DType::Float32, Layout::Transposed)}) {
    TensorImpl* in = wrong.get();
    std::vector<TensorRef> out(1);
    EXPECT_THROW(kernel->run({&in, 1}, out), InternalError);
  }
}

// A graph no other test compiles, so that code is really generated.
double compile_and_run(double constant) {
  GraphFixture g;
  TensorRef x = scalar_tensor(2.0, DType::Float64);
  g.finish({g.call("mul", {g.call("add", {g.input(x), Arg(constant)}), Arg(3.0)})});
  const auto kernel = find_backend("llvm")->compile(clone(g.graph));
  TensorImpl* in = x.get();
  std::vector<TensorRef> out(1);
  kernel->run({&in, 1}, out);
  return out[0]->as<double>()[0];
}

TEST(LlvmRun, ManyThreadsCompileAndRun) {
  install_llvm_backend();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const double c = 1000 + i % 4 + (i % 2 ? t * 10 : 0);
        wrong += compile_and_run(c) != (2 + c) * 3;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LlvmRun, ForkedChildrenCompile) {
  install_llvm_backend();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    for (double c = 5000; !stop; ++c) compile_and_run(c);
  });
  int failed = 0;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(compile_and_run(9000 + i) == (9002 + i) * 3 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  stop = true;
  busy.join();
  EXPECT_EQ(failed, 0);
}

TEST(LlvmRun, DeadKernelsGiveTheirMemoryBack) {
  LoopNest nest;
  nest.extents = {16};
  nest.buffers = 2;
  nest.accesses.push_back(nest.access(0, DType::Float32, {1}));
  NestValue load;
  load.access = 0;
  NestValue constant;
  constant.kind = NestValue::Kind::Constant;
  constant.number = 0.123;
  NestValue sum;
  sum.kind = NestValue::Kind::Compute, sum.op = id::Add, sum.args = {nest.add(load), nest.add(constant)};
  nest.stores.push_back({nest.add(sum), nest.access(1, DType::Float32, {1})});
  std::weak_ptr<const LoadedCode> code;
  {
    const CompiledNest first = compile_nest(nest, host_target());
    code = first.code;
    EXPECT_EQ(compile_nest(nest, host_target()).code, first.code);
  }
  EXPECT_TRUE(code.expired());
  EXPECT_NE(compile_nest(nest, host_target()).function, nullptr);
}

// The processor is looked at once per process, so other ones are tried in processes of their own.
TEST(LlvmRun, LesserProcessors) {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  ASSERT_GT(n, 0);
  self[n] = 0;
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    const std::string command = std::string("MINIDYNAMO_CPU=") + cpu + " " + self +
                                " --gtest_filter=LlvmNest.*:LlvmGraphs.LayerNorm*:LlvmGraphs.ColumnSums*:LlvmOps."
                                "PointwiseMixed*:LlvmOps.Conversions >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

TEST(LlvmRun, CodeIsTheIrOfEveryNest) {
  GraphFixture g;
  std::mt19937 random(4);
  Node* x = g.input(random_tensor(random, {8, 8}, DType::Float32, Layout::Contiguous));
  g.finish({g.call("add", {g.call("mm", {x, x}), Arg(1)})});
  const std::string code = find_backend("llvm")->code(g.graph);
  EXPECT_NE(code.find("; mm = mm"), std::string::npos) << code;
  EXPECT_NE(code.find("define i64 @kernel"), std::string::npos) << code;
  EXPECT_NE(code.find("fadd <"), std::string::npos) << code;
}

}  // namespace
}  // namespace md::testing
