// The graph a trace makes: nodes so far, inputs, and which memory its tensors lie in.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/trace/value.h"
#include "ir/graph/graph.h"

namespace md {

struct TensorValue;

// A call of vmap or grad whose function is being traced, by its number in the graph.
struct TracedTransform {
  int number = 0;
  bool is_vmap = false;
  bool asks_gradients = false;
  Size size = 0;  // of vmap
};

struct GraphBuilder {
  std::unique_ptr<Graph> current = std::make_unique<Graph>();
  // While a region (a branch of cond) is traced, `current` is the region's, and the graphs around it wait here,
  // outermost first.
  std::vector<std::unique_ptr<Graph>> outer;
  Graph& root() { return outer.empty() ? *current : *outer.front(); }
  bool on_fakes = false;  // shapes are computed on fake tensors: no inputs are taken up

  std::vector<Ref<TensorValue>> inputs;  // placeholder order
  int calls_captured = 0;
  int constant_count = 0;                     // of tensors the graph holds
  std::unordered_set<const Node*> named;      // after a variable
  std::pair<const void*, int> logged_call{};  // body and instruction of the graph call logged last
  std::vector<TracedTransform> transforms;    // outermost first
  int transforms_begun = 0;
  // --- memory, by number
  bool holds_functions = false;  // forwards of autograd.Function: the graph does not hold their backward
  int next_storage = 0;
  std::set<int> mirrored;  // storages that an array reads backward: a copy here, so nothing may write to them any more
  std::set<int> hooked;    // storages of tensors with a hook from this trace: it is registered when the graph has run
  struct InputMemory {
    Ref<Storage> storage;
    int number;
  };
  std::unordered_map<const Storage*, InputMemory> input_memory;
  std::vector<InputMemory> foreign_memory;  // those of them that others own
};

}  // namespace md
