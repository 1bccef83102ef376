// The walk over the traced graph: each node's op on handles, its parts where it is a composite, calls and regions.
#include "ir/compile/passes/functionalize.h"

#include <algorithm>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/compile/passes/layouts.h"
#include "ir/core/error.h"
#include "ir/graph/callee.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/mutation.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/composite.h"
#include "ir/infer/indexing.h"
#include "ir/infer/inplace.h"
#include "ir/infer/unbacked.h"

namespace md {
namespace {

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
  Node* alias = nullptr;  // for outputs: view nodes on the final base

  const TensorType& type() const { return node->type(); }
};

struct StorageState {
  Handle* base = nullptr;
  Node* value = nullptr;
  int version = 0;
  Node* placeholder = nullptr;  // an input's
  int input = -1;
  bool shared = false;           // with another input
  bool constant = false;         // a graph attribute
  std::optional<bool> overlaps;  // elements of the base share memory; asked at the first write
};

class Functionalizer final : public OpCaller {
 public:
  explicit Functionalizer(const Graph& traced) : traced_(traced), out_(std::make_unique<Graph>()) {
    out_->shapes = traced.shapes;
    out_->name = traced.name;
    out_->functional = true;
  }

  std::unique_ptr<Graph> run() {
    for (std::size_t k = 0; k < traced_.nodes.size(); ++k) {
      fetch_ahead(traced_.nodes, k);
      current_ = traced_.nodes[k].get();
      step(*current_);
    }
    if (!out_->output()) throw InternalError("functionalize: the graph has no output");
    return std::move(out_);
  }

  using OpCaller::call;
  // One bound op call on handles; composite ops come back here for each of their parts.
  Arg call(const Op& op, BoundArgs args) override {
    switch (op.kind()) {
      case OpKind::Composite:
        return expand(op, *this, args);
      case OpKind::View:
        return MD_MUTATED("alias", op.name()) ? compute(op, std::move(args)) : view(op, std::move(args));
      default:
        return compute(op, std::move(args));
    }
  }

 private:
  void step(const Node& n) {
    expect_on_cpu(n);
    switch (n.kind) {
      case NodeKind::Placeholder:
        return add_input(n);
      case NodeKind::GetAttr:
        return add_constant(n);
      case NodeKind::GetItem:
        meaning_[&n] = argument(n.args.at(0)).get<ListArg>().items.at(static_cast<std::size_t>(n.index));
        return;
      case NodeKind::State:
        return;
      case NodeKind::Output:
        return finish(n);
      case NodeKind::Commit:
        throw InternalError("functionalize: the graph is functional already");
      case NodeKind::Op:
        meaning_[&n] = run_op(n);
        return;
      case NodeKind::Call:
        meaning_[&n] = n.callee ? call_out(n) : call_region(n);
    }
  }

  // --- Arguments ------------------------------------------------------------------------------------------------

  // With the traced nodes replaced by handles (or lists of them).
  Arg argument(const Arg& a) const {
    if (const auto* n = a.get_if<Node*>()) return meaning_.at(*n);
    if (const auto* l = a.get_if<ListArg>()) {
      ListArg out{{}, l->tuple};
      for (const Arg& x : l->items) out.items.push_back(argument(x));
      return out;
    }
    if (const auto* s = a.get_if<SliceArg>()) {
      return make_slice(argument(s->parts->at(0)), argument(s->parts->at(1)), argument(s->parts->at(2)));
    }
    return a;
  }

  Handle& handle(const Arg& a) const {
    const auto* n = a.get_if<Node*>();
    if (!n) throw InternalError("functionalize: " + current_->name + " needs a tensor");
    return *by_node_.at(*n);
  }

  Handle& new_handle(Node* node, int storage) {
    Handle& h = handles_.emplace_back(Handle{.node = node, .storage = storage});
    by_node_[node] = &h;
    return h;
  }
  Node* of_type(TensorType type) {
    return &typed_.emplace_back(Node{.kind = NodeKind::Op, .types = {std::move(type)}});
  }

