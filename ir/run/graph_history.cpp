// Backward passes of compiled graphs, by running them again.
#include "ir/run/graph_history.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"
#include "ir/tensor/device_generators.h"

namespace md {

namespace {

TensorRef cloned(const TensorRef& t) { return eager_caller().call(id::Clone, {t}).get<TensorRef>(); }

// Where gradients leave the graph: what they are is asked here, before hooks of the operand see them.
class BoundaryNode final : public GradNode {
 public:
  explicit BoundaryNode(GradEdge to) { edges.push_back(std::move(to)); }
  std::string own_name() const override { return "CompiledFunctionInput"; }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep&) override { return {grads[0]}; }
  bool only_calls_ops() const override { return true; }
};

}  // namespace

std::vector<bool> written_inputs(const Graph& g) {
  const std::vector<Node*> placeholders = g.placeholders();
  std::vector<bool> written(placeholders.size());
  for (const auto& n : g.nodes) {
    const bool writes = is_inplace(*n) || is_setitem(*n);
    if (!writes) continue;
    const Arg& self = n->args.at(0);
    const int storage = type_of(self).storage;
    for (std::size_t i = 0; i < placeholders.size(); ++i)
      if (storage >= 0 && placeholders[i]->type().storage == storage) written[i] = true;
  }
  return written;
}

class GraphRunNode final : public GradNode {
 public:
  GraphRunNode(std::shared_ptr<const Graph> graph, std::shared_ptr<CompiledBackward> backward,
               std::span<TensorImpl* const> inputs)
      : graph_(std::move(graph)), compiled_(std::move(backward)), written_(written_inputs(*graph_)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      edges.push_back(grad_edge(TensorRef(inputs[i])));
      const TensorRef t = alias_of(*inputs[i]);
      const TensorRef copy = written_[i] ? without_history(t) : nullptr;
      inputs_.emplace_back(copy ? copy : t, copy ? copy : TensorRef(inputs[i]));
    }
  }

  std::string own_name() const override { return "CompiledFunctionBackward"; }
  bool is_spent() const override { return spent_; }
  bool runs_hooks() const override { return results > 1; }
  const std::vector<bool>& written() const { return written_; }
  // Not the outputs themselves, which hold this node.
  void keep(std::span<const TensorRef> values) {
    for (const TensorRef& t : values) kept_.emplace_back(alias_of(*t), alias_of(*t));
  }
  std::size_t outputs = 0;
  std::vector<TensorType> types;  // of the results

  std::optional<TensorType> result_type(int i) const override {
    const auto k = static_cast<std::size_t>(i);
    return k < types.size() ? std::optional(types[k]) : std::nullopt;
  }
  void for_each_held(const std::function<void(RefCounted&)>& f) const override {
    GradNode::for_each_held(f);
    for (const auto* saved : {&inputs_, &kept_})
      for (const SavedTensor& s : *saved)
        if (s.packed) f(*s.packed);
  }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override {
    std::vector<TensorRef> found = through(grads, step);
    if (!step.keep) forget_saved();
    return found;
  }
  // Or else it makes an end of the recorded steps before it runs itself.
  bool only_calls_ops() const override { return true; }
  void forget_saved() override { inputs_.clear(), kept_.clear(), spent_ = true; }

 private:
  std::vector<TensorRef> through(std::span<const TensorRef> grads, const BackwardStep& step) {
    const bool create = grad_enabled();
    const auto of_writes = grads.subspan(outputs);
    const bool watched = runs_hooks() && is_watched();
    const auto is_batched = [](const TensorRef& g) { return g && g->batch; };
    const bool compiled = compiled_ && !create && !watched && std::ranges::none_of(grads, is_batched) &&
                          std::ranges::none_of(of_writes, [](const TensorRef& g) { return static_cast<bool>(g); });
    if (BackwardRecorder* const recorder = backward_recorder()) {
      if (compiled)
        if (auto found = compiled_->call_ops(inputs_, kept_, grads.first(outputs), *recorder)) return std::move(*found);
      recorder->run();
    }
    const RecordedBy nobody(nullptr);
    if (compiled)
      if (auto found = compiled_->run(inputs_, kept_, grads.first(outputs))) return std::move(*found);
    const GradMode on(true);
    return run_again(grads, create, step);
  }

  static TensorRef without_history(const TensorRef& t) {
    const GradMode off(false);
    return cloned(t);
  }

  std::vector<TensorRef> run_again(std::span<const TensorRef> grads, bool create, const BackwardStep& step) {
    std::vector<TensorRef> inputs;
    std::vector<GradTarget> ends;
    std::vector<std::size_t> of_end;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      TensorRef t = alias_of(*inputs_[i].unpack());
      if (edges[i].node) set_history(*t, make_ref<BoundaryNode>(edges[i]), 0);
      if (edges[i].node && (is_watched() || step.wants(i))) {
        ends.push_back({t, {}});
        of_end.push_back(i);
      }
      inputs.push_back(written_[i] ? cloned(t) : t);
    }
    std::vector<TensorRef> roots = rerun(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (written_[i]) roots.push_back(inputs[i]);
    if (runs_hooks()) watch(roots);
    BackwardCall call;
    for (std::size_t k = 0; k < roots.size(); ++k) {
      if (!grads[k]) continue;
      if (!roots[k]->requires_grad)
        throw OpError(ErrorKind::Runtime, "backward() through compiled code reached what is not recorded there");
      call.roots.push_back({roots[k], {}});
      call.grads.push_back(grads[k]);
    }
    call.create_graph = call.keep_graph = create;
    call.inputs = ends;
    std::vector<TensorRef> out(inputs_.size());
    if (ends.empty() || call.roots.empty()) return out;
    std::vector<TensorRef> found = run_backward(call);
    for (std::size_t k = 0; k < found.size(); ++k) out[of_end[k]] = std::move(found[k]);
    return out;
  }

  // What watches a result gets to see the gradient of the tensor that stands for it now.
  void watch(const std::vector<TensorRef>& made) const {
    if (!extras) return;
    const std::vector<GradHooks>& hooks = extras->of_results;
    for (std::size_t k = 0; k < hooks.size() && k < made.size(); ++k) {
      if (hooks[k].empty() || !made[k]->requires_grad) continue;
      const GradEdge e = grad_edge(made[k]);
      GradHooks& there = e.node->hooks_of_result(e.result);
      there.insert(there.end(), hooks[k].begin(), hooks[k].end());
    }
  }

  // With the random numbers of the first run.
  std::vector<TensorRef> rerun(std::span<const TensorRef> inputs) {
    const DrawAgain from(drawn_from_);
    return interpret(*graph_, inputs);
  }

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<CompiledBackward> compiled_;
  std::vector<SavedTensor> inputs_, kept_;
  std::vector<bool> written_;
  const DefaultStreams drawn_from_;
  bool spent_ = false;
};

