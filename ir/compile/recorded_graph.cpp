// A functional graph, node by node, through a caller.
#include "ir/compile/recorded_graph.h"

#include <algorithm>
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/sizes/shape_env.h"

namespace md {

namespace {

class Calls {
 public:
  Calls(const Graph& graph, std::span<const TensorRef> inputs, OpCaller& caller) : graph_(graph), caller_(caller) {
    const std::vector<Node*> placeholders = graph.placeholders();
    std::vector<const SizeVec*> declared;
    std::vector<const DimVec*> actual;
    for (std::size_t i = 0; i < placeholders.size(); ++i) {
      values_[placeholders[i]] = inputs[i];
      declared.push_back(&placeholders[i]->type().sizes);
      actual.push_back(&inputs[i]->sizes);
    }
    if (graph.shapes) bind_symbols(*graph.shapes, declared, actual, symbols_);
  }

  std::vector<TensorRef> run() {
    for (const auto& n : graph_.nodes) {
      if (n->kind == NodeKind::Output) return outputs(*n);
      if (n->kind == NodeKind::GetAttr) values_[n.get()] = n->constant;
      if (n->kind == NodeKind::GetItem)
        values_[n.get()] = value(n->args.at(0)).get<ListArg>().items.at(static_cast<std::size_t>(n->index));
      if (n->kind != NodeKind::Op) continue;
      std::vector<Arg> bound;
      for (const Arg& a : n->args) bound.push_back(value(a));
      values_[n.get()] = caller_.call(op(n->op), std::move(bound));
    }
    throw InternalError("a graph without an output");
  }

 private:
  Arg value(const Arg& a) const {
    if (const auto* n = a.get_if<Node*>()) return values_.at(*n);
    if (const auto* size = a.get_if<Size>())
      return size->is_const() ? *size : Size(graph_.shapes->evaluate(*size, symbols_));
    const auto* l = a.get_if<ListArg>();
    if (!l) return a;
    ListArg out{{}, l->tuple};
    for (const Arg& x : l->items) out.items.push_back(value(x));
    return out;
  }

  std::vector<TensorRef> outputs(const Node& n) const {
    std::vector<TensorRef> out;
    const Arg all = value(n.args.at(0));
    for (const Arg& a : all.get<ListArg>().items) out.push_back(a.get<TensorRef>());
    return out;
  }

  const Graph& graph_;
  OpCaller& caller_;
  std::vector<std::int64_t> symbols_;
  std::unordered_map<const Node*, Arg> values_;
};

bool is_plain(const Node& n) {
  switch (n.kind) {
    case NodeKind::Placeholder:
      return !n.is_size;
    case NodeKind::Op:
      return can_be_a_step(op(n.op), n.args);
    case NodeKind::GetAttr:
      return static_cast<bool>(n.constant);
    case NodeKind::GetItem:
    case NodeKind::Output:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_only_ops(const Graph& functional) {
  return std::ranges::all_of(functional.nodes, [](const auto& n) { return is_plain(*n); });
}

std::vector<TensorRef> call_ops_of(const Graph& functional, std::span<const TensorRef> inputs, OpCaller& caller) {
  return Calls(functional, inputs, caller).run();
}

}  // namespace md
