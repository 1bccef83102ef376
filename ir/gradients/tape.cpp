// Nodes of eager calls: what is saved, what was written since, and how gradients get on.
#include "ir/gradients/tape.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <optional>
#include <ranges>

#include "ir/core/error.h"

namespace md {

namespace {

std::uint64_t next_order() {
  thread_local std::uint64_t n = 0;
  return ++n;
}

// "MaxPool2D" style of torch's node names: words of the op's name with capitals.
std::string node_name(const Op& op) {
  std::string out;
  bool start = true;
  for (const char c : op.public_name) {
    if (c == '_' || c == '.')
      start = true;
    else
      out += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c, start = false;
  }
  return out + "Backward0";
}

template <class F>
void for_each_tensor(std::span<const Arg> args, F&& f) {
  for (const Arg& a : args) {
    if (const auto* t = a.get_if<TensorRef>()) {
      f(*t);
    } else if (const auto* l = a.get_if<ListArg>()) {
      for (const Arg& x : l->items)
        if (const auto* item = x.get_if<TensorRef>()) f(*item);
    }
  }
}

// A tensor that a call used or made, as it was then: its own history, whatever becomes of the tensor.
struct Saved {
  TensorRef tensor;
  std::uint32_t version = 0;
};

TensorRef alias_of(const TensorImpl& t) {
  TensorRef a = make_ref<TensorImpl>(t.storage, t.dtype, t.sizes, t.strides, t.offset);
  a->wrapped_number = t.wrapped_number;
  return a;
}

// Calls of a rule, which may read what was saved only if nobody has written to it since.
class CheckingCaller final : public OpCaller {
 public:
  CheckingCaller(OpCaller& inner, std::span<const Saved> saved) : inner_(inner), saved_(saved) {}
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override {
    for_each_tensor(bound, [&](const TensorRef& t) { check(t); });
    return inner_.call(op, std::move(bound));
  }

 private:
  void check(const TensorRef& t) const {
    for (const Saved& s : saved_) {
      if (s.tensor->storage != t->storage || t->storage->version == s.version) continue;
      throw OpError(
          ErrorKind::Runtime,
          fmt::format("one of the variables needed for gradient computation has been modified by an inplace "
                      "operation: [{}] is at version {}; expected version {} instead. clone() it before it is "
                      "written to, or write to a copy.",
                      info(t->dtype).guard_name, t->storage->version, s.version));
    }
  }
  OpCaller& inner_;
  std::span<const Saved> saved_;
};

// A call of an op of the table.
class CallNode final : public GradNode {
 public:
  CallNode(const Op& op, OpCaller& caller, std::span<const Arg> args)
      : op_(op), caller_(caller), args_(args.begin(), args.end()) {
    for (std::size_t i = 0; i < args_.size(); ++i) save(args_[i], i);
  }
  // Before the first operand is written to: a copy of it, if the rule needs what it was.
  void keep_first_operand() {
    std::erase_if(saved_, [&](const Saved& s) { return s.tensor == args_[0].get<TensorRef>(); });
    if (!reads_first_operand(op_, args_, wanted_)) return;
    const GradMode off(false);
    const TensorRef copy = caller_.call(id::Clone, {args_[0]}).get<TensorRef>();
    copy->autograd = args_[0].get<TensorRef>()->autograd;
    copy->set_grad_state({args_[0].get<TensorRef>()->requires_grad, GradHistory::Computed});
    args_[0] = copy;
    saved_.push_back({copy, copy->storage->version});
  }
  void set_results(std::span<const TensorRef> made) {
    for (const TensorRef& t : made) results_.emplace_back(keep(*t));
    results = static_cast<int>(made.size());
  }

  std::string name() const override { return node_name(op_); }
  bool is_spent() const override { return spent_; }

  std::vector<TensorRef> backward(std::span<const TensorRef> grads, bool keep) override {
    std::vector<Arg> of_results;
    for (const TensorRef& g : grads) of_results.push_back(g ? Arg(g) : Arg());
    CheckingCaller caller(caller_, saved_);
    // Their history is this node: it may not hold itself, so they get it for as long as they are used.
    std::vector<Arg> made;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      TensorRef y = alias_of(*results_[i].get<TensorRef>());
      if (is_floating(y->dtype)) set_history(*y, Ref<GradNode>(this), static_cast<int>(i));
      made.emplace_back(std::move(y));
    }
    const Gradients found = vjp(op_, caller, args_, made, of_results, wanted_);
    std::vector<TensorRef> out;
    for (std::size_t i = 0; i < args_.size(); ++i) add_results(args_[i], found[i], out);
    if (!keep) {
      args_.clear(), results_.clear(), saved_.clear();
      spent_ = true;
    }
    return out;
  }

