// Which value each storage of a traced program holds at the point that `functionalize` has reached, and how each tensor
// sees it.
#pragma once

#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/compile/passes/functional_writer.h"

namespace md {

// Values that writes without a record made (grad mode was off, or the tensor was a detached view): gradients reach the
// value before as if nothing had been written.
using SameHistory = std::unordered_map<const Node*, Node*>;

// A tensor of the traced program: where it lives and how it is seen. Handed to inference and to composite ops as the
// address of `node`: the functional value where that has eager's type, else one that belongs to no graph.
struct Handle {
  Node* node;  // carries the type eager execution gives it
  int storage = 0;
  Handle* parent = nullptr;  // null: the storage's base
  const Op* view = nullptr;  // how it is seen from `parent`
  BoundArgs view_args;       // args[0] stands for the parent
  Node* value = nullptr;     // functional value, valid while `version` is the storage's
  int version = -1;
  Node* alias = nullptr;    // for outputs: view nodes on the final base
  bool unrecorded = false;  // a view made while grad mode was off

  const TensorType& type() const { return node->type(); }
};

class StorageValues {
 public:
  // With `same_history` the graph is to be differentiated: its values say whether they require grad.
  explicit StorageValues(FunctionalWriter& out, SameHistory* same_history = nullptr)
      : out_(out), same_history_(same_history) {}

  Handle& handle(const Node* n) const { return *by_node_.at(n); }
  Handle& handle(const Arg& a) const;

  // A base with a storage of its own, whose value is `value`.
  Handle& new_base(const TensorType& type, Node* value) { return new_base(of_type(type), value); }
  Handle& new_base(Node* node, Node* value);
  // Inputs are committed if they are written to; those with one storage number in the traced graph share memory.
  Handle& new_input(Node* placeholder);
  Handle& new_constant(Node* value);
  Handle& new_view(const Op& view, BoundArgs args);

  // What the tensor holds now.
  Node* value(Handle& h);
  // self <- result, in the dtype of `self`. Throws NotFunctional where values cannot say it.
  void write(Handle& self, Handle& result);

  // The node that stands for `h` in the output: shares memory exactly as eager's tensor does.
  Node* alias(Handle& h);
  // Inputs that were written to, by their number, with what they hold in memory of its own.
  std::vector<std::pair<int, Node*>> changed_inputs();

 private:
  struct State {
    Handle* base = nullptr;
    Node* value = nullptr;
    int version = 0;
    Node* placeholder = nullptr;  // an input's
    int input = -1;
    bool shared = false;           // with another input
    bool constant = false;         // a graph attribute
    std::optional<bool> overlaps;  // elements of the base share memory; asked at the first write
  };

  Handle& new_handle(Node* node, int storage);
  Node* of_type(TensorType type);
  State& storage(const Handle& h) { return storages_[static_cast<std::size_t>(h.storage)]; }
  Node* see(const Op& view, BoundArgs args, Node* on, const TensorType& eager);
  Node* see_stacked(const Op& view, const BoundArgs& args, Node* on);
  Node* turned_round(OpId view, Node* on);
  TensorType placement(const Handle& h, const Handle& whole) const;
  Node* base_alias(const Handle& base);
  Node* write_view(const Handle& whole, Node* held, const Handle& h, Node* v);
  Node* write_placed(Node* whole, const TensorType& at, const SizeVec& base_sizes, Node* v);
  void write_value(State& s, Handle& self, Node* v);
  bool is_recorded_write(Handle& self) const;

  FunctionalWriter& out_;
  SameHistory* same_history_;
  std::pmr::monotonic_buffer_resource memory_;  // of handles and tables
  std::pmr::deque<Handle> handles_{&memory_};
  std::pmr::deque<Node> typed_{&memory_};  // nodes of handles that have none in the graph
  std::pmr::unordered_map<const Node*, Handle*> by_node_{&memory_};
  std::vector<State> storages_;
  std::unordered_map<int, int> input_storage_;  // traced storage number -> the first input that has it
  std::unordered_set<const Node*> escaped_;
  int input_count_ = 0;
};

}  // namespace md