  // A base with a storage of its own, whose value is `value`.
  Handle& new_base(const TensorType& type, Node* value) { return new_base(of_type(type), value); }
  Handle& new_base(Node* node, Node* value) {
    Handle& h = new_handle(node, static_cast<int>(storages_.size()));
    storages_.push_back({.base = &h, .value = value});
    h.value = value, h.version = 0;
    return h;
  }

  // --- Inputs ---------------------------------------------------------------------------------------------------

  Node* append(Node n) {
    n.stack = current_->stack;
    return out_->append(std::move(n));
  }

  // Passes and kernels know the memory of the CPU; anything else is run op by op as traced.
  static void expect_on_cpu(const Node& n) {
    for (const TensorType& t : n.types) {
      if (!t.device.is_cpu()) throw NotFunctional("functionalize: " + n.name + " is on device " + to_string(t.device));
    }
  }

  void add_input(const Node& n) {
    Node* p = append(
        {.kind = NodeKind::Placeholder, .target = n.target, .name = n.name, .types = n.types, .is_size = n.is_size});
    if (n.types.empty()) throw NotFunctional("functionalize: input " + n.name + " is no tensor");
    Handle& h = new_base(n.type(), p);
    StorageState& s = storages_.back();
    s.placeholder = p;
    s.input = input_count_++;
    next_storage_ = std::max(next_storage_, n.type().storage + 1);
    if (n.type().storage >= 0) {
      const auto [first, fresh] = input_storage_.emplace(n.type().storage, h.storage);
      if (!fresh) s.shared = storages_[static_cast<std::size_t>(first->second)].shared = true;
    }
    meaning_[&n] = h.node;
  }

  void add_constant(const Node& n) {
    Node* c = append({.kind = NodeKind::GetAttr, .target = n.target, .name = n.name, .types = n.types});
    c->constant = n.constant;
    meaning_[&n] = new_base(n.type(), c).node;
    storages_.back().constant = true;
  }

  // --- Ops ------------------------------------------------------------------------------------------------------

  Arg run_op(const Node& n) {
    ReplayedSymbols symbols(n.unbacked);
    const SupplyScope scope(symbols);
    symbols_ = &symbols;
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(argument(a));
    if (is_setitem(n)) return assign(args);
    KwArgs kwargs;
    for (const auto& [key, a] : n.kwargs) kwargs.emplace_back(key, argument(a));
    BoundArgs bound;
    if (n.op == kNoOp || !try_bind(op(n.op), args, kwargs, bound)) {
      throw InternalError("functionalize: the arguments of " + n.name + " do not fit its op");
    }
    if (!is_inplace(n)) return call(op(n.op), std::move(bound));
    if (!op(n.op).decl->inplace) throw NotFunctional("functionalize: " + n.name + " changes more than values");
    Handle& self = handle(bound.at(0));
    write(self, handle(call(op(n.op), std::move(bound))));
    return self.node;
  }

  // x[index] = value
  Arg assign(const std::vector<Arg>& args) {
    Assignment a = open_assignment(*this, args.at(0), args.at(1), args.at(2));
    Handle& view = handle(a.args.at(0));
    const auto stored = [&](const Handle& h) { return h.storage == view.storage && same_type(h.type(), view.type()); };
    if (a.op == id::Copy && stored(handle(a.args.at(1)))) return args.at(0);  // x[1:] += y assigns x[1:] to itself
    write(view, handle(call(op(a.op), std::move(a.args))));
    return args.at(0);
  }

  Arg view(const Op& op, BoundArgs args) {
    Handle& parent = handle(args.at(0));
    Handle& h = new_handle(of_type(infer(op, args).at(0)), parent.storage);
    h.parent = &parent, h.view = &op;
    h.view_args = std::move(args);
    return h.node;
  }

