// A walk over the forward nodes for what depends on inputs that require grad, and one back through them, in which each
// op's derivative appends its nodes.
#include "ir/compile/differentiate.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ir/compile/passes/functionalize.h"
#include "ir/compile/passes/layouts.h"
#include "ir/core/error.h"
#include "ir/gradients/tape.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/expansion.h"
#include "ir/infer/unknown_inputs.h"

namespace md {
namespace {

class ReverseWalk {
 public:
  ReverseWalk(FunctionalForward& forward, const GradientNotes& notes) : f_(forward), notes_(notes) {
    auto composite = notes_.composites.begin();
    for (std::size_t i = 0; i < f_.computed;) {
      if (composite != notes_.composites.end() && composite->first == i) {
        note_composite(*composite);
        i = (composite++)->end;
        continue;
      }
      Node* const n = f_.out.nodes()[i++].get();
      if (n->kind == NodeKind::GetItem) items_[n->args[0].get<Node*>()].push_back(n);
      if (is_active(*n)) active_.insert(n);
    }
  }

  bool is_active(const Node* n) const { return active_.contains(n); }

  // The gradient of `value` is `gradient`, or that more.
  void add(const Node* value, const Arg& gradient) {
    Arg& sum = adjoint_[value];
    sum = sum.is<Node*>() ? f_.caller.call(id::Add, {sum, gradient}) : gradient;
  }

  void run() {
    auto composite = notes_.composites.rbegin();
    for (std::size_t i = f_.computed; i > 0;) {
      if (composite != notes_.composites.rend() && composite->end == i) {
        f_.out.set_origin(*f_.out.nodes()[i - 1]);
        step_back(*composite->op, composite->args, composite->results);
        i = (composite++)->first;
        continue;
      }
      Node* const n = f_.out.nodes()[--i].get();
      if (n->kind != NodeKind::Op) continue;
      f_.out.set_origin(*n);
      if (const auto before = notes_.same_history.find(n); before != notes_.same_history.end()) {
        if (const auto g = adjoint_.find(n); g != adjoint_.end()) add(before->second, g->second);
      } else if (n->multi) {
        step_back(op(n->op), n->args, items_[n]);
      } else {
        step_back(op(n->op), n->args, {n});
      }
    }
  }

  bool is_reached(const Node* input) const { return adjoint_.contains(input); }
  // As a tensor laid out like eager's; null if nothing reached it.
  Node* gradient_of(const Node* input) {
    const auto found = adjoint_.find(input);
    return found == adjoint_.end() ? nullptr : f_.values.alias(f_.values.handle(found->second));
  }

 private:
  bool reads_active(const Arg& a) const {
    bool found = false;
    for_each_value(a, [&](const Node* n) { found |= is_active(n); });
    return found;
  }

  void note_composite(const CompositeCall& c) {
    if (std::ranges::none_of(c.args, [&](const Arg& a) { return reads_active(a); })) return;
    for (std::size_t i = c.first; i < c.end; ++i) inside_.insert(f_.out.nodes()[i].get());
    for (Node* n : c.results) {
      // One that gives its operand back has nothing to differentiate, and no parts.
      if (!inside_.erase(n)) throw NotFunctional("differentiate: a composite returns what it was given");
      if (n->type().requires_grad && is_differentiable(n->type().dtype)) active_.insert(n);
    }
  }

  // Whether gradients flow from `n` to the inputs.
  bool is_active(const Node& n) const {
    if (const auto before = notes_.same_history.find(&n); before != notes_.same_history.end())
      return is_active(before->second);
    if (n.kind == NodeKind::Placeholder) return !n.is_size && n.type().requires_grad;
    if (n.kind == NodeKind::GetAttr && n.type().requires_grad)
      throw NotFunctional("differentiate: a constant of the graph requires grad");
    bool reached = false;
    for_each_input(n, [&](const Node* in) {
      if (inside_.contains(in)) throw NotFunctional("differentiate: a part of a composite is written to");
      reached |= is_active(in);
    });
    if (!reached) return false;
    if (n.kind == NodeKind::Call) throw NotFunctional("differentiate: the derivative of " + n.target + " is not known");
    const bool grows =
        std::ranges::any_of(n.types, [](const TensorType& t) { return t.requires_grad && is_differentiable(t.dtype); });
    if (grows && n.kind == NodeKind::Op && !has_gradient(op(n.op)))
      throw NotFunctional("differentiate: " + op(n.op).public_name + " has no derivative");
    return grows;
  }

  // A tensor of its own that holds `value`: later writes do not reach it.
  Node* operand(Node* value) {
    Node*& made = operands_[value];
    if (!made) made = f_.values.new_base(value->type(), value).node;
    return made;
  }

  void step_back(const Op& op, const std::vector<Arg>& args, const std::vector<Node*>& results) {
    std::vector<Arg> grads, made;
    bool any = false;
    for (const Node* r : results) {
      const auto g = adjoint_.find(r);
      grads.push_back(g == adjoint_.end() ? Arg() : g->second);
      any |= g != adjoint_.end();
    }
    if (!any) return;
    for (Node* r : results) made.emplace_back(operand(r));
    std::vector<Arg> operands = args;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (reads_active(args[i])) wanted |= std::uint64_t{1} << i;
      for_each_node(operands[i], [&](Node*& n) { n = operand(n); });
    }
    const Gradients found = vjp(op, f_.caller, operands, made, grads, wanted);
    for (std::size_t i = 0; i < args.size(); ++i) flow(args[i], found[i]);
  }

