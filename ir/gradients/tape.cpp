// Tensors and the nodes that computed them: leaves, views, and what nobody recorded.
#include "ir/gradients/tape.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>

#include "ir/core/error.h"
#include "ir/gradients/anomaly.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/call_node.h"
#include "ir/gradients/unrecorded.h"
#include "ir/tensor/batched.h"
#include "ir/tensor/lazy_view.h"

namespace md {

std::uint64_t next_order() {
  static std::atomic<std::uint64_t> n = 0;  // of all threads: what a call reads is older than the call
  return n.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

// Adds to the `grad` of a leaf.
class AccumulateNode final : public GradNode {
 public:
  explicit AccumulateNode(TensorRef leaf) : leaf(std::move(leaf)) { order = std::numeric_limits<std::uint64_t>::max(); }
  ~AccumulateNode() override {
    if (GradRecord* r = grad_record(*leaf); r && r->accumulator == this) r->accumulator = nullptr;
  }
  std::string own_name() const override { return "torch::autograd::AccumulateGrad"; }
  std::optional<TensorType> result_type(int) const override { return type_of(Arg(leaf)); }
  GradHooks tensor_hooks(int) const override { return make_grad_record(*leaf).hooks; }
  void for_each_held(const std::function<void(RefCounted&)>& f) const override {
    GradNode::for_each_held(f);
    if (leaf->use_count() == 1) f(*leaf);
  }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep&) override {
    if (!grads[0]) return {};
    add_to_grad(*leaf, grads[0]);
    const GradHooks after = grad_record(*leaf)->accumulated;
    for (const Ref<GradHook>& h : after) call_after(h);
    return {};
  }
  bool only_calls_ops() const override { return true; }
  const TensorRef leaf;

 private:
  void call_after(const Ref<GradHook>& hook) const {
    BackwardRecorder* recorder = backward_recorder();
    if (recorder && hook->is_a_step()) return recorder->accumulated(hook, leaf);
    if (recorder) recorder->run();
    const RecordedBy nobody(nullptr);
    hook->call(leaf);
  }
};

// Of a computed tensor whose call nobody recorded.
class UnrecordedNode final : public GradNode {
 public:
  std::string own_name() const override { return "NotRecorded"; }
  std::vector<TensorRef> backward(std::span<const TensorRef>, const BackwardStep&) override {
    throw OpError(
        ErrorKind::Runtime,
        "backward() reached a tensor whose computation was not recorded: it comes from compiled code or from a "
        "write that gradients do not follow");
  }
};

}  // namespace

Ref<GradNode> unrecorded_node() { return make_ref<UnrecordedNode>(); }

namespace {

// `seen` with each step, the last of which is what `t` shows: a view by its strides, then what is pending of it.
void record_steps(Arg seen, const TensorRef& t) {
  OpCaller& caller = *tape_runner().caller;
  const TensorType type = type_of(t);
  const Pending p = pending_of(*t);
  std::vector<Arg> args{seen, sizes_arg(type.sizes), sizes_arg(type.strides), type.offset};
  OpId last = id::AsStrided;
  for (const OpId next : {id::ConjView, id::NegView}) {
    if (next == id::ConjView ? !p.conjugate : !p.negative) continue;
    args = {caller.call(op(last), std::move(args))};
    last = next;
  }
  record_call(op(last), caller, args, t);
}

}  // namespace

void record_view_of(const TensorRef& base, const TensorRef& t) {
  Arg seen = base;
  if (base->dtype != t->dtype) {  // of the parts of complex numbers, or the numbers whose parts the base has
    OpCaller& caller = *tape_runner().caller;
    if (is_complex(base->dtype))
      seen = caller.call(id::ViewAsReal, {seen});
    else
      seen = caller.call(id::ViewAsComplex, {caller.call(id::View, {seen, ListArg{{Arg(-1), Arg(2)}}})});
  }
  const GradHistory history = t->requires_grad ? t->history : GradHistory::Computed;
  t->requires_grad = true;
  record_steps(seen, t);
  t->history = history;
}

GradNode::GradNode() : order(next_order()) {
  if (anomaly_enabled() && anomaly_sink()) make_extras().metadata = anomaly_sink()->created(node_under_way());
}

GradNode::~GradNode() {
  if (extras && extras->self) *extras->self = nullptr;
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

namespace {
bool among(const std::vector<GradEdge>& edges, const GradEdge& e) {
  return std::ranges::any_of(edges, [&](const GradEdge& o) { return o.node == e.node && o.result == e.result; });
}

// Those that lead out of the call whose last node is `last`, depth first, in the order of the operands. Calls have few
// parts.
std::vector<GradEdge> edges_out(const GradNode& last) {
  const auto is_part = [&](const GradNode* n) { return n->order > last.label.first && n->order < last.order; };
  std::vector<GradEdge> out;
  std::vector<const GradNode*> seen;
  std::vector<std::pair<const GradNode*, std::size_t>> open{{&last, 0}};
  while (!open.empty()) {
    auto& [node, at] = open.back();
    if (at == node->edges.size()) {
      open.pop_back();
      continue;
    }
    const GradEdge& e = node->edges[at++];
    if (!e.node) continue;
    if (!is_part(e.node.get())) {
      if (!among(out, e)) out.push_back(e);
    } else if (std::ranges::find(seen, e.node.get()) == seen.end()) {
      seen.push_back(e.node.get());
      open.emplace_back(e.node.get(), 0);
    }
  }
  return out;
}
}  // namespace

std::vector<GradEdge> GradNode::operand_edges() const {
  if (!label.first) return own_operand_edges();
  const std::vector<GradEdge> found = edges_out(*this);
  std::vector<GradEdge> out(label.operands);
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size() && !found.empty(); ++i)
    if (i >= 64 || (label.flows >> i & 1))
      out[i] = found[std::min(next++, found.size() - 1)];  // one is several operands
  return out;
}

