// Types by inference, a storage number per value that is no view, and the copies that give a value another layout.
#include "ir/compile/passes/functional_writer.h"

#include "ir/compile/passes/layouts.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/complex_calls.h"

namespace md {

FunctionalWriter::FunctionalWriter(const Graph& traced) : graph_(std::make_unique<Graph>()) {
  graph_->shapes = traced.shapes;
  graph_->name = traced.name;
  graph_->functional = true;
}

std::unique_ptr<Graph> FunctionalWriter::finish() {
  if (!graph_->output()) throw InternalError("functionalize: the graph has no output");
  return std::move(graph_);
}

namespace {

// Appends the parts that a call on complex values is made of.
class AppendingCaller final : public OpCaller {
 public:
  explicit AppendingCaller(FunctionalWriter& out) : out_(out) {}
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> args) override {
    if (opens(op, args)) return expand(op, *this, args);
    Node* const n = out_.append_op(op, std::move(args));
    if (op.schema.results == 1) return n;
    ListArg items;
    for (Node* item : out_.append_items(n)) items.items.emplace_back(item);
    return items;
  }

 private:
  FunctionalWriter& out_;
};

}  // namespace

Node* FunctionalWriter::append_op(const Op& op, BoundArgs args) {
  if (opens_complex(op, args)) return AppendingCaller(*this).call(op, std::move(args)).get<Node*>();
  std::vector<TensorType> types = infer(op, args);
  return append_op(op, std::move(args), std::move(types));
}

Node* FunctionalWriter::append_op(const Op& op, BoundArgs args, std::vector<TensorType> types) {
  Node n{.kind = NodeKind::Op, .op = op.id, .target = op.public_name};
  n.types = std::move(types);
  n.multi = op.schema.results != 1;
  for (TensorType& t : n.types) {
    if (op.kind() != OpKind::View) t.storage = next_storage_++;
  }
  n.args = std::move(args);
  return append(std::move(n));
}

std::vector<Node*> FunctionalWriter::append_items(Node* of) {
  std::vector<Node*> found;
  for (std::size_t i = 0; i < of->types.size(); ++i) {
    found.push_back(append({.kind = NodeKind::GetItem, .args = {of}, .index = static_cast<int>(i)}));
    found.back()->types = {of->types[i]};
  }
  return found;
}

Node* FunctionalWriter::compact(Node* n) { return is_row_major(n->type()) ? n : append_op(op(id::Compact), {n}); }

Node* FunctionalWriter::laid_out(Node* n, const TensorType& t) {
  if (same_layout(n->type(), t)) return n;
  ListArg order, back;
  const std::vector<int> slow_to_fast = memory_order(t);
  back.items.resize(slow_to_fast.size());
  for (std::size_t i = 0; i < slow_to_fast.size(); ++i) {
    order.items.push_back(slow_to_fast[i]);
    back.items[static_cast<std::size_t>(slow_to_fast[i])] = static_cast<int>(i);
  }
  Node* dense = append_op(op(id::Compact), {append_op(op(id::Permute), {n, order})});
  return append_op(op(id::Permute), {dense, back});
}

Node* FunctionalWriter::own(Node* n) {
  const NodeKind root = memory_root(n)->kind;
  return root == NodeKind::Op || root == NodeKind::GetItem ? n : append_op(op(id::Clone), {n});
}

TensorType FunctionalWriter::in_own_storage(TensorType t) {
  t.offset = 0;
  t.storage = next_storage_++;
  return t;
}

}  // namespace md
