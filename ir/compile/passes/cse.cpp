// Value numbering: nodes are hashed by op and arguments, and a node equal to an earlier one gives way to it.
#include "ir/compile/passes/cse.h"

#include <algorithm>
#include <bit>
#include <memory_resource>

#include "ir/graph/dataflow.h"

namespace md {
namespace {

// Equal keys, equal values. Views count by what they show of which memory, everything else by what it computes.
struct Key {
  const Node* node;
  const Node* root;  // of a view, and of a root seen as the view that shows all of it; else null
};

std::size_t mixed(std::size_t seed, std::size_t more) {
  return std::rotl(seed ^ more, 23) * std::size_t{0x9E3779B97F4A7C15};
}

std::size_t hash(const Size& s) {
  return s.is_const() ? static_cast<std::size_t>(s.value()) : std::hash<const SizeExpr*>()(s.expr());
}

std::size_t hash(const Arg& a) {
  std::size_t h = a.v.index();
  if (const auto* n = a.get_if<Node*>()) return mixed(h, std::hash<const Node*>()(*n));
  if (const auto* d = a.get_if<double>()) return mixed(h, std::bit_cast<std::uint64_t>(*d));
  if (const auto* s = a.get_if<Size>()) return mixed(h, hash(*s));
  if (const auto* b = a.get_if<bool>()) return mixed(h, *b);
  if (const auto* t = a.get_if<DType>()) return mixed(h, static_cast<std::size_t>(*t));
  if (const auto* f = a.get_if<MemoryFormat>()) return mixed(h, static_cast<std::size_t>(*f));
  if (const auto* l = a.get_if<ListArg>())
    for (const Arg& x : l->items) h = mixed(h, hash(x));
  return h;
}

// Zeros of both signs differ, and one NaN is like another of the same bits.
bool same(const Arg& a, const Arg& b) {
  const auto *x = a.get_if<double>(), *y = b.get_if<double>();
  if (x && y) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  const auto *l = a.get_if<ListArg>(), *r = b.get_if<ListArg>();
  if (l && r) return l->tuple == r->tuple && std::ranges::equal(l->items, r->items, same);
  return a == b;
}

struct HashOf {
  std::size_t operator()(const Key& k) const {
    if (k.root) {
      const TensorType& t = k.node->type();
      std::size_t h = mixed(std::hash<const Node*>()(k.root), hash(t.offset));
      for (const Size& s : t.sizes) h = mixed(h, hash(s));
      for (const Size& s : t.strides) h = mixed(h, hash(s));
      return h;
    }
    std::size_t h = mixed(k.node->op, static_cast<std::size_t>(k.node->index));
    for (const Arg& a : k.node->args) h = mixed(h, hash(a));
    return h;
  }
};

struct AreEqual {
  bool operator()(const Key& a, const Key& b) const {
    if (a.root || b.root) return a.root == b.root && same_type(a.node->type(), b.node->type());
    return a.node->kind == b.node->kind && a.node->op == b.node->op && a.node->index == b.node->index &&
           std::ranges::equal(a.node->args, b.node->args, same);
  }
};

}  // namespace

void merge_common_subexpressions(Graph& g) {
  const auto leaves = escaping(g);
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<Key, Node*, HashOf, AreEqual> known(g.nodes.size(), &memory);
  MemoryRoots roots;
  Replacements replaced;
  for (const auto& n : g.nodes) {
    replaced.apply(*n);
    if (n->kind == NodeKind::Op && !is_view(*n) && op(n->op).kind() == OpKind::Random) continue;
    if (n->kind != NodeKind::Op && n->kind != NodeKind::GetItem) continue;
    Node* const root = is_view(*n) ? roots.of(n.get()) : nullptr;
    if (root) known.emplace(Key{root, root}, root);
    const auto [at, fresh] = known.emplace(Key{n.get(), root}, n.get());
    if (!fresh && !leaves.contains(n.get())) replaced.replace(n.get(), at->second);
  }
}

}  // namespace md
