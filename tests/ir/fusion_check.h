// What every list of fusion groups must satisfy.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/compile/passes/fuse.h"
#include "ir/graph/dataflow.h"

namespace md {

// Values are defined before they are read, and every group says what it reads and what others read of it.
inline void check_groups(const Graph& g) {
  std::unordered_set<const Node*> ready;
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Placeholder || n->kind == NodeKind::GetAttr) ready.insert(n.get());
  }
  std::unordered_map<const Node*, int> times;
  for (const FusionGroup& group : fuse(g)) {
    for (const Node* in : group.inputs) EXPECT_TRUE(ready.contains(in)) << in->name;
    std::unordered_set<const Node*> members;
    for (const auto& m : group.members) {
      for_each_input(*m.node, [&](const Node* in) {
        EXPECT_TRUE(members.contains(in) || std::ranges::count(group.inputs, in)) << in->name;
      });
      members.insert(m.node);
      if (!is_view(*m.node)) ++times[m.node];
    }
    for (const Node* o : group.outputs) {
      EXPECT_TRUE(members.contains(o));
      ready.insert(o);
    }
  }
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Op && !is_view(*n)) {
      EXPECT_EQ(times[n.get()], 1) << n->name;
    }
    if (n->kind == NodeKind::Commit || n->kind == NodeKind::Output) {
      for_each_input(*n, [&](const Node* in) { EXPECT_TRUE(ready.contains(in)) << in->name; });
    }
  }
}

}  // namespace md