 private:
  // An alias with the tensor's own history: what is done with it in a backward() that is recorded counts.
  TensorRef keep(TensorImpl& t) {
    TensorRef a = alias_of(t);
    saved_.push_back({a, t.storage->version});
    return a;
  }
  Arg save_operand(const TensorRef& t) {
    edges.push_back(grad_edge(t));
    TensorRef a = keep(*t);
    if (const GradEdge& e = edges.back(); e.node) {
      set_history(*a, e.node, e.result);
    }
    return a;
  }
  void save(Arg& a, std::size_t i) {
    const std::size_t first = edges.size();
    if (const auto* t = a.get_if<TensorRef>()) {
      a = save_operand(*t);
    } else if (const auto* l = a.get_if<ListArg>()) {
      ListArg kept{{}, l->tuple};
      for (const Arg& x : l->items) {
        const auto* item = x.get_if<TensorRef>();
        kept.items.push_back(item ? Arg(save_operand(*item)) : x);
      }
      a = std::move(kept);
    }
    for (std::size_t k = first; k < edges.size(); ++k)
      if (edges[k].node) wanted_ |= std::uint64_t{1} << i;
  }
  static TensorRef tensor_or_null(const Arg& a) {
    const auto* t = a.get_if<TensorRef>();
    return t ? *t : TensorRef();
  }
  static void add_results(const Arg& operand, const Arg& gradient, std::vector<TensorRef>& out) {
    if (operand.is<TensorRef>()) {
      out.push_back(tensor_or_null(gradient));
    } else if (const auto* l = operand.get_if<ListArg>()) {
      const auto* of = gradient.get_if<ListArg>();
      for (std::size_t i = 0; i < l->items.size(); ++i) {
        if (l->items[i].is<TensorRef>()) out.push_back(of ? tensor_or_null(of->items.at(i)) : TensorRef());
      }
    }
  }

  const Op& op_;
  OpCaller& caller_;
  std::vector<Arg> args_, results_;
  std::vector<Saved> saved_;
  std::uint64_t wanted_ = 0;
  bool spent_ = false;
};

// Adds to the `grad` of a leaf.
class AccumulateNode final : public GradNode {
 public:
  explicit AccumulateNode(TensorRef leaf) : leaf_(std::move(leaf)) {}
  ~AccumulateNode() override {
    if (GradRecord* r = grad_record(*leaf_); r && r->accumulator == this) r->accumulator = nullptr;
  }
  std::string name() const override { return "AccumulateGrad"; }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, bool) override {
    TensorRef g = grads[0];
    if (!g) return {};
    const GradHooks hooks = make_grad_record(*leaf_).hooks;
    for (const Ref<GradHook>& h : hooks)
      if (TensorRef other = h->call(g)) g = std::move(other);
    add_to_grad(*leaf_, std::move(g));
    const GradHooks after = grad_record(*leaf_)->accumulated;
    for (const Ref<GradHook>& h : after) h->call(leaf_);
    return {};
  }

 private:
  TensorRef leaf_;
};

// Of a computed tensor whose call nobody recorded.
class UnrecordedNode final : public GradNode {
 public:
  std::string name() const override { return "NotRecorded"; }
  std::vector<TensorRef> backward(std::span<const TensorRef>, bool) override {
    throw OpError(
        ErrorKind::Runtime,
        "backward() reached a tensor whose computation was not recorded: it comes from compiled code or from a "
        "write that gradients do not follow yet");
  }
};

}  // namespace

namespace {
// The view `t` shows of `base`, as a call that is recorded now.
void record_view_of(const TensorRef& base, const TensorRef& t, OpCaller& caller) {
  const TensorType type = type_of(t);
  const Arg args[] = {base, sizes_arg(type.sizes), sizes_arg(type.strides), type.offset};
  const GradHistory history = t->history;
  record_call(op(id::AsStrided), caller, args, t);
  t->history = history;
}
}  // namespace

namespace {

// Dimensions from the slowest to the fastest in memory; nothing if elements have gaps or overlap.
std::optional<std::vector<int>> dense_order(const TensorImpl& t) {
  std::vector<int> order(t.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](int d) { return t.strides[static_cast<std::size_t>(d)]; });
  std::int64_t expected = 1;
  for (const int d : std::views::reverse(order)) {
    const auto i = static_cast<std::size_t>(d);
    if (t.sizes[i] != 1 && t.strides[i] != expected) return std::nullopt;
    expected *= t.sizes[i];
  }
  return order;
}

// A write to a part of a tensor whose elements lie densely: outside of the part its gradient goes on as it is, inside
// through the call.
class PartWriteNode final : public GradNode {
 public:
  PartWriteNode(OpCaller& caller, Ref<CallNode> inner, const TensorRef& base, const TensorImpl& part,
                const std::vector<int>& order)
      : caller_(caller), inner_(std::move(inner)), part_(type_of(Arg(alias_of(part)))) {
    part_.offset = part.offset - base->offset;
    edges.push_back(grad_edge(base));
    edges.insert(edges.end(), inner_->edges.begin() + 1, inner_->edges.end());
    back_.items.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order_.items.emplace_back(order[i]);
      back_.items[static_cast<std::size_t>(order[i])] = Arg(static_cast<int>(i));
    }
  }
  void set_result(const TensorRef& written) { inner_->set_results(std::span<const TensorRef>(&written, 1)); }
  std::string name() const override { return "CopySlices"; }
  bool is_spent() const override { return inner_->is_spent(); }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, bool keep) override {
    // As the base lies in memory.
    const Arg whole = caller_.call(id::Compact, {caller_.call(id::Permute, {grads[0], order_})});
    const Arg sizes = sizes_arg(part_.sizes), strides = sizes_arg(part_.strides);
    const TensorRef inside[] = {caller_.call(id::AsStrided, {whole, sizes, strides, part_.offset}).get<TensorRef>()};
    std::vector<TensorRef> out = inner_->backward(inside, keep);
    const Arg left = out[0] ? Arg(out[0]) : caller_.call(id::FullLike, {inside[0], 0.0});
    const Arg rest = caller_.call(id::WriteView, {whole, left, strides, part_.offset});
    out[0] = caller_.call(id::Permute, {rest, back_}).get<TensorRef>();
    return out;
  }

 private:
  OpCaller& caller_;
  Ref<CallNode> inner_;
  TensorType part_;
  ListArg order_, back_;
};

}  // namespace