  Arg compute(const Op& op, BoundArgs args) {
    const std::size_t used = symbols_->used();
    std::vector<TensorType> eager = infer(op, args);
    if (symbols_->used() > used) args.at(static_cast<std::size_t>(op.schema.find("count"))) = symbols_->at(used);
    bool as_eager = symbols_->used() == used;
    for (Arg& a : args) {
      for_each_node(a, [&](Node*& n) {
        Handle& h = *by_node_.at(n);
        n = value(h);
        as_eager = as_eager && same_operand(n->type(), h.type());
      });
    }
    if (eager.empty()) throw NotFunctional("functionalize: op " + std::string(op.name()) + " gives no tensor");
    Node* n = as_eager ? append_op(op, std::move(args), std::move(eager)) : append_op(op, std::move(args));
    const std::vector<TensorType>& types = as_eager ? n->types : eager;
    if (op.schema.results == 1) return (as_eager ? new_base(n, n) : new_base(types.at(0), n)).node;
    ListArg results;
    for (std::size_t i = 0; i < types.size(); ++i) {
      Node* item = append({.kind = NodeKind::GetItem, .args = {n}, .index = static_cast<int>(i)});
      item->types = {n->types[i]};
      results.items.push_back(new_base(types[i], item).node);
    }
    return results;
  }

  // Inference makes the same of both.
  static bool same_operand(const TensorType& a, const TensorType& b) {
    return same_type(a, b) && a.requires_grad == b.requires_grad && a.wrapped_number == b.wrapped_number;
  }

  // A functional node on functional values.
  Node* append_op(const Op& op, BoundArgs args) {
    std::vector<TensorType> types = infer(op, args);
    return append_op(op, std::move(args), std::move(types));
  }
  Node* append_op(const Op& op, BoundArgs args, std::vector<TensorType> types) {
    Node n{.kind = NodeKind::Op, .op = op.id, .target = op.public_name};
    n.types = std::move(types);
    n.multi = op.schema.results != 1;
    for (TensorType& t : n.types) {
      if (op.kind() != OpKind::View) t.storage = next_storage_++;
    }
    n.args = std::move(args);
    return append(std::move(n));
  }

  // --- Calls of what is no op -----------------------------------------------------------------------------------

  // A tensor as eager mode would hand it over, strides included.
  Arg operand(Arg a) {
    for_each_node(a, [&](Node*& n) {
      Handle& h = *by_node_.at(n);
      n = laid_out(value(h), h.type());
    });
    return a;
  }

  TensorType own_type(TensorType t) {
    t.offset = 0;
    t.storage = next_storage_++;
    return t;
  }

  // Items of a call, the first as eager's `types` say.
  std::vector<Node*> items(Node* call) {
    std::vector<Node*> found;
    for (std::size_t i = 0; i < call->types.size(); ++i) {
      found.push_back(append({.kind = NodeKind::GetItem, .args = {call}, .index = static_cast<int>(i)}));
      found.back()->types = {call->types[i]};
    }
    return found;
  }

  Arg results(const Node& n, const std::vector<Node*>& values) {
    ListArg out{{}, true};
    for (std::size_t i = 0; i < n.types.size(); ++i) {
      TensorType type = n.types[i];
      type.offset = 0;
      out.items.push_back(new_base(type, values[i]).node);
    }
    if (n.multi || out.items.empty()) return out;
    return out.items[0];
  }

  Arg call_out(const Node& n) {
    if (n.callee->aliases)
      throw NotFunctional("functionalize: a result of " + n.target + " may be one of its arguments");
    Node made{.kind = NodeKind::Call, .spelling = n.spelling, .target = n.target, .name = n.name, .multi = true};
    for (const Arg& a : n.args) made.args.push_back(argument(a));
    for (const auto& [key, a] : n.kwargs) made.args.push_back(argument(a));
    std::vector<Handle*> operands;
    for (Arg& a : made.args) for_each_node(a, [&](Node*& x) { operands.push_back(by_node_.at(x)); });
    for (const TensorType& t : n.types) made.types.push_back(own_type(t));
    for (const int w : n.callee->writes) {
      Handle* written = operands.at(static_cast<std::size_t>(w));
      if (std::ranges::count(operands, written->storage, &Handle::storage) > 1) {
        throw NotFunctional("functionalize: " + n.target + " writes to a tensor that shares memory with another");
      }
      made.types.push_back(own_type(written->type()));
    }
    made.callee = n.callee;
    for (Arg& a : made.args) a = operand(std::move(a));
    const std::vector<Node*> values = items(append(std::move(made)));
    for (std::size_t k = 0; k < n.callee->writes.size(); ++k) {
      Handle& to = *operands[static_cast<std::size_t>(n.callee->writes[k])];
      write(to, new_base(to.type(), values[n.types.size() + k]));
    }
    return results(n, values);
  }

