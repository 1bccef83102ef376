// The walk over the traced graph: each node's op on handles, its parts where it is a composite, calls and regions.
#include "ir/compile/passes/functionalize.h"

#include <algorithm>
#include <memory_resource>
#include <unordered_map>

#include "ir/compile/passes/stacks.h"
#include "ir/compile/passes/storage_values.h"
#include "ir/core/error.h"
#include "ir/core/thread_modes.h"
#include "ir/gradients/tape.h"
#include "ir/graph/callee.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/handled_input.h"
#include "ir/graph/kept_dtype.h"
#include "ir/graph/mutation.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/composite.h"
#include "ir/infer/indexing.h"
#include "ir/infer/unbacked.h"
#include "ir/reference/product_order.h"

namespace md {
namespace {

bool is_inference_switch(const Node& n) { return n.kind == NodeKind::State && n.target == "_C._switch_inference"; }

// What is made in inference mode nothing writes to outside of it: a graph that does is run op by op, which raises.
class InferenceWrites {
 public:
  explicit InferenceWrites(const Graph& traced)
      : switched_(std::ranges::any_of(traced.nodes, [](const auto& n) { return is_inference_switch(*n); })) {}

  void look_at(const Node& n) {
    if (!switched_) return;
    if (is_inference_switch(n)) on_ = n.args.at(0).get<bool>();
    const bool given = n.kind == NodeKind::Placeholder || n.kind == NodeKind::GetAttr;
    for (const TensorType& t : n.types) made_.try_emplace(t.storage, !given && on_);
    if (on_ || !(is_inplace(n) || is_setitem(n))) return;
    if (made_[type_of(n.args.at(0)).storage])
      throw NotFunctional("functionalize: " + n.name + " writes to an inference tensor");
  }

 private:
  const bool switched_;
  bool on_ = thread_modes.inference;
  std::unordered_map<int, bool> made_;  // by storage
};

class Functionalizer final : public OpCaller {
 public:
  explicit Functionalizer(const Graph& traced, GradientNotes* notes = nullptr)
      : traced_(traced), out_(traced), values_(out_, notes ? &notes->same_history : nullptr), notes_(notes) {}

  std::unique_ptr<Graph> run() {
    for (std::size_t k = 0; k < traced_.nodes.size(); ++k) {
      fetch_ahead(traced_.nodes, k);
      const Node& n = *traced_.nodes[k];
      out_.set_origin(n);
      inference_.look_at(n);
      step(n);
    }
    return out_.finish();
  }

  using OpCaller::call;
  // One bound op call on handles; composite ops come back here for each of their parts.
  Arg call(const Op& op, BoundArgs args) override {
    switch (op.kind()) {
      case OpKind::Composite:
        return notes_ && op.decl->own_gradient && !in_composite_ && grad_enabled() && !involves_complex(args)
                   ? noted_composite(op, args)
                   : expand(op, *this, args);
      case OpKind::View:
        return MD_MUTATED("alias", op.name()) ? compute(op, std::move(args))
                                              : values_.new_view(op, std::move(args)).node;
      default:
        return opens_complex(op, args) ? expand(op, *this, args) : compute(op, std::move(args));
    }
  }

 private:
  bool any_on_gpu() const {
    return std::ranges::any_of(traced_.nodes, [](const auto& n) {
      return std::ranges::any_of(n->types, [](const TensorType& t) { return t.device.type == DeviceType::Cuda; });
    });
  }

