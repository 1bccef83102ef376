// Nodes whose operands are all known are run as eager calls; the results become constants of the graph.
#include "ir/compile/passes/fold.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/run/eager.h"

namespace md {
namespace {

// Larger values are cheaper to compute than to keep.
constexpr std::int64_t kMaxElements = 16;

bool is_small(const TensorType& t) {
  Size count = 1;
  for (const Size& s : t.sizes) count = count * s;
  return count.is_const() && count.value() <= kMaxElements;
}

// A size only the call will tell.
bool holds_symbol(const Arg& a) {
  if (const auto* s = a.get_if<Size>()) return !s->is_const();
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::any_of(l->items, holds_symbol);
}

Arg evaluated(const Arg& a, const std::unordered_map<const Node*, TensorRef>& values) {
  if (const auto* n = a.get_if<Node*>()) return values.at(*n);
  if (const auto* l = a.get_if<ListArg>()) {
    ListArg out{{}, l->tuple};
    for (const Arg& x : l->items) out.items.push_back(evaluated(x, values));
    return out;
  }
  return a;
}

}  // namespace

void fold_constants(Graph& g) {
  const auto leaves = escaping(g);
  std::unordered_map<const Node*, TensorRef> values;  // of nodes known while compiling
  for (const auto& n : g.nodes) {
    if (n->kind != NodeKind::Op || n->multi || has_effect(*n) || !is_small(n->type())) continue;
    bool known = std::ranges::none_of(n->args, holds_symbol), any = false;
    for_each_input(*n, [&](const Node* in) {
      any = true;
      known &= values.contains(in);
    });
    if (!known || (!any && op(n->op).kind() != OpKind::Create)) continue;
    TensorRef value;
    try {
      BoundArgs args;
      for (const Arg& a : n->args) args.push_back(evaluated(a, values));
      value = call_op(op(n->op), args).get<TensorRef>();
    } catch (const OpError&) {
      continue;  // raised when the program gets there
    }
    values[n.get()] = value;
    if (!any || leaves.contains(n.get())) continue;  // each run makes its own; a lone zeros() is left to its user
    *n =
        Node{.kind = NodeKind::GetAttr, .target = "_" + n->name, .name = n->name, .types = n->types, .stack = n->stack};
    n->constant = std::move(value);
  }
}

}  // namespace md