GradHooks GradNode::tensor_hooks(int result) const {
  if (!extras || static_cast<std::size_t>(result) >= extras->of_results.size()) return {};
  return extras->of_results[static_cast<std::size_t>(result)];
}

void GradNode::for_each_held(const std::function<void(RefCounted&)>& f) const {
  if (!extras) return;
  for (const GradHooks& hooks : extras->of_results)
    for (const Ref<GradHook>& h : hooks) f(*h);
  if (extras->before) f(*extras->before);
  if (extras->after) f(*extras->after);
  if (extras->metadata) f(*extras->metadata);
}

std::shared_ptr<GradNode*> GradNode::self_token() {
  std::shared_ptr<GradNode*>& self = make_extras().self;
  if (!self) self = std::make_shared<GradNode*>(this);
  return self;
}

TensorRef accumulated_leaf(const GradNode& node) {
  const auto* accumulate = dynamic_cast<const AccumulateNode*>(&node);
  return accumulate ? accumulate->leaf : TensorRef();
}

void forget_history(TensorImpl& t) {
  GradRecord& r = make_grad_record(t);
  r.node = unrecorded_node();
  r.result = 0;
  r.version = t.storage->version;
}

GradRecord& make_grad_record(TensorImpl& t) {
  if (!t.autograd) t.autograd = make_ref<GradRecord>();
  return *grad_record(t);
}

namespace {
void move_following_hooks(const TensorImpl& t, const GradRecord& before, GradNode& node, int result) {
  GradHooks& had = before.node->hooks_of_result(before.result);
  const auto [first, last] = std::ranges::stable_partition(had, [&](const auto& h) { return !h->follows(t); });
  GradHooks& has = node.hooks_of_result(result);
  has.insert(has.end(), std::make_move_iterator(first), std::make_move_iterator(last));
  had.erase(first, last);
}
}  // namespace

void set_history(TensorImpl& t, Ref<GradNode> node, int result) {
  GradRecord& r = make_grad_record(t);
  if (t.retains_grad && r.node && r.node != node) move_following_hooks(t, r, *node, result);
  r.node = std::move(node);
  r.result = result;
  r.version = t.storage->version;
  t.set_grad_state({true, GradHistory::Computed});
}

void follow_base(const TensorRef& t) {
  if (!t->base || t->requires_grad || !t->base->requires_grad) return;
  if (t->history == GradHistory::UntrackedView || t->base->dtype != t->dtype) return;
  const GradMode on(true);
  record_view_of(t->base, t);
  if (t->base->is_leaf()) t->history = GradHistory::LeafView;
}

bool needs_record(std::span<const Arg> args) {
  if (!grad_enabled()) return false;
  bool found = false;
  for_each_tensor(args, [&](const TensorRef& t) {
    if (!t) return;
    if (t->base) follow_base(t);
    found |= t->requires_grad;
  });
  return found;
}

void record_call(const Op& op, OpCaller& caller, std::span<const Arg> args, const Arg& result) {
  std::vector<TensorRef> made;
  for_each_tensor(std::span<const Arg>(&result, 1), [&](const TensorRef& t) { made.push_back(t); });
  if (std::ranges::none_of(made, [](const TensorRef& t) { return t->requires_grad; })) return;
  const Ref<CallNode> node = make_ref<CallNode>(op, caller, args, made);
  node->set_results(made);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i]->requires_grad) {
      const GradHistory view = made[i]->history;
      set_history(*made[i], node, static_cast<int>(i));
      made[i]->history = view;
    }
}

void for_each_node_since(std::uint64_t first, const Arg& result, const std::function<void(GradNode&)>& f) {
  for_each_tensor(std::span<const Arg>(&result, 1), [&](const TensorRef& t) {
    const GradRecord* r = grad_record(*t);
    if (r && r->node && r->node->order > first && !accumulated_leaf(*r->node)) f(*r->node);
  });
}

void label_nodes(const Arg& result, const NodeLabel& label) {
  for_each_node_since(label.first, result, [&](GradNode& node) { node.label = label; });
}

GradEdge grad_edge(const TensorRef& t) {
  if (const Batch* b = batch_of(*t)) return grad_edge(b->all);
  if (!t->requires_grad) return {};
  GradRecord& r = make_grad_record(*t);
  // A write through another view is in the history of the base. One without a record changes no history.
  if (r.node && t->base && t->base->requires_grad && r.version != t->storage->version) record_view_of(t->base, t);
  if (r.node) return {r.node, r.result};
  if (!t->is_leaf()) return {unrecorded_node(), 0};
  if (r.accumulator) return {Ref<GradNode>(r.accumulator), 0};
  Ref<GradNode> node = make_ref<AccumulateNode>(t);
  r.accumulator = node.get();
  return {node, 0};
}

}  // namespace md
