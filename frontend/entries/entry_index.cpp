// The tree of entries: leaves are split by the look that tells most of them apart.
#include "frontend/entries/entry_index.h"

#include <algorithm>

#include "frontend/entries/code_cache.h"

namespace md {

void EntryIndex::insert(Entry* e) {
  if (e->last)
    last_.push_back(e);
  else
    insert_below(root_, e);
}

void EntryIndex::insert_below(Node& top, Entry* e) {
  Node* at = &top;
  while (at->branch) {
    const auto key = at->branch->look.expected(*e->guards);
    at = key ? &at->branch->nodes[*key] : &at->branch->others;
  }
  at->entries.insert(at->entries.begin(), e);
  if (at->entries.size() > at->splits_at) split(*at);
}

// A leaf nothing tells apart is looked at again when it has twice as many entries.
void EntryIndex::split(Node& n) {
  n.splits_at = 2 * n.entries.size();
  std::vector<const CompiledGuards*> candidates;
  for (const Entry* e : n.entries) candidates.push_back(e->guards.get());
  auto look = find_look(candidates);
  if (!look) return;
  auto branch = std::make_unique<Branch>();
  branch->look = std::move(*look);
  for (Entry* e : n.entries) {
    const auto key = branch->look.expected(*e->guards);
    (key ? branch->nodes[*key] : branch->others).entries.push_back(e);
  }
  n.entries.clear();
  n.branch = std::move(branch);
  for (auto& [key, below] : n.branch->nodes)
    if (below.entries.size() > kFew) split(below);
  if (n.branch->others.entries.size() > kFew) split(n.branch->others);
}

void EntryIndex::remove(Entry* e) {
  if (std::erase(last_, e) == 0) remove_below(root_, e);
}

// What an entry expects may have died with it, so it is searched for.
bool EntryIndex::remove_below(Node& n, Entry* e) {
  if (std::erase(n.entries, e) != 0) return true;
  if (!n.branch) return false;
  for (auto it = n.branch->nodes.begin(); it != n.branch->nodes.end(); ++it) {
    if (!remove_below(it->second, e)) continue;
    if (it->second.entries.empty() && !it->second.branch) n.branch->nodes.erase(it);
    return true;
  }
  return remove_below(n.branch->others, e);
}

}  // namespace md
