// Expands composites over types only: each inner call becomes a node that carries its inferred types.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/infer/composite.h"

namespace md {

class TypeCaller final : public OpCaller {
 public:
  using OpCaller::call;
  Arg call(const Op& inner, std::vector<Arg> bound) override {
    std::vector<Node*> same;
    std::vector<TensorType> types = infer(inner, bound, same);
    const auto result = [&](std::size_t i) { return same[i] ? Arg(same[i]) : add(std::move(types[i])); };
    if (inner.schema.results == 1) return result(0);
    ListArg list;
    for (std::size_t i = 0; i < types.size(); ++i) list.items.push_back(result(i));
    return list;
  }

 private:
  Arg add(TensorType t) {
    auto n = std::make_unique<Node>();
    n->kind = NodeKind::Op;
    n->types.push_back(std::move(t));
    nodes_.push_back(std::move(n));
    return nodes_.back().get();
  }
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace md