RecordedWrite::RecordedWrite(const Op& op, OpCaller& caller, std::span<const Arg> args, TensorRef target)
    : caller_(caller), target_(std::move(target)), written_(args[0].get<TensorRef>()) {
  const GradRecord* r = grad_record(*target_);
  const TensorRef base = r && r->base ? r->base : target_;
  const Ref<CallNode> call = make_ref<CallNode>(op, caller, args);
  node_ = call;
  call->keep_first_operand();
  if (base == written_) return;
  if (const auto order = dense_order(*base))
    node_ = make_ref<PartWriteNode>(caller, call, base, *written_, *order);
  else
    node_ = make_ref<UnrecordedNode>();
}
RecordedWrite::~RecordedWrite() = default;

void RecordedWrite::finish() {
  GradRecord* r = grad_record(*target_);
  const TensorRef base = r && r->base ? r->base : target_;
  if (auto* call = dynamic_cast<CallNode*>(node_.get())) call->set_results(std::span<const TensorRef>(&written_, 1));
  if (auto* part = dynamic_cast<PartWriteNode*>(node_.get())) part->set_result(written_);
  set_history(*base, node_, 0);
  if (base != target_) record_view_of(base, target_, caller_);
}

GradNode::GradNode() : order(next_order()) {}

GradNode::~GradNode() {
  thread_local std::vector<Ref<GradNode>>* pending = nullptr;
  std::vector<Ref<GradNode>> mine;
  const bool first = !pending;
  if (first) pending = &mine;
  for (GradEdge& e : edges)
    if (e.node) pending->push_back(std::move(e.node));
  if (!first) return;
  while (!mine.empty()) {
    const Ref<GradNode> next = std::move(mine.back());
    mine.pop_back();
  }
  pending = nullptr;
}

void forget_history(TensorImpl& t) {
  GradRecord& r = make_grad_record(t);
  r.node = make_ref<UnrecordedNode>();
  r.result = 0;
  r.version = t.storage->version;
}

GradRecord& make_grad_record(TensorImpl& t) {
  if (!t.autograd) t.autograd = make_ref<GradRecord>();
  return *grad_record(t);
}

void set_history(TensorImpl& t, Ref<GradNode> node, int result) {
  GradRecord& r = make_grad_record(t);
  r.node = std::move(node);
  r.result = result;
  r.version = t.storage->version;
  t.set_grad_state({true, GradHistory::Computed});
}

bool needs_record(std::span<const Arg> args) {
  if (!grad_enabled()) return false;
  bool found = false;
  for_each_tensor(args, [&](const TensorRef& t) { found |= t && t->requires_grad; });
  return found;
}

void record_call(const Op& op, OpCaller& caller, std::span<const Arg> args, const Arg& result) {
  std::vector<TensorRef> made;
  for_each_tensor(std::span<const Arg>(&result, 1), [&](const TensorRef& t) { made.push_back(t); });
  if (std::ranges::none_of(made, [](const TensorRef& t) { return t->requires_grad; })) return;
  const Ref<CallNode> node = make_ref<CallNode>(op, caller, args);
  node->set_results(made);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i]->requires_grad) {
      const GradHistory view = made[i]->history;
      set_history(*made[i], node, static_cast<int>(i));
      made[i]->history = view;
    }
  if (op.kind() == OpKind::View) {
    const TensorRef of = args[0].get<TensorRef>();
    const GradRecord* r = grad_record(*of);
    grad_record(*made[0])->base = r && r->base ? r->base : of;
  }
}

GradEdge grad_edge(const TensorRef& t) {
  if (!t->requires_grad) return {};
  GradRecord& r = make_grad_record(*t);
  // A write through another view is in the history of the base. One without a record changes no history.
  if (r.node && r.base && r.version != t->storage->version) record_view_of(r.base, t, *tape_runner().caller);
  if (r.node) return {r.node, r.result};
  if (!t->is_leaf()) return {make_ref<UnrecordedNode>(), 0};
  if (r.accumulator) return {Ref<GradNode>(r.accumulator), 0};
  Ref<GradNode> node = make_ref<AccumulateNode>(t);
  r.accumulator = node.get();
  return {node, 0};
}

}  // namespace md
