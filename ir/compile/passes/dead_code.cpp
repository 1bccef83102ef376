// One walk from the last node to the first: what has an effect is live, and so are the inputs of live nodes.
#include "ir/compile/passes/dead_code.h"

#include <memory_resource>
#include <unordered_set>

#include "ir/graph/dataflow.h"

namespace md {

void remove_dead_code(Graph& g) {
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_set<const Node*> live(g.nodes.size(), &memory);
  for (auto it = g.nodes.rbegin(); it != g.nodes.rend(); ++it) {
    const Node& n = **it;
    if (!live.contains(&n) && !has_effect(n)) continue;
    live.insert(&n);
    for_each_input(n, [&](const Node* in) { live.insert(in); });
  }
  std::erase_if(g.nodes, [&](const auto& n) { return !live.contains(n.get()); });
}

}  // namespace md
