// Sums of what parts take: counts, own times, recursion, exceptions, threads that end, and the time line's limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "ir/run/cost_totals.h"

namespace md {
namespace {

PartName named(PartKind kind, const std::string& name) {
  return {.kind = kind, .name = name, .function = "", .file = name};
}

CostTotal total_of(const std::string& name) {
  for (const CostTotal& t : cost_totals())
    if (t.site->about.name == name) return t;
  return {};
}

template <class Act>
void measured(const SiteSlot& slot, PartKind kind, const std::string& name, const Act& act) {
  const Observed one([&] { return &slot; }, [&] { return named(kind, name); });
  act();
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

class CostTotals : public testing::Test {
 protected:
  void SetUp() override { observe_parts(kForCosts, true); }
  void TearDown() override { observe_parts(kForCosts, false); }
};

TEST_F(CostTotals, OwnTimeIsWithoutWhatCountsApart) {
  const SiteSlot outer, inner, kernel;
  measured(outer, PartKind::Plain, "outer", [&] {
    measured(inner, PartKind::Break, "inner", pause);
    measured(kernel, PartKind::Kernel, "kernel", pause);
  });
  const CostTotal whole = total_of("outer"), part = total_of("inner"), work = total_of("kernel");
  EXPECT_EQ(whole.calls, 1);
  EXPECT_GE(whole.seconds, 0.004);
  EXPECT_GE(part.own_seconds, 0.002);
  EXPECT_NEAR(whole.own_seconds, whole.seconds - part.seconds, 1e-4);  // a tick is taken anew each time
  EXPECT_GE(whole.own_seconds, work.seconds);                          // kernels are part of their function
}

TEST_F(CostTotals, EachCallIsCountedAlsoThoseThatAreNotMeasured) {
  const SiteSlot slot;
  for (int k = 1; k <= 5000; ++k) {
    measured(slot, PartKind::Region, "short", [] {});
    if (k % 777 == 0) {
      EXPECT_EQ(total_of("short").calls, k);
    }
  }
  EXPECT_EQ(total_of("short").calls, 5000);
  EXPECT_LT(cost_counts().measured, 4000);
}

TEST_F(CostTotals, RecursionCountsOnceInTheWhole) {
  const SiteSlot slot;
  const auto start = std::chrono::steady_clock::now();
  const auto down = [&](const auto& self, int depth) -> void {
    measured(slot, PartKind::Plain, "recursive", [&] {
      pause();
      if (depth) self(self, depth - 1);
    });
  };
  down(down, 4);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const CostTotal t = total_of("recursive");
  EXPECT_EQ(t.calls, 5);
  EXPECT_GE(t.own_seconds, 0.010);
  EXPECT_LE(t.seconds, took.count() * 1.05);
}

TEST_F(CostTotals, ExceptionsEndParts) {
  const SiteSlot outer, inner;
  for (int k = 0; k < 3; ++k)
    measured(outer, PartKind::Plain, "catches", [&] {
      try {
        measured(inner, PartKind::Break, "raises", [] { throw std::runtime_error(""); });
      } catch (const std::runtime_error&) {
      }
    });
  EXPECT_EQ(total_of("raises").calls, 3);
  EXPECT_EQ(total_of("catches").calls, 3);
}

TEST_F(CostTotals, ThreadsThatEndedAreInTheSums) {
  const SiteSlot slot;
  for (int k = 0; k < 5; ++k) std::thread([&] { measured(slot, PartKind::Break, "threads", [] {}); }).join();
  EXPECT_EQ(total_of("threads").calls, 5);
  EXPECT_EQ(total_of("threads").threads, 5);
}

TEST_F(CostTotals, TheTimeLineHasTheFirstOfEachAndIsBounded) {
  take_timed_parts();
  SiteSlot slot;
  for (int k = 0; k < 100'000; ++k) measured(slot, PartKind::Kernel, "many", [] {});
  const SiteSlot late;
  measured(late, PartKind::Kernel, "late", [] {});
  const auto parts = take_timed_parts();
  EXPECT_LE(parts.size(), 20'000u);
  EXPECT_TRUE(std::ranges::any_of(parts, [](const TimedPart& p) { return p.site->about.name == "late"; }));
  EXPECT_TRUE(std::ranges::all_of(parts, [](const TimedPart& p) { return p.start > 0 && p.seconds >= 0; }));
  EXPECT_GT(cost_counts().parts_left_out, 0);
}

TEST(ObservedParts, NobodyObserves) {
  const SiteSlot slot;
  bool asked = false;
  {
    const Observed one([&] { return asked = true, &slot; }, [] { return named(PartKind::Op, "nothing"); });
  }
  EXPECT_FALSE(asked);
}

TEST(ObservedParts, AProfileHasEachOfThem) {
  observe_parts(kForProfile, true);
  take_observed_parts();
  const SiteSlot slot;
  for (int k = 0; k < 500; ++k) measured(slot, PartKind::Op, "op", [] {});
  observe_parts(kForProfile, false);
  const auto parts = take_observed_parts();
  EXPECT_EQ(parts.size(), 500u);
  EXPECT_TRUE(std::ranges::is_sorted(parts, {}, &ObservedPart::end));
}

}  // namespace
}  // namespace md
