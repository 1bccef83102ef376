// A graph to be thrown away, for calls that are traced only to learn something of them.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "frontend/trace/tracer.h"
#include "frontend/values/containers.h"
#include "frontend/values/tensor.h"

namespace md {

// Takes the place of the trace's graph while it lives.
class ScratchGraph {
 public:
  explicit ScratchGraph(Tracer& t)
      : t_(t),
        graph_(std::move(t.graphs.current)),
        depth_(t.stack.frames.size()),
        calls_(t.graphs.calls_captured),
        grad_(t.grad_enabled),
        logged_(t.log_traces) {
    t.graphs.current = std::make_unique<Graph>();
    t.graphs.current->shapes = t.sizes.env;
    t.graphs.on_fakes = true;
    t.log_traces = false;
  }
  ~ScratchGraph() {
    t_.stack.frames.resize(std::min(t_.stack.frames.size(), depth_));
    t_.graphs.current = std::move(graph_);
    t_.graphs.calls_captured = calls_;
    t_.grad_enabled = grad_;
    t_.log_traces = logged_;
    t_.graphs.on_fakes = false;
  }
  ScratchGraph(const ScratchGraph&) = delete;
  ScratchGraph& operator=(const ScratchGraph&) = delete;

  ValueRef fake(const ValueRef& raw) {
    ValueRef v = t_.realize(raw);
    if (auto* x = as<TensorValue>(v)) {
      Node n{NodeKind::Placeholder};
      n.target = n.name = "fake";
      n.types = {x->type};
      return make_ref<TensorValue>(t_.graphs.current->append(std::move(n)), x->type);
    }
    std::vector<ValueRef> items;
    if (auto* list = as<ListValue>(v)) {
      for (auto& item : list->items) items.push_back(fake(item));
      return make_ref<ListValue>(std::move(items));
    }
    if (auto* tuple = as<TupleValue>(v)) {
      for (auto& item : tuple->items) items.push_back(fake(item));
      return make_ref<TupleValue>(std::move(items), tuple->type);
    }
    return v;
  }

  std::vector<int> written(const std::vector<Ref<TensorValue>>& arguments) const {
    std::vector<int> out;
    const auto writes = [&](int storage) {
      return std::ranges::any_of(t_.graphs.current->nodes, [&](const auto& n) {
        return is_inplace(*n) && n->args[0].template is<Node*>() &&
               n->args[0].template get<Node*>()->type().storage == storage;
      });
    };
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (writes(arguments[k]->type.storage)) out.push_back(static_cast<int>(k));
    return out;
  }

 private:
  Tracer& t_;
  std::unique_ptr<Graph> graph_;
  std::size_t depth_;
  int calls_;
  bool grad_, logged_;
};

}  // namespace md
