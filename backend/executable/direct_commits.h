// Commits without a copy: which of a graph's writes to inputs the loop nest that computes the value can make itself.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/nest/lower_group.h"

namespace md {

class DirectCommits {
 public:
  DirectCommits(const Graph& functional, const std::vector<FusionGroup>& groups);

  // The commits whose values `group`, lowered to `lowered`, may store where they belong, by value. To be asked in the
  // order of the groups: one that stores into an input runs after everything that can fail, and after earlier ones.
  std::unordered_map<const Node*, const Node*> made_by(const FusionGroup& group,
                                                       const std::vector<LoweredGroup>& lowered);

  // Whether a nest that loads elements of the tensor it stores to through `store` loads each before it stores it, by
  // one walk over both, in whatever order and on however many threads.
  static bool loads_before_storing(const LoopNest& nest, const Store& store);

 private:
  std::unordered_map<const Node*, const Node*> commits_;  // value -> its only reader, an input's only commit
  std::unordered_map<int, const Node*> inputs_;           // by number
  std::unordered_map<const Node*, int> read_by_groups_;   // memory root -> so many groups
  std::unordered_set<const Node*> written_;               // inputs that groups asked for before store to
};

}  // namespace md
