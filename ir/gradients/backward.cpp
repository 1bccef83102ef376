// backward(): gradients go from the roots back through the nodes, each once, when all that reach it have come.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/gradients/anomaly.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/tape.h"
#include "ir/tensor/batched.h"

namespace md {

namespace {

thread_local GradNode* under_way = nullptr;

// What a node's backward() makes belongs to it.
class UnderWay {
 public:
  explicit UnderWay(GradNode& node) : before_(std::exchange(under_way, &node)) {}
  ~UnderWay() { under_way = before_; }
  UnderWay(const UnderWay&) = delete;

 private:
  GradNode* before_;
};

[[noreturn]] void refuse(const std::string& text) { throw OpError(ErrorKind::Runtime, text); }

TensorRef sum_of(const TensorRef& a, const TensorRef& b) {
  return backward_caller().call(id::Add, {a, b}).get<TensorRef>();
}

bool is_any(std::span<const TensorRef> grads) {
  return std::ranges::any_of(grads, [](const TensorRef& g) { return static_cast<bool>(g); });
}

// Nodes made by their order; of those that add to a leaf, which have none, any.
struct Later {
  bool operator()(const GradNode* a, const GradNode* b) const { return a->order < b->order; }
};

struct Capture {
  std::size_t input;
  int result;
};

// The gradient that backward() is given for a root, in the root's dtype.
TensorRef given_gradient(const TensorRef& given, const std::optional<TensorType>& root, std::size_t i) {
  if (!root) return given;
  const TensorType type = type_of(Arg(given));
  if (!(type.sizes == root->sizes)) {
    refuse(fmt::format("Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}.", i,
                       sizes_text(type.sizes), i, sizes_text(root->sizes)));
  }
  if (is_complex(type.dtype) != is_complex(root->dtype)) {
    refuse(
        fmt::format("Mismatch in dtype: grad_output[{}] has a dtype of torch.{} and output[{}] has a dtype of "
                    "torch.{}. Where one of them is complex, both have to be.",
                    i, info(type.dtype).name, i, info(root->dtype).name));
  }
  const TensorRef here = beside(given, root->device, "backward()", i);
  if (type.dtype == root->dtype) return here;
  return backward_caller().call(id::Convert, {here, root->dtype}).get<TensorRef>();
}

// The 1 of a root of one element.
TensorRef one_for(const GradTarget& root, const std::optional<TensorType>& type) {
  if (!type || !product(type->sizes).is_const(1)) refuse("grad can be implicitly created only for scalar outputs");
  if (is_complex(type->dtype)) {
    refuse("grad can be implicitly created only for real scalar outputs but got torch." +
           std::string(info(type->dtype).name));
  }
  if (root.tensor && in_transform()) return backward_caller().call(id::OnesLike, {root.tensor}).get<TensorRef>();
  if (root.tensor) return backward_caller().call(id::FullLike, {root.tensor, 1.0}).get<TensorRef>();
  return backward_caller().call(id::Full, {sizes_arg(type->sizes), 1.0, type->dtype}).get<TensorRef>();
}

class Backward {
 public:
  explicit Backward(const BackwardCall& call) : call_(call), found_(call.inputs.size()) {}
  ~Backward() {
    for (const auto& [e, hook] : watched_) std::erase(e.node->hooks_of_result(e.result), hook);
  }
  Backward(const Backward&) = delete;

  std::vector<TensorRef> run() {
    const GradMode mode(call_.create_graph);
    const RecordedBy recorded(call_.create_graph || anomaly_enabled() ? nullptr : call_.recorder);
    try {
      walk();
    } catch (...) {
      finish_recorded();  // what came before the failure takes place
      throw;
    }
    finish_recorded();
    return std::move(found_);
  }

 private:
  void walk() {
    std::vector<GradEdge> starts;
    for (std::size_t i = 0; i < call_.roots.size(); ++i) starts.push_back(start(i));
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) capture(i);
    count_uses(starts);
    if (!call_.inputs.empty()) find_needed(starts);
    for (std::size_t i = 0; i < starts.size(); ++i) arrive(starts[i], root_gradient(i, starts[i]));
    while (!ready_.empty()) {
      GradNode* node = ready_.top();
      ready_.pop();
      visit(*node);
    }
  }

  void finish_recorded() {
    BackwardRecorder* const recorder = backward_recorder();
    if (!recorder || recorder->has_failed()) return;
    recorder->run();
    for (const Ref<GradNode>& node : recorded_) node->forget_saved();
  }

  GradEdge start(std::size_t i) {
    const GradTarget& root = call_.roots[i];
    if (root.tensor) follow_base(root.tensor);
    if (root.tensor && !root.tensor->requires_grad)
      refuse("element " + std::to_string(i) + " of tensors does not require grad and does not have a grad_fn");
    return edge_of(root);
  }

