// Calls of ops: what is kept of them, and their derivatives.
#include "ir/gradients/call_node.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/node_names.h"
#include "ir/gradients/shown_gradients.h"
#include "ir/tensor/handled.h"

namespace md {

namespace {

TensorRef tensor_or_null(const Arg& a) {
  const auto* t = a.get_if<TensorRef>();
  return t ? *t : TensorRef();
}

// The gradients of one parameter, for each of its tensors.
void add_gradients(const Arg& operand, const Arg& gradient, std::vector<TensorRef>& out) {
  if (operand.is<TensorRef>()) {
    out.push_back(tensor_or_null(gradient));
  } else if (const auto* l = operand.get_if<ListArg>()) {
    const auto* of = gradient.get_if<ListArg>();
    for (std::size_t i = 0; i < l->items.size(); ++i)
      if (l->items[i].is<TensorRef>()) out.push_back(of ? tensor_or_null(of->items.at(i)) : TensorRef());
  }
}

// Whether an operand that is no float says which elements are meant: a number that is computed with is an operand.
bool selects(const Op& op, std::size_t place) {
  return op.kind() != OpKind::Pointwise || (op.decl->promote == Promote::Select && place == 0);
}

// In torch these have no overload for numbers.
bool takes_number(const Op& op, std::span<const Arg> args) {
  if (op.id != id::Add && op.id != id::Sub && op.id != id::Mul && op.id != id::Div) return false;
  return args[0].is<TensorRef>() != args[1].is<TensorRef>();
}

// Calls of a rule. Who reads what was not kept would read nothing.
class KeptOnly final : public OpCaller {
 public:
  explicit KeptOnly(OpCaller& inner) : inner_(inner) {}
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override {
    if (op.kind() != OpKind::Create && op.kind() != OpKind::Random) {
      for_each_tensor(bound, [&](const TensorRef& t) {
        if (t && is_type_only(*t)) throw InternalError("a derivative reads what was not kept, by " + op.public_name);
      });
    }
    return inner_.call(op, std::move(bound));
  }

 private:
  OpCaller& inner_;
};

// Of a gradient, edge 0, that changes by 0 with the other tensors it was computed from, as that of relu.
class ConstantSlopeNode final : public GradNode {
 public:
  ConstantSlopeNode(std::string name, std::vector<GradEdge> to, std::vector<TensorType> types, OpCaller& caller)
      : name_(std::move(name)), types_(std::move(types)), caller_(caller) {
    edges = std::move(to);
  }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override {
    std::vector<TensorRef> out{grads[0]};
    out.resize(edges.size());
    for (std::size_t i = 1; i < edges.size(); ++i)
      if (edges[i].node && step.wants(i))
        out[i] = caller_.call(id::Full, {sizes_arg(types_[i].sizes), 0.0, types_[i].dtype}).get<TensorRef>();
    return out;
  }

 private:
  std::string own_name() const override { return name_; }
  const std::string name_;
  const std::vector<TensorType> types_;
  OpCaller& caller_;
};

}  // namespace

CallNode::CallNode(const Op& op, OpCaller& caller, std::span<const Arg> args, std::span<const TensorRef> made)
    : op_(op), name_(&node_name(op, args)), caller_(caller), args_(args.begin(), args.end()) {
  add_edges();
  reads_ = rule_reads(op_, args_, made, wanted_);
  if (in_transform()) add_shown_reads(made);
  save_operands(nullptr);
}

CallNode::CallNode(const Op& op, OpCaller& caller, std::span<const Arg> args)
    : op_(op), name_(&node_name(op, args)), caller_(caller), args_(args.begin(), args.end()) {
  add_edges();
  const TensorRef target = args[0].get<TensorRef>();
  reads_ = rule_reads(op_, args_, std::span<const TensorRef>(&target, 1), wanted_);
  TensorRef copy;
  if (reads_.operand(0)) {
    const GradMode off(false);
    copy = caller_.call(id::Clone, {args[0]}).get<TensorRef>();
  }
  save_operands(copy);
}

void CallNode::add_shown_reads(std::span<const TensorRef> made) {
  if (!shown_gradients().reads) return;
  const RuleReads more = shown_gradients().reads(op_, args_, made, wanted_);
  reads_.operands |= more.operands;
  reads_.results |= more.results;
}

void CallNode::add_edges() {
  takes_number_ = takes_number(op_, args_);
  for (std::size_t i = 0; i < args_.size(); ++i) {
    for_each_tensor(std::span<Arg>(&args_[i], 1), [&](TensorRef& t) {
      edges.push_back(grad_edge(t));
      const std::size_t place = edges.size() - 1;
      if (!is_differentiable(t->dtype) && place < 64 && selects(op_, place)) selects_ |= std::uint64_t{1} << place;
      if (edges.back().node) wanted_ |= std::uint64_t{1} << i;
    });
  }
}

std::vector<GradEdge> CallNode::own_operand_edges() const {
  std::vector<GradEdge> out;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (i >= 64 || !(selects_ >> i & 1)) out.push_back(edges[i]);
  if (takes_number_) out.emplace_back();
  return out;
}

void CallNode::save_operands(const TensorRef& first_copy) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    const bool read = reads_.operand(i);
    for_each_tensor(std::span<Arg>(&args_[i], 1), [&](TensorRef& t) {
      const TensorRef shown = i == 0 && first_copy ? first_copy : t;
      t = read ? alias_of(*shown) : type_only(*shown);
      if (read) saved_.push_back({place, SavedTensor(t, shown)});
      ++place;
    });
  }
}

