// Work in the background, and kernels that change their engine while they are in use.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "backend/tiers/tiers.h"
#include "ir/reference/engine.h"
#include "tests/backend/graph_fixture.h"

namespace md {
namespace {

using namespace std::chrono_literals;
using namespace testing;

struct Job final : BackgroundJob {
  std::function<void(const Checkpoint&)> work;
  explicit Job(std::function<void(const Checkpoint&)> w) : work(std::move(w)) {}
  void run(const Checkpoint& checkpoint) override { work(checkpoint); }
};

TEST(CompileQueue, OneAfterTheOther) {
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(submit(std::make_shared<Job>([&order, i](const Checkpoint&) { order.push_back(i); })));
  wait_for_background();
  ASSERT_EQ(order.size(), 20u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(CompileQueue, JobsDieInTheThreadThatAsks) {
  struct Watched final : BackgroundJob {
    std::thread::id& died;
    explicit Watched(std::thread::id& d) : died(d) {}
    ~Watched() override { died = std::this_thread::get_id(); }
    void run(const Checkpoint&) override {}
  };
  std::thread::id died;
  submit(std::make_shared<Watched>(died));
  wait_for_background();
  EXPECT_EQ(died, std::this_thread::get_id());
}

// A job that is at work while the process forks: the fork waits for a checkpoint, the child begins the job anew.
// ThreadSanitizer takes a thread that a forked child starts for one of the parent's.
#ifndef __SANITIZE_THREAD__
TEST(CompileQueue, ChildBeginsTheJobAnew) {
  static std::atomic<int> begun, ended;
  static std::atomic<bool> may_end;
  begun = ended = 0, may_end = false;
  submit(std::make_shared<Job>([](const Checkpoint& checkpoint) {
    ++begun;
    while (!may_end) {
      std::this_thread::sleep_for(100us);
      checkpoint();
    }
    ++ended;
  }));
  while (!begun) std::this_thread::sleep_for(100us);
  const pid_t child = fork();
  if (child == 0) {
    may_end = true;
    wait_for_background();
    _exit(begun == 2 && ended == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_end = true;
  wait_for_background();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
}
#endif

struct TwoOps : GraphFixture {
  TwoOps() {
    std::mt19937 random(5);
    Node* x = input(random_tensor(random, {7, 9}, DType::Float32, Layout::Contiguous));
    finish({call("mul", {call("sin", {x}), Arg(2.5)})});
  }
  TensorRef run(Kernel& kernel) {
    TensorImpl* in = inputs[0].get();
    std::vector<TensorRef> out(1);
    kernel.run({&in, 1}, out);
    return out[0];
  }
  TensorRef expected() { return evaluate(graph, inputs, reference_engine())[0]; }
};

// Counts the calls that reach machine code.
struct Counted final : Kernel {
  std::unique_ptr<Kernel> kernel;
  std::atomic<int>& calls;
  Counted(std::unique_ptr<Kernel> k, std::atomic<int>& c) : kernel(std::move(k)), calls(c) {}
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    ++calls;
    kernel->run(inputs, outputs);
  }
};

TEST(Tiers, MachineCodeTakesOver) {
  TwoOps g;
  install_llvm_backend();
  std::atomic<int> calls{0};
  std::atomic<bool> may_compile{false};
  const auto kernel =
      tiered_kernel(clone(g.graph), [&](std::shared_ptr<const Graph> graph, const Checkpoint& checkpoint) {
        while (!may_compile) {
          std::this_thread::sleep_for(100us);
          checkpoint();
        }
        return std::make_unique<Counted>(find_backend("llvm")->compile(graph), calls);
      });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(*g.run(*kernel), *g.expected()), "");
  EXPECT_EQ(calls, 0);
  may_compile = true;
  wait_for_background();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(*g.run(*kernel), *g.expected()), "");
  EXPECT_EQ(calls, 3);
}

TEST(Tiers, ThreadsWhileItChanges) {
  for (int round = 0; round < 20; ++round) {
    TwoOps g;
    std::atomic<int> calls{0};
    const auto kernel = tiered_kernel(clone(g.graph), [&](std::shared_ptr<const Graph> graph, const Checkpoint&) {
      std::this_thread::sleep_for(300us);
      return std::make_unique<Counted>(find_backend("blocks")->compile(graph), calls);
    });
    const TensorRef expected = g.expected();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 2000 && calls < 100; ++i) wrong += difference(*g.run(*kernel), *expected) != "";
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    wait_for_background();
    g.run(*kernel);
    EXPECT_GT(calls, 0);
  }
}

TEST(Tiers, FailureIsThrownAndLackOfMemoryIsNot) {
  TwoOps g;
  const auto fails =
      tiered_kernel(clone(g.graph), [](std::shared_ptr<const Graph>, const Checkpoint&) -> std::unique_ptr<Kernel> {
        throw InternalError("no code");
      });
  g.run(*fails);
  wait_for_background();
  EXPECT_THROW(g.run(*fails), InternalError);
  const auto starves = tiered_kernel(
      clone(g.graph),
      [](std::shared_ptr<const Graph>, const Checkpoint&) -> std::unique_ptr<Kernel> { throw std::bad_alloc(); });
  g.run(*starves);
  wait_for_background();
  EXPECT_EQ(difference(*g.run(*starves), *g.expected()), "");
}

TEST(Tiers, NobodyCompilesForTheDead) {
  TwoOps g;
  std::atomic<bool> at_work{false}, finished{false};
  auto kernel = tiered_kernel(clone(g.graph), [&](std::shared_ptr<const Graph> graph, const Checkpoint& checkpoint) {
    at_work = true;
    for (int i = 0; i < 100000; ++i) {
      std::this_thread::sleep_for(100us);
      checkpoint();
    }
    finished = true;
    return find_backend("blocks")->compile(graph);
  });
  g.run(*kernel);
  while (!at_work) std::this_thread::sleep_for(100us);
  kernel = nullptr;
  wait_for_background();
  EXPECT_FALSE(finished);
}

TEST(Tiers, MeasuringSettlesOnTheFaster) {
  TwoOps g;
  struct Slow final : Kernel {
    std::unique_ptr<Kernel> kernel;
    int& calls;
    Slow(std::unique_ptr<Kernel> k, int& c) : kernel(std::move(k)), calls(c) {}
    void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
      ++calls;
      std::this_thread::sleep_for(5ms);
      kernel->run(inputs, outputs);
    }
  };
  int calls = 0;
  const auto kernel =
      measured_kernel(clone(g.graph), std::make_unique<Slow>(find_backend("blocks")->compile(clone(g.graph)), calls));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(difference(*g.run(*kernel), *g.expected()), "");
  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace md