  GradEdge edge_of(const GradTarget& t) {
    GradEdge e = t.tensor ? grad_edge(t.tensor) : t.edge;
    if (!e.node) refuse("a gradient edge without a node leads nowhere");
    if (e.result < 0 || e.result >= e.node->results)
      refuse(fmt::format("{} has {} results, and none has the number {}", e.node->name(), e.node->results, e.result));
    held_.push_back(e.node);
    return e;
  }

  TensorRef root_gradient(std::size_t i, const GradEdge& e) const {
    const GradTarget& root = call_.roots[i];
    const auto type = root.tensor ? type_of(Arg(root.tensor)) : e.node->result_type(e.result);
    return call_.grads[i] ? given_gradient(call_.grads[i], type, i) : one_for(root, type);
  }

  void capture(std::size_t i) {
    const GradTarget& x = call_.inputs[i];
    if (x.tensor && !x.tensor->requires_grad) refuse("One of the differentiated Tensors does not require grad");
    const GradEdge e = edge_of(x);
    std::vector<Capture>& here = captures_[e.node.get()];
    if (e.node->runs_hooks()) {
      GradHooks& hooks = e.node->hooks_of_result(e.result);
      hooks.push_back(make_ref<CaptureHook>(*this, i));
      watched_.push_back({e, hooks.back()});
      return;
    }
    const auto same = [&](const Capture& c) { return c.result == e.result; };
    if (!call_.accumulate_into_inputs || std::ranges::none_of(here, same)) here.push_back({i, e.result});
  }

  // Tells the gradient of an input that is a result of a node which runs its hooks.
  class CaptureHook final : public GradHook {
   public:
    CaptureHook(Backward& to, std::size_t input) : to_(to), input_(input) {}
    TensorRef call(const TensorRef& gradient) override {
      to_.take({input_, 0}, gradient);
      return nullptr;
    }

   private:
    Backward& to_;
    std::size_t input_;
  };

  // How many edges lead to each node that the roots reach.
  void count_uses(const std::vector<GradEdge>& starts) {
    std::vector<GradNode*> open;
    for (const GradEdge& e : starts) {
      if (uses_.emplace(e.node.get(), 0).second) open.push_back(e.node.get());
    }
    for (const GradEdge& e : starts) ++uses_[e.node.get()];
    while (!open.empty()) {
      GradNode* node = open.back();
      open.pop_back();
      for (const GradEdge& e : node->edges) {
        if (!e.node) continue;
        const auto [at, fresh] = uses_.emplace(e.node.get(), 0);
        ++at->second;
        if (fresh) open.push_back(e.node.get());
      }
    }
  }

  // Nodes from which an input is reached: only these are worked out.
  void find_needed(const std::vector<GradEdge>& starts) {
    struct Step {
      GradNode* node;
      std::size_t edge;
    };
    std::vector<Step> path;
    std::unordered_map<GradNode*, bool> seen;
    const auto enter = [&](GradNode* n) {
      if (!seen.emplace(n, true).second) return;
      path.push_back({n, 0});
    };
    for (const GradEdge& s : starts) {
      enter(s.node.get());
      while (!path.empty()) {
        Step& top = path.back();
        if (top.edge < top.node->edges.size()) {
          if (GradNode* next = top.node->edges[top.edge++].node.get()) enter(next);
          continue;
        }
        GradNode* done = top.node;
        path.pop_back();
        const bool needed = captures_.contains(done) || std::ranges::any_of(done->edges, [&](const GradEdge& e) {
                              return e.node && needed_.contains(e.node.get());
                            });
        if (needed) needed_.emplace(done, true);
      }
    }
  }

  void arrive(const GradEdge& to, const TensorRef& g) {
    GradNode* node = to.node.get();
    std::vector<TensorRef>& got = arrived_[node];
    got.resize(static_cast<std::size_t>(node->results));
    TensorRef& slot = got[static_cast<std::size_t>(to.result)];
    if (g) slot = slot ? sum_of(slot, g) : g;
    if (--uses_[node] == 0) ready_.push(node);
  }

  // Inputs that are leaves accumulate as leaves do.
  bool accumulates(GradNode& node) const {
    return call_.accumulate_into_inputs && captures_.contains(&node) && accumulated_leaf(node);
  }
  // Whether it is on a way from a root to an input, or there are none to choose from.
  bool is_needed(GradNode& node) const { return call_.inputs.empty() || needed_.contains(&node); }