  void flow(const Arg& to, const Arg& gradient) {
    if (const auto* n = to.get_if<Node*>()) {
      if (is_active(*n) && gradient.is<Node*>()) add(*n, gradient);
    } else if (const auto* l = to.get_if<ListArg>()) {
      const auto* of = gradient.get_if<ListArg>();
      for (std::size_t i = 0; of && i < l->items.size(); ++i) flow(l->items[i], of->items.at(i));
    }
  }

  FunctionalForward& f_;
  const GradientNotes& notes_;
  std::unordered_set<const Node*> active_;
  std::unordered_set<const Node*> inside_;  // parts of composites that are differentiated as a whole
  std::unordered_map<const Node*, std::vector<Node*>> items_;
  std::unordered_map<const Node*, Node*> operands_;
  std::unordered_map<const Node*, Arg> adjoint_;
};

Node* tangent_for(FunctionalForward& f, const Node& value, std::size_t output) {
  TensorType t = value.type();
  t.strides = contiguous(t.sizes);
  t.requires_grad = t.wrapped_number = false;
  t.history = GradHistory::Leaf;
  Node* const made = f.out.append({.kind = NodeKind::Placeholder,
                                   .target = "tangents_" + std::to_string(output),
                                   .types = {f.out.in_own_storage(std::move(t))}});
  f.values.new_base(made, made);
  return made;
}

// Whether a result depends on the input by way of complex values. Those are opened into their parts, and a part that
// nobody reads is gone from the functional graph; to eager mode it has zeros for a gradient.
bool reaches_by_complex(const Graph& traced, const Node* input) {
  std::unordered_map<const Node*, bool> reached{{input, is_complex(input->type().dtype)}};  // by complex values
  bool result = false;
  for (const auto& n : traced.nodes) {
    const bool flows = n->kind == NodeKind::Output || std::ranges::any_of(n->types, &TensorType::requires_grad);
    if (!flows) continue;
    for_each_input(*n, [&](const Node* operand) {
      const auto found = reached.find(operand);
      if (found == reached.end()) return;
      reached[n.get()] |=
          found->second || std::ranges::any_of(n->types, [](const TensorType& t) { return is_complex(t.dtype); });
    });
    if (n->kind == NodeKind::Output) result = reached.contains(n.get()) && reached.at(n.get());
  }
  return result;
}

void append_backward(const Graph& traced, FunctionalForward& f, const GradientNotes& notes,
                     const std::vector<bool>& differentiated, JointGraph& joint) {
  joint.forward_nodes = f.out.nodes().size();
  const GradMode off(false);
  ReverseWalk walk(f, notes);
  std::vector<Node*> inputs;
  for (std::size_t i = 0; i < joint.forward_nodes; ++i) {
    Node* const n = f.out.nodes()[i].get();
    if (n->kind == NodeKind::Placeholder) inputs.push_back(n);
    if (n->kind == NodeKind::Commit && (inputs.at(static_cast<std::size_t>(n->index))->type().requires_grad ||
                                        walk.is_active(n->args[0].get<Node*>())))
      throw NotFunctional("differentiate: an input that requires grad is written to");
  }
  joint.tangents.resize(f.results.size());
  for (std::size_t k = 0; k < f.results.size(); ++k) {
    if (!differentiated[k]) continue;
    if (!walk.is_active(f.results[k])) throw NotFunctional("differentiate: a result requires grad by no known way");
    f.out.set_origin(*f.results[k]);
    joint.tangents[k] = tangent_for(f, *f.results[k], k);
    walk.add(f.results[k], joint.tangents[k]);
  }
  walk.run();
  std::vector<const Node*> given;
  for (const auto& n : traced.nodes)
    if (n->kind == NodeKind::Placeholder) given.push_back(n.get());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Node* const n = inputs[i];
    const bool wants = n->type().requires_grad && !n->is_size;
    if (wants && !walk.is_reached(n) && i < given.size() && reaches_by_complex(traced, given[i]))
      walk.add(n, f.caller.call(id::Zeros, {sizes_arg(n->type().sizes), n->type().dtype}));
    joint.gradients.push_back(wants ? walk.gradient_of(n) : nullptr);
  }
}

}  // namespace

JointGraph differentiate(const Graph& traced, const std::vector<bool>& differentiated) {
  if (!traced.delegated.empty())
    throw NotFunctional("differentiate: the graph holds functions with a backward of their own");
  if (has_unknown_inputs(traced)) throw NotFunctional("differentiate: sizes of inputs are known only at run time");
  for (const auto& n : traced.nodes)
    if (!n->unbacked.empty()) throw NotFunctional("differentiate: sizes of " + n->name + " depend on values");
  JointGraph joint;
  GradientNotes notes;
  notes.at_end = [&](FunctionalForward& f) {
    try {
      append_backward(traced, f, notes, differentiated, joint);
    } catch (const OpError& e) {  // no such derivative
      throw NotFunctional(std::string("differentiate: ") + e.what());
    }
  };
  joint.graph = functionalize(traced, notes);
  return joint;
}

}  // namespace md