namespace {

// A write by a graph, as record_write() takes it: of what was there nothing goes on past it, the graph has read that.
class WrittenByGraph final : public GradNode {
 public:
  WrittenByGraph(Ref<GradNode> graph, int result) { edges = {{}, {std::move(graph), result}}; }
  std::string own_name() const override { return edges[1].node->name(); }
  bool is_spent() const override { return edges[1].node->is_spent(); }
  bool only_calls_ops() const override { return true; }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep&) override {
    return {nullptr, grads[0]};
  }
};

}  // namespace

GraphHistory::GraphHistory(std::shared_ptr<const Graph> graph, std::shared_ptr<CompiledBackward> backward,
                           std::span<TensorImpl* const> inputs) {
  const Ref<GraphRunNode> node = make_ref<GraphRunNode>(std::move(graph), std::move(backward), inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (node->written()[i]) {
      const GradRecord* r = grad_record(*inputs[i]);
      written_.push_back({TensorRef(inputs[i]), r ? r->node : nullptr});
    }
  node_ = node;
}

void GraphHistory::attach(std::span<const TensorRef> outputs, std::span<const TensorRef> kept,
                          std::span<const GradState> states) {
  auto& node = static_cast<GraphRunNode&>(*node_);
  node.outputs = outputs.size();
  node.keep(kept);
  node_->results = static_cast<int>(outputs.size() + written_.size());
  for (const TensorRef& t : outputs) node.types.push_back(type_of(Arg(t)));
  for (const Written& w : written_) node.types.push_back(type_of(Arg(w.tensor)));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const GradRecord* r = grad_record(*outputs[k]);
    if (!states[k].requires_grad || states[k].history == GradHistory::Leaf || (r && r->node)) continue;
    set_history(*outputs[k], node_, static_cast<int>(k));
    outputs[k]->history = states[k].history;
    outputs[k]->base = nullptr;
  }
  // Whether a written input requires grad from here on, the plan has said. Where the graph ran op by op the write may
  // be recorded already.
  for (std::size_t k = 0; k < written_.size(); ++k) {
    TensorImpl& t = *written_[k].tensor;
    const GradRecord* r = grad_record(t);
    if (!t.requires_grad || t.is_leaf() || (r ? r->node : nullptr) != written_[k].before) continue;
    const int result = static_cast<int>(outputs.size() + k);
    if (t.base)
      record_write(make_ref<WrittenByGraph>(node_, result), 0, written_[k].tensor, written_[k].tensor);
    else
      set_history(t, node_, result);
  }
}

}  // namespace md
