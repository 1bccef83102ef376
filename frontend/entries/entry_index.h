// The entries of one code object and set of options as a tree: at each branch one look at the call leaves few of them
// to try.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frontend/guards/discriminate.h"

namespace md {

struct Entry;

// Entries are borrowed: whoever frees one removes it first.
class EntryIndex {
 public:
  void insert(Entry* e);
  void remove(Entry* e);

  // The first entry for which `passes(*entry)` holds: those a look points to before those it says nothing of, among
  // these the most recently used first, and entries that are for the end last. Null if there is none.
  template <class Passes>
  Entry* find(const FrameArgs& args, Passes&& passes) {
    if (Entry* e = find_below(root_, args, passes)) return e;
    for (Entry* e : last_)
      if (passes(*e)) return e;
    return nullptr;
  }

 private:
  static constexpr std::size_t kFew = 4;  // so many are tried one after the other

  struct Branch;
  struct Node {
    std::vector<Entry*> entries;   // of a leaf
    std::size_t splits_at = kFew;  // more of them are worth a look
    std::unique_ptr<Branch> branch;
  };
  struct Branch {
    Look look;
    std::unordered_map<Look::Key, Node> nodes;
    Node others;  // what expects nothing there
  };

  template <class Passes>
  static Entry* find_below(Node& top, const FrameArgs& args, Passes&& passes) {
    Node* at = &top;
    for (; at->branch; at = &at->branch->others) {
      const auto key = at->branch->look.read(args);
      const auto same = key ? at->branch->nodes.find(*key) : at->branch->nodes.end();
      if (same == at->branch->nodes.end()) continue;
      if (Entry* e = find_below(same->second, args, passes)) return e;
    }
    for (auto it = at->entries.begin(); it != at->entries.end(); ++it) {
      if (!passes(**it)) continue;
      Entry* found = *it;
      if (it != at->entries.begin()) std::rotate(at->entries.begin(), it, it + 1);
      return found;
    }
    return nullptr;
  }

  static void insert_below(Node& top, Entry* e);
  static bool remove_below(Node& n, Entry* e);
  static void split(Node& n);

  Node root_;
  std::vector<Entry*> last_;
};

}  // namespace md
