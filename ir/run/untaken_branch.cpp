// The inputs that reach the results of a branch, and the node that gives them zeros.
#include "ir/run/untaken_branch.h"

#include <unordered_set>
#include <vector>

#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/gradients/tape.h"
#include "ir/graph/op_ids.h"

namespace md {

namespace {

// Gradients of results go on to them as they are; further operands get zeros.
class ChoiceNode final : public GradNode {
 public:
  ChoiceNode(std::span<const TensorRef> chosen, std::span<const TensorRef> others) {
    results = static_cast<int>(chosen.size());
    for (const TensorRef& t : chosen) edges.push_back(t->requires_grad ? grad_edge(t) : GradEdge{});
    for (const TensorRef& t : chosen) chosen_.push_back(type_of(Arg(t)));
    for (const TensorRef& t : others) {
      edges.push_back(grad_edge(t));
      others_.push_back(type_of(Arg(t)));
    }
  }
  std::string own_name() const override { return "CondAutogradOpBackward"; }
  bool only_calls_ops() const override { return true; }
  std::optional<TensorType> result_type(int i) const override { return chosen_[static_cast<std::size_t>(i)]; }

  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override {
    std::vector<TensorRef> out(grads.begin(), grads.end());
    for (std::size_t i = 0; i < others_.size(); ++i) {
      if (!step.wants(grads.size() + i)) {
        out.emplace_back();
        continue;
      }
      ListArg sizes;
      for (Size s : others_[i].sizes) sizes.items.emplace_back(s.value());
      out.push_back(backward_caller().call(id::Zeros, {sizes, others_[i].dtype}).get<TensorRef>());
    }
    return out;
  }

 private:
  std::vector<TensorType> chosen_, others_;
};

// Nodes that results are computed from, by floating-point values all the way.
std::unordered_set<const Node*> nodes_behind_results(const Graph& g) {
  std::unordered_set<const Node*> found;
  const auto add = [&](const Node& n) {
    for (Arg a : n.args) for_each_node(a, [&](Node* in) { found.insert(in); });
    for (auto [key, a] : n.kwargs) for_each_node(a, [&](Node* in) { found.insert(in); });
  };
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
    const Node& node = **n;
    const bool flows = node.types.empty() || is_differentiable(node.types[0].dtype);
    if (node.kind == NodeKind::Output || (found.contains(&node) && flows)) add(node);
  }
  return found;
}

}  // namespace

void depend_on_untaken(const Graph& untaken, std::span<const TensorRef> inputs, std::span<TensorRef> results) {
  if (!grad_enabled()) return;
  std::vector<TensorRef> others, chosen;
  const std::unordered_set<const Node*> behind = nodes_behind_results(untaken);
  std::size_t k = 0;
  for (const Node* p : untaken.placeholders()) {
    if (k == inputs.size()) break;
    const TensorRef& t = inputs[k++];
    if (t->requires_grad && behind.contains(p)) others.push_back(t);
  }
  if (others.empty()) return;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_differentiable(results[i]->dtype)) continue;
    places.push_back(i);
    chosen.push_back(results[i]);
  }
  if (chosen.empty()) return;
  const Ref<GradNode> node = make_ref<ChoiceNode>(chosen, others);
  for (std::size_t i = 0; i < places.size(); ++i) {
    TensorRef& t = results[places[i]];
    t = alias_of(*t);
    set_history(*t, node, static_cast<int>(i));
  }
}

}  // namespace md