  Arg call_region(const Node& n) {
    Node made{.kind = NodeKind::Call, .spelling = n.spelling, .target = n.target, .name = n.name, .multi = true};
    for (const Arg& a : n.args) made.args.push_back(operand(argument(a)));
    for (const TensorType& t : n.types) made.types.push_back(own_type(t));
    for (const auto& region : n.regions) made.regions.push_back(functionalize(*region));
    return results(n, items(append(std::move(made))));
  }

  // --- Reading and writing --------------------------------------------------------------------------------------

  StorageState& storage(const Handle& h) { return storages_[static_cast<std::size_t>(h.storage)]; }

  // What the tensor holds now.
  Node* value(Handle& h) {
    const StorageState& s = storage(h);
    if (h.version == s.version) return h.value;
    h.value = h.parent ? see(*h.view, h.view_args, value(*h.parent), h.parent->type()) : s.value;
    h.version = s.version;
    return h.value;
  }

  // A view node; on a compact copy where the layout of `on` differs from eager's and does not allow the view.
  Node* see(const Op& view, BoundArgs args, Node* on, const TensorType& eager) {
    if (view.id == id::AsStrided && !(same_layout(on->type(), eager) && on->type().offset == eager.offset)) {
      throw NotFunctional("functionalize: as_strided of a tensor laid out unlike eager mode's");
    }
    args[0] = on;
    try {
      return append_op(view, args);
    } catch (const OpError&) {
      args[0] = append_op(op(id::Compact), {on});
      return append_op(view, std::move(args));
    }
  }

  Node* compact(Node* n) { return is_row_major(n->type()) ? n : append_op(op(id::Compact), {n}); }

  // self <- result, in the dtype of `self`.
  void write(Handle& self, Handle& result) {
    StorageState& s = storage(self);
    if (s.constant) throw NotFunctional("functionalize: a constant of the graph is written to");
    if (s.shared) throw NotFunctional("functionalize: an input that shares storage with another one is written to");
    // A write through any view changes elements of the base, which a value of distinct elements cannot say.
    if (!s.overlaps) s.overlaps = overlaps_itself(s.base->type());
    if (*s.overlaps || overlaps_itself(self.type())) {
      throw NotFunctional("functionalize: a tensor whose elements overlap is written to");
    }
    if (!(result.type().sizes == self.type().sizes)) {
      throw NotFunctional("functionalize: the result of " + current_->name + " does not fit its operand");
    }
    Node* v = value(result);
    const DType dtype = self.type().dtype;
    if (v->type().dtype != dtype) {
      if (info(v->type().dtype).category > info(dtype).category) {
        throw NotFunctional("functionalize: the result of " + current_->name + " cannot be cast to its operand");
      }
      v = append_op(op(id::Convert), {v, dtype});
    }
    s.value = self.parent ? write_view(s, self, v) : compact(v);
    ++s.version;
    self.value = v, self.version = s.version;
    s.base->value = s.value, s.base->version = s.version;
  }

  // Where `h` lies in a contiguous tensor with the sizes of its base.
  TensorType placement(const Handle& h) const {
    if (!h.parent) {
      TensorType t = h.type();
      t.strides = contiguous(t.sizes);
      t.offset = 0;
      return t;
    }
    Node on{.kind = NodeKind::Op, .types = {placement(*h.parent)}};
    BoundArgs args = h.view_args;
    args[0] = &on;
    try {
      return infer(*h.view, args).at(0);
    } catch (const OpError& e) {
      throw NotFunctional(std::string("functionalize: a view of a permuted tensor is written to: ") + e.what());
    }
  }

