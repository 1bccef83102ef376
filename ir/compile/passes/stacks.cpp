// Recognised by their nodes; nothing is kept about them.
#include "ir/compile/passes/stacks.h"

#include "ir/compile/passes/layouts.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

// A dimension given by a number, counted from the front.
int counted_dim(const Arg& dim, int rank) {
  const auto* d = dim.get_if<Size>();
  if (!d || !d->is_const()) return -1;
  return static_cast<int>(d->value() < 0 ? d->value() + rank : d->value());
}

bool is_call(const Node& n, OpId id) { return n.kind == NodeKind::Op && n.op == id; }

}  // namespace

int stacked_dim(const Node& cat) {
  if (!is_call(cat, id::Cat)) return -1;
  const TensorType& t = cat.type();
  const int d = counted_dim(cat.args[1], t.dim());
  const Node* first = nullptr;
  for (const Arg& a : cat.args[0].get<ListArg>().items) {
    const auto* n = a.get_if<Node*>();
    if (!n || !is_call(**n, id::Unsqueeze) || (*n)->type().dtype != t.dtype) return -1;
    if (counted_dim((*n)->args[1], t.dim()) != d) return -1;
    const Node* part = (*n)->args[0].get<Node*>();
    if (first && !(first->type().sizes == part->type().sizes)) return -1;
    first = part;
  }
  return first ? d : -1;
}

bool is_joined_pairs(const Node& n) {
  if (!is_call(n, id::ViewAsComplex)) return false;
  const Node& pairs = *n.args[0].get<Node*>();
  return is_call(pairs, id::Cat) && pairs.args[0].get<ListArg>().items.size() == 2 &&
         stacked_dim(pairs) == pairs.type().dim() - 1;
}

namespace {

// Which half of the pairs `n` writes into zeros; -1 if it is no such write.
int written_half(const Node& n) {
  if (!is_call(n, id::WriteView) || !is_call(*n.args[0].get<Node*>(), id::Zeros)) return -1;
  const SizeVec& sizes = n.type().sizes;
  const SizeVec& source = n.args[1].get<Node*>()->type().sizes;
  if (sizes.size() != source.size() + 1 || !sizes.back().is_const(2)) return -1;
  const SizeVec strides = contiguous(sizes);
  const auto& steps = n.args[2].get<ListArg>().items;
  for (std::size_t d = 0; d < source.size(); ++d)
    if (!(source[d] == sizes[d]) || !(steps[d].get<Size>() == strides[d])) return -1;
  const Size offset = n.args[3].get<Size>();
  return offset.is_const(0) ? 0 : offset.is_const(1) ? 1 : -1;
}

}  // namespace

std::pair<Node*, Node*> added_halves(const Node& a, const Node& b) {
  const int first = written_half(a), second = written_half(b);
  if (first < 0 || second < 0 || first == second || !(a.type().sizes == b.type().sizes)) return {};
  const auto source = [](const Node& n) { return n.args[1].get<Node*>(); };
  return first == 0 ? std::pair(source(a), source(b)) : std::pair(source(b), source(a));
}

Node* selected_part(const Op& view, const BoundArgs& args, const Node& on) {
  if (view.id != id::Select || !is_call(on, id::Cat)) return nullptr;
  const int d = counted_dim(args[1], on.type().dim());
  const auto* index = args[2].get_if<Size>();
  if (d < 0 || d != stacked_dim(on) || !index || !index->is_const()) return nullptr;
  const auto& items = on.args[0].get<ListArg>().items;
  const auto count = static_cast<std::int64_t>(items.size());
  const std::int64_t i = index->value() < 0 ? index->value() + count : index->value();
  return i >= 0 && i < count ? items[static_cast<std::size_t>(i)].get<Node*>()->args[0].get<Node*>() : nullptr;
}

}  // namespace md
