// Builds traced graphs as the frontend does: arguments bound, types inferred, in-place nodes standing for their
// operand.
#pragma once

#include <memory>

#include "ir/graph/graph.h"

namespace md {

class TracedBuilder {
 public:
  TracedBuilder() : graph(std::make_unique<Graph>()) { graph->name = "test"; }

  Node* input(SizeVec sizes, DType dtype = DType::Float32, SizeVec strides = {}, int storage = -1) {
    TensorType t;
    t.dtype = dtype;
    if (strides.size() != sizes.size()) {
      strides = sizes;
      Size step = 1;
      for (std::size_t i = sizes.size(); i-- > 0; step = step * sizes[i]) strides[i] = step;
    }
    t.sizes = std::move(sizes), t.strides = std::move(strides);
    t.storage = storage < 0 ? storages_++ : storage;
    return graph->append({.kind = NodeKind::Placeholder,
                          .target = "L_" + std::string(1, static_cast<char>('a' + inputs_++)) + "_",
                          .types = {std::move(t)}});
  }

  // A function or method by its public name; "add_" writes in place.
  Node* call(const std::string& name, std::vector<Arg> args, KwArgs kwargs = {}) {
    const bool inplace = name.ends_with('_');
    Node n{.kind = NodeKind::Op, .spelling = Spelling::Method, .target = name};
    BoundCall bound = md::bind(inplace ? name.substr(0, name.size() - 1) : name, args, kwargs);
    n.op = bound.op;
    n.types = inplace ? args[0].get<Node*>()->types : infer(op(bound.op), bound.args);
    n.multi = !inplace && op(bound.op).schema.results != 1;
    n.args = std::move(args), n.kwargs = std::move(kwargs);
    return graph->append(std::move(n));
  }

  Node* item(Node* of, int index) {
    return graph->append({.kind = NodeKind::GetItem,
                          .args = {of},
                          .index = index,
                          .types = {of->types[static_cast<std::size_t>(index)]}});
  }

  Node* getitem(Node* x, Arg index) {
    Node n{.kind = NodeKind::Op, .spelling = Spelling::Operator, .target = "getitem", .args = {x, std::move(index)}};
    BoundCall bound = md::bind("getitem", n.args, {});
    n.op = bound.op;
    n.types = infer(op(bound.op), bound.args);
    return graph->append(std::move(n));
  }

  void setitem(Node* x, Arg index, Arg value) {
    Node n{.kind = NodeKind::Op, .spelling = Spelling::Inplace, .target = "setitem"};
    n.args = {x, std::move(index), std::move(value)};
    n.op = md::bind("getitem", std::span<const Arg>(n.args).first(2), {}).op;
    graph->append(std::move(n));
  }

  void output(std::vector<Arg> results) {
    graph->append({.kind = NodeKind::Output, .args = {ListArg{std::move(results), true}}});
  }

  std::unique_ptr<Graph> graph;

 private:
  int inputs_ = 0, storages_ = 0;
};

}  // namespace md