  // The base's value with the elements that `h` shows replaced by `v`.
  Node* write_view(const StorageState& s, const Handle& h, Node* v) {
    const TensorType at = placement(h);
    const SizeVec& base_sizes = s.base->type().sizes;
    if (element_count(at.sizes) == element_count(base_sizes) && is_dense(at)) {  // every element: the old value is dead
      ListArg order;
      bool moved = false;
      for (int d : memory_order(at)) {
        moved |= d != static_cast<int>(order.items.size());
        order.items.push_back(d);
      }
      Node* linear = compact(moved ? append_op(op(id::Permute), {v, order}) : v);
      return linear->type().sizes == base_sizes ? linear : append_op(op(id::View), {linear, int_list(base_sizes)});
    }
    return append_op(op(id::WriteView), {s.value, v, int_list(at.strides), at.offset});
  }

  // --- The end --------------------------------------------------------------------------------------------------

  void finish(const Node& output) {
    ListArg results{{}, true};
    for (const Arg& a : output.args.at(0).get<ListArg>().items) results.items.push_back(alias(handle(argument(a))));
    std::vector<std::pair<int, Node*>> changed;
    for (StorageState& s : storages_) {
      if (s.placeholder && s.version > 0) changed.emplace_back(s.input, own(s.value));
    }
    for (const auto& [input, v] : changed) append({.kind = NodeKind::Commit, .args = {v}, .index = input});
    append({.kind = NodeKind::Output, .name = "output", .args = {results}});
  }

  // `n`, or a copy if it is (a view of) an input: commits must not read what others have written.
  Node* own(Node* n) {
    const NodeKind root = memory_root(n)->kind;
    return root == NodeKind::Op || root == NodeKind::GetItem ? n : append_op(op(id::Clone), {n});
  }

  // The node that stands for `h` in the output: shares memory exactly as eager's tensor does.
  Node* alias(Handle& h) {
    if (h.alias) return h.alias;
    if (h.parent) {
      BoundArgs args = h.view_args;
      args[0] = alias(*h.parent);
      return h.alias = append_op(*h.view, std::move(args));
    }
    StorageState& s = storage(h);
    if (s.placeholder) return h.alias = s.placeholder;
    Node* n = laid_out(s.value, h.type());
    const bool taken = !escaped_.insert(n).second;  // two tensors with one value: each its own memory
    return h.alias = taken ? append_op(op(id::Clone), {n}) : n;
  }

  // `n` with the strides of `t`.
  Node* laid_out(Node* n, const TensorType& t) {
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

  const Graph& traced_;
  std::unique_ptr<Graph> out_;
  const Node* current_ = nullptr;
  std::pmr::monotonic_buffer_resource memory_;  // of handles and tables
  std::pmr::deque<Handle> handles_{&memory_};
  std::pmr::deque<Node> typed_{&memory_};  // nodes of handles that have none in the graph
  std::pmr::unordered_map<const Node*, Handle*> by_node_{&memory_};
  std::pmr::unordered_map<const Node*, Arg> meaning_{&memory_};  // traced node -> handle, or list of handles
  std::vector<StorageState> storages_;
  std::unordered_map<int, int> input_storage_;  // traced storage number -> the first input that has it
  std::unordered_set<const Node*> escaped_;
  ReplayedSymbols* symbols_ = nullptr;  // of the node at hand
  int input_count_ = 0;
  int next_storage_ = 0;
};

}  // namespace

std::unique_ptr<Graph> functionalize(const Graph& traced) {
  try {
    return Functionalizer(traced).run();
  } catch (const OpError& e) {
    throw InternalError(std::string("functionalize: ") + e.what());
  } catch (const DataDependent& e) {
    throw NotFunctional(std::string("functionalize: ") + e.what());
  }
}

}  // namespace md