// A handler's tensor is known by its object, which holds this node: another one is kept.
TensorRef CallNode::kept_result(const TensorRef& made) {
  if (!handled_of(*made)) return alias_of(*made);
  const GradMode off(false);
  return caller_.call(id::Detach, {made}).get<TensorRef>();
}

void CallNode::set_results(std::span<const TensorRef> made) {
  results = static_cast<int>(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!reads_.result(i)) {
      results_.emplace_back(type_only(*made[i]));
      continue;
    }
    const TensorRef own = kept_result(made[i]);
    results_.emplace_back(own);
    // Hooks do not get the result itself: what they keep belongs to this node, which the result holds.
    TensorRef shown;
    if (saved_tensor_hooks()) {
      shown = alias_of(*own);
      shown->set_grad_state({made[i]->requires_grad, GradHistory::Computed});
    }
    saved_.push_back({edges.size() + i, SavedTensor(own, shown)});
  }
}

std::optional<TensorType> CallNode::result_type(int i) const {
  if (static_cast<std::size_t>(i) >= results_.size()) return std::nullopt;
  return type_of(results_[static_cast<std::size_t>(i)]);
}

void CallNode::for_each_held(const std::function<void(RefCounted&)>& f) const {
  GradNode::for_each_held(f);
  for (const Saved& s : saved_)
    if (s.what.packed) f(*s.what.packed);
}

// A result's history is this node, which may not hold itself: it gets it for as long as it is used.
TensorRef CallNode::with_history(const SavedTensor& s, std::size_t place) {
  TensorRef t = s.unpack();
  const bool result = place >= edges.size();
  const GradEdge e = result ? GradEdge{Ref<GradNode>(this), static_cast<int>(place - edges.size())} : edges[place];
  if (!grad_enabled() && t == s.tensor) return t;
  t = alias_of(*t);
  if (e.node && is_differentiable(t->dtype)) set_history(*t, e.node, e.result);
  return t;
}

// Without histories and hooks what was saved is what a rule gets.
bool CallNode::is_as_saved() const {
  return !grad_enabled() && std::ranges::none_of(saved_, [](const Saved& s) { return bool(s.what.packed); });
}

void CallNode::restore(std::vector<Arg>& args, std::vector<Arg>& made) {
  args = args_, made = results_;
  std::vector<TensorRef*> places;
  for_each_tensor(args, [&](TensorRef& t) { places.push_back(&t); });
  for (const Saved& s : saved_) {
    TensorRef t = with_history(s.what, s.place);
    if (s.place < places.size())
      *places[s.place] = std::move(t);
    else
      made[s.place - edges.size()] = std::move(t);
  }
}

std::uint64_t CallNode::wanted_in(const BackwardStep& step) const {
  if (!step.needed) return wanted_;
  std::uint64_t asked = 0;
  std::size_t place = 0;
  for (std::size_t i = 0; i < args_.size(); ++i)
    for_each_tensor(std::span<const Arg>(&args_[i], 1), [&](const TensorRef&) {
      if (step.wants(place++)) asked |= std::uint64_t{1} << i;
    });
  return wanted_ & asked;
}

// Whether `from` was computed from what `e` names, by nodes made since `first`.
static bool leads_to(const GradNode* from, const GradEdge& e, std::uint64_t first) {
  std::vector<const GradNode*> open{from};
  while (!open.empty()) {
    const GradNode* n = open.back();
    open.pop_back();
    for (const GradEdge& next : n->edges) {
      if (next.node == e.node && next.result == e.result) return true;
      if (next.node && next.node->order >= first) open.push_back(next.node.get());
    }
  }
  return false;
}

// A gradient whose rule reads a tensor depends on it, though a piecewise linear one does so by 0 alone: `found` by
// nodes made since `first`.
void CallNode::depend_on_read(std::vector<TensorRef>& found, std::uint64_t first) {
  std::vector<TensorRef> made;
  for (const Arg& r : results_) made.push_back(r.get<TensorRef>());
  std::size_t place = 0;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    std::optional<RuleReads> reads;
    for_each_tensor(std::span<const Arg>(&args_[i], 1), [&](const TensorRef&) {
      TensorRef& t = found[place++];
      if (!t || !is_differentiable(t->dtype)) return;
      if (!reads) reads = rule_reads(op_, args_, made, std::uint64_t{1} << i);
      if (const Batch* b = batch_of(*t))
        t = batched_tensor(depending(b->all, *reads, first), b->levels);
      else
        t = depending(t, *reads, first);
    });
  }
}

