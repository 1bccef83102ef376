#include "ir/passes/cse.h"

#include "ir/passes/dataflow.h"
#include "ir/text.h"

namespace md {
namespace {

std::string layout_text(const TensorType& t) {
  std::string out = to_string(t.offset);
  for (const Size& s : t.sizes) out += " " + to_string(s);
  out += " /";
  for (const Size& s : t.strides) out += " " + to_string(s);
  return out;
}

// Equal keys, equal values. Views by what they show, everything else by what it computes; names tell operands apart.
std::string key(const Node& n) {
  if (is_view(n)) return "view " + memory_root(&n)->name + " " + layout_text(n.type());
  if (n.kind == NodeKind::GetItem) return "item " + std::to_string(n.index) + " " + python_tuple(n.args);
  return std::to_string(n.op) + python_tuple(n.args);
}

}  // namespace

void merge_common_subexpressions(Graph& g) {
  const auto leaves = escaping(g);
  std::unordered_map<std::string, Node*> known;
  Replacements replaced;
  for (const auto& n : g.nodes) {
    replaced.apply(*n);
    if (n->kind == NodeKind::Op && !is_view(*n) && op(n->op).kind() == OpKind::Random) continue;
    if (n->kind != NodeKind::Op && n->kind != NodeKind::GetItem) continue;
    if (is_view(*n)) {  // a view that shows all of it as it is
      Node* root = memory_root(n.get());
      known.emplace("view " + root->name + " " + layout_text(root->type()), root);
    }
    const auto [at, fresh] = known.emplace(key(*n), n.get());
    if (!fresh && !leaves.contains(n.get())) replaced.replace(n.get(), at->second);
  }
}

}  // namespace md