  void step(const Node& n) {
    expect_compilable(n);
    switch (n.kind) {
      case NodeKind::Placeholder:
        return add_input(n);
      case NodeKind::GetAttr:
        return add_constant(n);
      case NodeKind::GetItem:
        meaning_[&n] = argument(n.args.at(0)).get<ListArg>().items.at(static_cast<std::size_t>(n.index));
        return;
      case NodeKind::State:
        if (n.target == kSetProductFreedom && any_on_gpu())
          throw NotFunctional("what products may do changes within it");
        if (n.target == kSetDefaultDType) throw NotFunctional("the default dtype changes within it");
        if (notes_ && n.target == "_C._set_grad_enabled") set_grad_enabled(n.args.at(0).get<bool>());
        // What is made there may not be kept for gradients: whether it is shows when the calls are recorded.
        if (notes_ && is_inference_switch(n)) throw NotFunctional("functionalize: inference mode");
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

  // --- Inputs ---------------------------------------------------------------------------------------------------

  // Passes and kernels know the memory of the CPU and of GPUs, and the dtypes one computes in, complex ones by their
  // parts; anything else is run op by op as traced.
  void expect_compilable(const Node& n) {
    for (const TensorType& t : n.types) {
      if (!t.device.is_cpu() && t.device.type != DeviceType::Cuda)
        throw NotFunctional("functionalize: " + n.name + " is on device " + to_string(t.device));
      if (is_storage_only(t.dtype))
        throw NotFunctional("functionalize: " + n.name + " has elements of " + std::string(info(t.dtype).name));
    }
  }

  void add_input(const Node& n) {
    if (is_handled_input(n)) throw NotFunctional("functionalize: only a handler knows input " + n.name);
    if (n.types.empty()) throw NotFunctional("functionalize: input " + n.name + " is no tensor");
    Node* p = out_.append(
        {.kind = NodeKind::Placeholder, .target = n.target, .name = n.name, .types = n.types, .is_size = n.is_size});
    meaning_[&n] = values_.new_input(p).node;
  }

  void add_constant(const Node& n) {
    Node* c = out_.append({.kind = NodeKind::GetAttr, .target = n.target, .name = n.name, .types = n.types});
    c->constant = n.constant;
    meaning_[&n] = values_.new_constant(c).node;
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
    Handle& self = values_.handle(bound.at(0));
    values_.write(self, values_.handle(call(op(n.op), std::move(bound))));
    return self.node;
  }

  Arg noted_composite(const Op& op, const BoundArgs& args) {
    CompositeCall note{&op, args, {}, 0, 0};
    for (Arg& a : note.args) for_each_node(a, [&](Node*& n) { n = values_.value(values_.handle(n)); });
    note.first = out_.nodes().size();
    in_composite_ = true;
    Arg result = expand(op, *this, args);
    in_composite_ = false;
    for_each_value(result, [&](Node* n) { note.results.push_back(values_.value(values_.handle(n))); });
    note.end = out_.nodes().size();
    if (note.end > note.first) notes_->composites.push_back(std::move(note));
    return result;
  }

  // x[index] = value
  Arg assign(const std::vector<Arg>& args) {
    Assignment a = open_assignment(*this, args.at(0), args.at(1), args.at(2));
    Handle& view = values_.handle(a.args.at(0));
    const auto stored = [&](const Handle& h) { return h.storage == view.storage && same_type(h.type(), view.type()); };
    if (a.op == id::Copy && stored(values_.handle(a.args.at(1))))
      return args.at(0);  // x[1:] += y assigns x[1:] to itself
    values_.write(view, values_.handle(call(op(a.op), std::move(a.args))));
    return args.at(0);
  }

  Arg compute(const Op& op, BoundArgs args) {
    const std::size_t used = symbols_->used();
    std::vector<TensorType> eager = infer(op, args);
    if (symbols_->used() > used) args.at(static_cast<std::size_t>(op.schema.find("count"))) = symbols_->at(used);
    bool as_eager = symbols_->used() == used;
    for (Arg& a : args) {
      for_each_node(a, [&](Node*& n) {
        Handle& h = values_.handle(n);
        n = values_.value(h);
        as_eager = as_eager && same_operand(n->type(), h.type());
      });
    }
    if (eager.empty()) throw NotFunctional("functionalize: op " + std::string(op.name()) + " gives no tensor");
    if (op.id == id::Add) {
      if (Node* const sum = sum_of_halves(args)) return values_.new_base(eager.at(0), sum).node;
    }
    Node* n = as_eager ? out_.append_op(op, std::move(args), std::move(eager)) : out_.append_op(op, std::move(args));
    const std::vector<TensorType>& types = as_eager ? n->types : eager;
    if (op.schema.results == 1) return (as_eager ? values_.new_base(n, n) : values_.new_base(types.at(0), n)).node;
    ListArg results;
    const std::vector<Node*> items = out_.append_items(n);
    for (std::size_t i = 0; i < types.size(); ++i) results.items.push_back(values_.new_base(types[i], items[i]).node);
    return results;
  }

  // Derivatives of the two parts of complex values come as pairs, the other half of which is zeros. Adding those is
  // stacking the parts; the sum with a zero stays, for it has no negative sign.
  Node* sum_of_halves(const BoundArgs& args) {
    const auto *a = args[0].get_if<Node*>(), *b = args[1].get_if<Node*>();
    if (!a || !b) return nullptr;
    const auto [first, second] = added_halves(**a, **b);
    if (!first) return nullptr;
    ListArg raised;
    for (Node* half : {first, second}) {
      Node* const sum = out_.append_op(md::op(id::Add), {half, 0.0});
      raised.items.emplace_back(out_.append_op(md::op(id::Unsqueeze), {sum, -1}));
    }
    return out_.append_op(md::op(id::Cat), {raised, -1});
  }

  // Inference makes the same of both.
  static bool same_operand(const TensorType& a, const TensorType& b) {
    return same_type(a, b) && a.requires_grad == b.requires_grad && a.wrapped_number == b.wrapped_number;
  }

  // --- Calls of what is no op -----------------------------------------------------------------------------------

  // A tensor as eager mode would hand it over, strides included.
  Arg operand(Arg a) {
    for_each_node(a, [&](Node*& n) {
      Handle& h = values_.handle(n);
      n = out_.laid_out(values_.value(h), h.type());
    });
    return a;
  }

  Arg results(const Node& n, const std::vector<Node*>& values) {
    ListArg out{{}, true};
    for (std::size_t i = 0; i < n.types.size(); ++i) {
      TensorType type = n.types[i];
      type.offset = 0;
      out.items.push_back(values_.new_base(type, values[i]).node);
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
    for (Arg& a : made.args) for_each_node(a, [&](Node*& x) { operands.push_back(&values_.handle(x)); });
    for (const TensorType& t : n.types) made.types.push_back(out_.in_own_storage(t));
    for (const int w : n.callee->writes) {
      Handle* written = operands.at(static_cast<std::size_t>(w));
      if (std::ranges::count(operands, written->storage, &Handle::storage) > 1) {
        throw NotFunctional("functionalize: " + n.target + " writes to a tensor that shares memory with another");
      }
      made.types.push_back(out_.in_own_storage(written->type()));
    }
    made.callee = n.callee;
    for (Arg& a : made.args) a = operand(std::move(a));
    const std::vector<Node*> values = out_.append_items(out_.append(std::move(made)));
    for (std::size_t k = 0; k < n.callee->writes.size(); ++k) {
      Handle& to = *operands[static_cast<std::size_t>(n.callee->writes[k])];
      values_.write(to, values_.new_base(to.type(), values[n.types.size() + k]));
    }
    return results(n, values);
  }

  Arg call_region(const Node& n) {
    Node made{.kind = NodeKind::Call, .spelling = n.spelling, .target = n.target, .name = n.name, .multi = true};
    for (const Arg& a : n.args) made.args.push_back(operand(argument(a)));
    for (const TensorType& t : n.types) made.types.push_back(out_.in_own_storage(t));
    made.unbacked = n.unbacked;
    for (const auto& region : n.regions) made.regions.push_back(functionalize(*region));
    return results(n, out_.append_items(out_.append(std::move(made))));
  }

  // --- The end --------------------------------------------------------------------------------------------------

  void finish(const Node& output) {
    ListArg results{{}, true};
    std::vector<Node*> held;
    if (notes_)
      for (const Arg& a : output.args.at(0).get<ListArg>().items)
        held.push_back(values_.value(values_.handle(argument(a))));
    const std::size_t computed = out_.nodes().size();
    for (const Arg& a : output.args.at(0).get<ListArg>().items)
      results.items.push_back(values_.alias(values_.handle(argument(a))));
    for (const auto& [input, v] : values_.changed_inputs())
      out_.append({.kind = NodeKind::Commit, .args = {v}, .index = input});
    if (notes_) differentiate(std::move(held), computed);
    out_.append({.kind = NodeKind::Output, .name = "output", .args = {results}});
  }

  void differentiate(std::vector<Node*> held, std::size_t computed) {
    const std::vector<Size> none;
    ReplayedSymbols symbols(none);
    const SupplyScope scope(symbols);
    symbols_ = &symbols;
    FunctionalForward forward{*this, out_, values_, std::move(held), computed};
    notes_->at_end(forward);
  }

  const Graph& traced_;
  InferenceWrites inference_{traced_};
  FunctionalWriter out_;
  StorageValues values_;
  GradientNotes* notes_;
  bool in_composite_ = false;
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::unordered_map<const Node*, Arg> meaning_{&memory_};  // traced node -> handle, or list of handles
  ReplayedSymbols* symbols_ = nullptr;                           // of the node at hand
};

}  // namespace

namespace {
std::unique_ptr<Graph> run(Functionalizer&& functionalizer) {
  try {
    return functionalizer.run();
  } catch (const OpError& e) {
    throw InternalError(std::string("functionalize: ") + e.what());
  } catch (const DataDependent& e) {
    throw NotFunctional(std::string("functionalize: ") + e.what());
  }
}
}  // namespace

std::unique_ptr<Graph> functionalize(const Graph& traced) { return run(Functionalizer(traced)); }

std::unique_ptr<Graph> functionalize(const Graph& traced, GradientNotes& notes) {
  const GradMode on(true);  // as when the trace began
  return run(Functionalizer(traced, &notes));
}

}  // namespace md
