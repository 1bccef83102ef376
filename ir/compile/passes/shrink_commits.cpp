// Follows a committed value back through write_views to the input: only what they wrote differs from it.
#include "ir/compile/passes/shrink_commits.h"

#include <algorithm>

#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

bool is_write(const Node& n) { return n.kind == NodeKind::Op && n.op == id::WriteView; }

// The writes that lead from `input` to `value`, first one first; empty if there is something else between them.
std::vector<const Node*> writes_to(const Node* input, const Node* value) {
  std::vector<const Node*> writes;
  const Node* n = value;
  for (; is_write(*n); n = n->args[0].get<Node*>()) writes.push_back(n);
  if (n != input) return {};
  std::ranges::reverse(writes);
  return writes;
}

class Shrinker {
 public:
  explicit Shrinker(Graph& g) : g_(g), inputs_(g.placeholders()) {}

  void run() {
    for (auto& n : g_.nodes) {
      if (n->kind == NodeKind::Commit) {
        shrink(std::move(n));
      } else if (n->kind == NodeKind::Output) {
        commits_.push_back(std::move(n));
      } else {
        nodes_.push_back(std::move(n));
      }
    }
    std::ranges::move(commits_, std::back_inserter(nodes_));
    g_.nodes = std::move(nodes_);
  }

 private:
  void shrink(std::unique_ptr<Node> commit) {
    std::vector<const Node*> writes;
    const Node* input = inputs_[static_cast<std::size_t>(commit->index)];
    if (commit->args.size() == 1 && is_row_major(input->type())) {
      writes = writes_to(input, commit->args[0].get<Node*>());
    }
    if (writes.empty()) {
      commits_.push_back(std::move(commit));
      return;
    }
    for (const Node* w : writes) {
      auto part = std::make_unique<Node>(*commit);
      part->args = {own(w->args[1].get<Node*>()), w->args[2], w->args[3]};
      if (w != writes.front()) part->name = g_.fresh_name("commit");
      commits_.push_back(std::move(part));
    }
  }

  // Commits read only memory that no commit writes.
  Node* own(Node* n) {
    const NodeKind root = memory_root(n)->kind;
    if (root == NodeKind::Op || root == NodeKind::GetItem) return n;
    auto copy = std::make_unique<Node>(Node{.kind = NodeKind::Op, .op = id::Clone, .target = "clone"});
    copy->args = {n};
    copy->types = infer(op(id::Clone), copy->args);
    copy->name = g_.fresh_name("clone");
    copy->stack = n->stack;
    nodes_.push_back(std::move(copy));
    return nodes_.back().get();
  }

  Graph& g_;
  const std::vector<Node*> inputs_;
  std::vector<std::unique_ptr<Node>> nodes_, commits_;
};

}  // namespace

void shrink_commits(Graph& g) { Shrinker(g).run(); }

}  // namespace md
