#include "backend/executable/direct_commits.h"

#include <algorithm>

#include "ir/graph/dataflow.h"

namespace md {
namespace {

bool can_fail(const LoweredGroup& l) {
  return l.call || std::ranges::any_of(l.nest.values, [](const NestValue& v) {
           return v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail;
         });
}

// What one nest of a group stores and another loads lies where the loading nest expects it: in memory of its own strides.
std::unordered_set<const Node*> loaded_again(const std::vector<LoweredGroup>& lowered) {
  std::unordered_set<const Node*> found;
  for (const LoweredGroup& l : lowered) {
    if (l.call) continue;
    for (const Access& a : l.nest.accesses)
      if (const Node* n = l.buffers[static_cast<std::size_t>(a.buffer)]) found.insert(memory_root(n));
  }
  return found;
}

}  // namespace

DirectCommits::DirectCommits(const Graph& g, const std::vector<FusionGroup>& groups) {
  int number = 0;
  std::unordered_map<const Node*, int> finally_read;  // by commits and outputs
  std::unordered_map<int, int> commits_of;
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Placeholder) inputs_[number++] = n.get();
    if (n->kind == NodeKind::Commit) ++commits_of[n->index];
    if (n->kind == NodeKind::Commit || n->kind == NodeKind::Output)
      for_each_input(*n, [&](const Node* in) { ++finally_read[memory_root(in)]; });
  }
  for (const FusionGroup& group : groups) {
    if (group.kind == FusionGroup::Kind::View) continue;  // read when somebody reads the view
    for (const Node* in : group.inputs) ++read_by_groups_[memory_root(in)];
  }
  for (const auto& n : g.nodes) {
    if (n->kind != NodeKind::Commit || commits_of[n->index] != 1) continue;
    const Node* value = n->args[0].get<Node*>();
    if (finally_read[value] == 1) commits_[value] = n.get();
  }
}

std::unordered_map<const Node*, const Node*> DirectCommits::made_by(const FusionGroup& group,
                                                                    const std::vector<LoweredGroup>& lowered) {
  std::unordered_map<const Node*, const Node*> found;
  if (commits_.empty() || std::ranges::any_of(lowered, can_fail)) return {};
  // Nobody may wait for what the group computes.
  if (std::ranges::any_of(group.outputs, [&](const Node* n) { return read_by_groups_.contains(n); })) return {};
  std::unordered_set<const Node*> read;
  for (const Node* in : group.inputs) read.insert(memory_root(in));
  const auto loaded = loaded_again(lowered);
  if (std::ranges::any_of(read, [&](const Node* n) { return written_.contains(n); })) return {};
  for (const Node* n : group.outputs) {
    const auto commit = commits_.find(n);
    if (commit == commits_.end() || loaded.contains(n)) continue;
    // What one nest has stored another must not load.
    if (lowered.size() == 1 || !read.contains(inputs_.at(commit->second->index))) found.insert(*commit);
  }
  for (const auto& [value, commit] : found) written_.insert(inputs_.at(commit->index));
  return found;
}

bool DirectCommits::loads_before_storing(const LoopNest& nest, const Store& store) {
  const int stage = nest.values[static_cast<std::size_t>(store.value)].stage;
  // Later walks would load again.
  for (const NestValue& v : nest.values)
    if (v.kind == NestValue::Kind::Reduce && v.stage - 1 > stage) return false;
  for (const Store& s : nest.stores)
    if (nest.values[static_cast<std::size_t>(s.value)].stage > stage) return false;
  // An element stored for several places of the iteration space would be loaded anew for each.
  for (std::size_t i = 0; i < nest.extents.size(); ++i) {
    const bool folded = nest.reduced >> i & 1;
    if (!folded && !nest.extents[i].is_const(1) && store.to.strides[i].is_const(0)) return false;
  }
  return true;
}

}  // namespace md
