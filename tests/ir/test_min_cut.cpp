// The cheapest values to keep between what cannot be computed again and what is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/compile/min_cut.h"

namespace md {
namespace {

using Values = std::vector<std::size_t>;

// 0 -> 1 -> 2, each used by the next.
MinCut chain(std::vector<std::int64_t> costs) {
  MinCut network(costs.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    network.set_cost(i, costs[i]);
    if (i > 0) network.add_use(i - 1, i);
  }
  return network;
}

TEST(MinCut, NothingIsKeptThatNobodyAsksFor) {
  MinCut network = chain({4, 4});
  network.add_source(0);
  EXPECT_EQ(network.cut(), Values{});
}

TEST(MinCut, NothingIsKeptThatCanBeComputedFromInputs) {
  MinCut network = chain({4, 4});
  network.add_sink(1);
  EXPECT_EQ(network.cut(), Values{});
}

TEST(MinCut, TheCheapestLinkOfAChain) {
  MinCut network = chain({8, 1, 8});
  network.add_source(0);
  network.add_sink(2);
  EXPECT_EQ(network.cut(), Values{1});
}

TEST(MinCut, AmongEqualsTheLastOne) {
  MinCut network = chain({4, 4, 4});
  network.add_source(0);
  network.add_sink(2);
  EXPECT_EQ(network.cut(), Values{2});
}

TEST(MinCut, OneValueBehindManyUses) {
  MinCut network(5);
  for (std::size_t v = 0; v < 5; ++v) network.set_cost(v, 3);
  network.add_source(0);
  for (std::size_t v = 1; v < 5; ++v) {
    network.add_use(0, v);
    network.add_sink(v);
  }
  EXPECT_EQ(network.cut(), Values{0});
}

TEST(MinCut, WhatMayNotBeCutIsPassed) {
  MinCut network = chain({8, MinCut::kNever, 9});
  network.add_source(0);
  network.add_sink(2);
  EXPECT_EQ(network.cut(), Values{0});
}

// Every way from a source to a sink meets a kept value, and no other choice costs less.
TEST(MinCut, AgreesWithTryingEveryChoice) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 2 + random() % 7;
    std::vector<std::int64_t> cost(n);
    std::vector<bool> source(n), sink(n);
    std::vector<Values> users(n);
    MinCut network(n);
    for (std::size_t v = 0; v < n; ++v) {
      network.set_cost(v, cost[v] = 1 + static_cast<std::int64_t>(random() % 9));
      if ((source[v] = random() % 3 == 0)) network.add_source(v);
      if ((sink[v] = random() % 3 == 0)) network.add_sink(v);
      for (std::size_t u = v + 1; u < n; ++u)
        if (random() % 2) users[v].push_back(u), network.add_use(v, u);
    }
    const auto separates = [&](unsigned kept) {
      std::vector<bool> lost(n);
      for (std::size_t v = 0; v < n; ++v) {
        if (source[v]) lost[v] = true;
        if (kept >> v & 1) lost[v] = false;
        if (lost[v] && sink[v]) return false;
        for (const std::size_t u : users[v]) lost[u] = lost[u] || lost[v];
      }
      return true;
    };
    const auto total = [&](unsigned kept) {
      std::int64_t sum = 0;
      for (std::size_t v = 0; v < n; ++v) sum += (kept >> v & 1) ? cost[v] : 0;
      return sum;
    };
    std::int64_t best = 1000;
    for (unsigned kept = 0; kept < 1u << n; ++kept)
      if (separates(kept)) best = std::min(best, total(kept));
    unsigned found = 0;
    for (const std::size_t v : network.cut()) found |= 1u << v;
    EXPECT_TRUE(separates(found));
    EXPECT_EQ(total(found), best);
  }
}

}  // namespace
}  // namespace md