  void visit(GradNode& node) {
    std::vector<TensorRef> grads = std::move(arrived_[&node]);
    arrived_.erase(&node);
    std::vector<TensorRef> out;
    if (is_needed(node)) {
      try {
        out = gradients_of_operands(node, grads);
      } catch (...) {
        if (anomaly_enabled() && anomaly_sink()) anomaly_sink()->failed(node);
        throw;
      }
    }
    out.resize(node.edges.size());
    for (std::size_t i = 0; i < node.edges.size(); ++i)
      if (node.edges[i].node) arrive(node.edges[i], out[i]);
  }

  std::vector<TensorRef> gradients_of_operands(GradNode& node, std::vector<TensorRef>& grads) {
    if (!node.runs_hooks()) run_hooks(node, grads);
    const auto asked = captures_.find(&node);
    if (asked != captures_.end() && !accumulates(node))
      for (const Capture& c : asked->second) take(c, grads[static_cast<std::size_t>(c.result)]);
    std::vector<bool> needed;
    const bool choose = !call_.inputs.empty() && !accumulates(node);
    if (choose) {
      for (const GradEdge& e : node.edges) needed.push_back(e.node && needed_.contains(e.node.get()));
      const bool tells = node.runs_hooks() && asked != captures_.end();
      if (!tells && std::ranges::find(needed, true) == needed.end()) return {};
    }
    if (!is_any(grads)) return {};
    return call_node(node, grads, {call_.keep_graph, choose ? &needed : nullptr});
  }

  std::vector<TensorRef> call_node(GradNode& node, std::vector<TensorRef>& grads, const BackwardStep& step) {
    if (node.is_spent()) {
      refuse(
          "Trying to backward through the graph a second time: what it saved was freed by the first backward(). Pass "
          "retain_graph=True to the first one, or compute the loss again.");
    }
    const UnderWay here(node);
    BackwardRecorder* const recorder = backward_recorder();
    const bool hooked = node.extras && (node.extras->before || node.extras->after);
    if (recorder && !hooked && node.only_calls_ops()) {
      if (!step.keep) recorded_.emplace_back(&node);
      return node.backward(grads, {true, step.needed});
    }
    if (recorder) recorder->run();
    const RecordedBy nobody(nullptr);
    if (node.extras && node.extras->before) Ref<NodeHook>(node.extras->before)->call(grads, {});
    if (!is_any(grads)) return {};
    std::vector<TensorRef> out = node.backward(grads, step);
    if (node.extras && node.extras->after) Ref<NodeHook>(node.extras->after)->call(out, grads);
    if (anomaly_enabled()) expect_no_nan(node, out);
    return out;
  }

  static void run_hooks(GradNode& node, std::vector<TensorRef>& grads) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i]) continue;
      for (const Ref<GradHook>& h : node.tensor_hooks(static_cast<int>(i)))
        if (TensorRef other = through_hook(h, grads[i])) grads[i] = std::move(other);
    }
  }

  static TensorRef through_hook(const Ref<GradHook>& hook, const TensorRef& gradient) {
    BackwardRecorder* const recorder = backward_recorder();
    if (!recorder || hook->only_calls_ops()) return hook->call(gradient);
    if (hook->is_a_step()) return recorder->hook(hook, gradient);
    recorder->run();
    const RecordedBy nobody(nullptr);
    return hook->call(gradient);
  }

  void take(const Capture& c, const TensorRef& g) {
    if (!g) return;
    const GradTarget& input = call_.inputs[c.input];
    if (!call_.accumulate_into_inputs)
      found_[c.input] = g;
    else if (input.tensor)
      add_to_grad(*input.tensor, g);
  }

  const BackwardCall& call_;
  std::vector<TensorRef> found_;
  std::vector<Ref<GradNode>> held_;
  std::vector<std::pair<GradEdge, Ref<GradHook>>> watched_;
  std::vector<Ref<GradNode>> recorded_;  // keep what they saved until the recorded steps are done
  std::unordered_map<GradNode*, int> uses_;
  std::unordered_map<GradNode*, bool> needed_;
  std::unordered_map<GradNode*, std::vector<Capture>> captures_;
  std::unordered_map<GradNode*, std::vector<TensorRef>> arrived_;
  std::priority_queue<GradNode*, std::vector<GradNode*>, Later> ready_;
};

}  // namespace

TensorRef beside(const TensorRef& gradient, Device want, std::string_view giver, std::size_t i) {
  const TensorType type = type_of(Arg(gradient));
  if (type.device == want || !type.device.has_memory() || !want.has_memory()) return gradient;
  if (type.dim() == 0) return backward_caller().call(id::CopyToDevice, {gradient, want}).get<TensorRef>();
  refuse(fmt::format("{} got an invalid gradient at index {} - expected device {} but got {}", giver, i,
                     to_string(want), to_string(type.device)));
}

GradNode* node_under_way() { return under_way; }

std::vector<TensorRef> run_backward(const BackwardCall& call) { return Backward(call).run(); }

}  // namespace md