TensorRef CallNode::depending(const TensorRef& t, const RuleReads& reads, std::uint64_t first) {
  std::vector<GradEdge> to{grad_edge(t)};
  std::vector<TensorType> types{type_of(Arg(t))};
  const auto add = [&](GradEdge e, const Arg& of) {
    if (!e.node || (to[0].node && leads_to(to[0].node.get(), e, first))) return;
    to.push_back(std::move(e));
    types.push_back(type_of(of));
  };
  if (follows_operand(op_)) add(edges[0], args_[0]);
  for (const Saved& s : saved_) {
    const bool result = s.place >= edges.size();
    const std::size_t number = result ? s.place - edges.size() : s.place;
    if (result ? !reads.result(number) : !reads.operand(parameter_of(s.place))) continue;
    if (!is_differentiable(s.what.tensor->dtype)) continue;
    add(result ? GradEdge{Ref<GradNode>(this), static_cast<int>(number)} : edges[s.place], Arg(s.what.tensor));
  }
  if (to.size() == 1) return t;
  std::string name = *name_;
  name.insert(name.size() - 1, "Backward");  // "ReluBackwardBackward0"
  const TensorRef out = alias_of(*t);
  set_history(*out, make_ref<ConstantSlopeNode>(std::move(name), std::move(to), std::move(types), caller_), 0);
  return out;
}

std::size_t CallNode::parameter_of(std::size_t place) const {
  std::size_t at = 0, found = 0;
  for (std::size_t i = 0; i < args_.size(); ++i)
    for_each_tensor(std::span<const Arg>(&args_[i], 1), [&](const TensorRef&) {
      if (at++ == place) found = i;
    });
  return found;
}

std::vector<TensorRef> CallNode::backward(std::span<const TensorRef> grads, const BackwardStep& step) {
  std::vector<Arg> of_results, args, made;
  for (const TensorRef& g : grads) of_results.push_back(g ? Arg(g) : Arg());
  const bool as_saved = is_as_saved();
  if (!as_saved) restore(args, made);
  for (const Saved& s : saved_)
    if (!s.what.packed) s.what.unpack();  // says whether it was written to
  KeptOnly caller(backward_caller());
  const std::uint64_t first = next_order();
  const std::vector<Arg>&operands = as_saved ? args_ : args, &gave = as_saved ? results_ : made;
  std::optional<Gradients> shown;
  if (in_transform() && shown_gradients().of_call && !backward_recorder())
    shown = shown_gradients().of_call(op_, operands, gave, of_results, wanted_in(step));
  const Gradients found = shown ? *std::move(shown) : vjp(op_, caller, operands, gave, of_results, wanted_in(step));
  shown.reset();
  std::vector<TensorRef> out;
  for (std::size_t i = 0; i < args_.size(); ++i) add_gradients(args_[i], found[i], out);
  if (grad_enabled()) depend_on_read(out, first);
  if (!step.keep) forget_saved();
  return out;
}

void CallNode::forget_saved() {
  if (saved_.empty()) return;
  args_.clear(), results_.clear(), saved_.clear();
  spent_ = true;
}

// Hooks unpack what they have packed.
bool CallNode::only_calls_ops() const {
  return std::ranges::none_of(saved_, [](const Saved& s) { return bool(s.what.packed); });
}

std::vector<CallNode::Kept> CallNode::kept() const {
  std::vector<Kept> out;
  std::vector<std::size_t> parameter;
  for (std::size_t i = 0; i < args_.size(); ++i)
    for_each_tensor(std::span<const Arg>(&args_[i], 1), [&](const TensorRef&) { parameter.push_back(i); });
  for (std::size_t k = 0; k < saved_.size(); ++k) {
    const std::size_t place = saved_[k].place;
    if (place < edges.size())
      out.push_back({op_.schema.params[parameter[place]].name, k});
    else
      out.push_back({results_.size() == 1 ? "result" : "result" + std::to_string(place - edges.size()), k});
  }
  return out;
}

TensorRef CallNode::kept_tensor(std::size_t index) {
  const GradMode on(true);
  return with_history(saved_[index].what, saved_[index].place);
}

const Arg* CallNode::plain_argument(const std::string& name) const {
  const int i = op_.schema.find(name);
  if (i < 0 || static_cast<std::size_t>(i) >= args_.size()) return nullptr;
  const Arg& a = args_[static_cast<std::size_t>(i)];
  return a.is<TensorRef>() || a.is<ListArg>() ? nullptr : &a;
}

}  // namespace md
