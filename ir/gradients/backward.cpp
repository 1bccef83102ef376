// backward(): gradients go from the roots back through the nodes, each once, when all that reach it have come.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/gradients/tape.h"

namespace md {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw OpError(ErrorKind::Runtime, text); }

OpCaller& caller() { return *tape_runner().caller; }

TensorRef sum_of(const TensorRef& a, const TensorRef& b) { return caller().call(id::Add, {a, b}).get<TensorRef>(); }

struct Later {
  bool operator()(const GradNode* a, const GradNode* b) const { return a->order < b->order; }
};

struct Capture {
  std::size_t input;
  int result;
};

class Backward {
 public:
  explicit Backward(const BackwardCall& call) : call_(call), found_(call.inputs.size()) {}
  ~Backward() {
    for (const auto& [e, hook] : watched_) std::erase(e.node->hooks[static_cast<std::size_t>(e.result)], hook);
  }
  Backward(const Backward&) = delete;

  std::vector<TensorRef> run() {
    const GradMode mode(call_.create_graph);
    std::vector<GradEdge> starts;
    for (std::size_t i = 0; i < call_.roots.size(); ++i) starts.push_back(start(i));
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) capture(i);
    count_uses(starts);
    if (!call_.inputs.empty()) find_needed(starts);
    for (std::size_t i = 0; i < starts.size(); ++i) arrive(starts[i], root_gradient(i));
    while (!ready_.empty()) {
      GradNode* node = ready_.top();
      ready_.pop();
      visit(*node);
    }
    return std::move(found_);
  }

 private:
  GradEdge start(std::size_t i) {
    const TensorRef& root = call_.roots[i];
    if (!root->requires_grad)
      refuse("element " + std::to_string(i) + " of tensors does not require grad and does not have a grad_fn");
    GradEdge e = grad_edge(root);
    held_.push_back(e.node);
    return e;
  }

  TensorRef root_gradient(std::size_t i) const {
    const TensorImpl& root = *call_.roots[i];
    if (const TensorRef& given = call_.grads[i]) {
      if (!(given->sizes == root.sizes)) {
        refuse(fmt::format("Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}.", i,
                           sizes_text(type_of(Arg(given)).sizes), i, sizes_text(type_of(Arg(call_.roots[i])).sizes)));
      }
      return given;
    }
    if (root.numel() != 1) refuse("grad can be implicitly created only for scalar outputs");
    return caller().call(id::FullLike, {call_.roots[i], 1.0}).get<TensorRef>();
  }

  void capture(std::size_t i) {
    const TensorRef& x = call_.inputs[i];
    if (!x->requires_grad) refuse("One of the differentiated Tensors does not require grad");
    const GradEdge e = grad_edge(x);
    held_.push_back(e.node);
    if (!e.node->runs_hooks()) return captures_[e.node.get()].push_back({i, e.result});
    captures_[e.node.get()];
    e.node->hooks.resize(static_cast<std::size_t>(e.node->results));
    GradHooks& hooks = e.node->hooks[static_cast<std::size_t>(e.result)];
    hooks.push_back(make_ref<CaptureHook>(*this, i));
    watched_.push_back({e, hooks.back()});
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

  void visit(GradNode& node) {
    std::vector<TensorRef> grads = std::move(arrived_[&node]);
    arrived_.erase(&node);
    if (!node.runs_hooks()) run_hooks(node, grads);
    const auto asked = captures_.find(&node);
    if (asked != captures_.end()) {
      for (const Capture& c : asked->second) take(c, grads[static_cast<std::size_t>(c.result)]);
    }
    const bool work =
        call_.inputs.empty() || (node.runs_hooks() && asked != captures_.end()) ||
        std::ranges::any_of(node.edges, [&](const GradEdge& e) { return e.node && needed_.contains(e.node.get()); });
    std::vector<TensorRef> out;
    if (work && std::ranges::any_of(grads, [](const TensorRef& g) { return bool(g); })) {
      if (node.is_spent()) {
        refuse(
            "Trying to backward through the graph a second time: what it saved was freed by the first backward(). Pass "
            "retain_graph=True to the first one, or compute the loss again.");
      }
      out = node.backward(grads, call_.keep_graph);
    }
    out.resize(node.edges.size());
    for (std::size_t i = 0; i < node.edges.size(); ++i)
      if (node.edges[i].node) arrive(node.edges[i], out[i]);
  }

  void run_hooks(GradNode& node, std::vector<TensorRef>& grads) {
    for (std::size_t i = 0; i < node.hooks.size() && i < grads.size(); ++i) {
      const GradHooks hooks = node.hooks[i];
      for (const Ref<GradHook>& h : hooks) {
        if (!grads[i]) break;
        if (TensorRef other = h->call(grads[i])) grads[i] = std::move(other);
      }
    }
  }

  void take(const Capture& c, const TensorRef& g) {
    if (!g) return;
    if (call_.accumulate_into_inputs)
      add_to_grad(*call_.inputs[c.input], g);
    else
      found_[c.input] = g;
  }

  const BackwardCall& call_;
  std::vector<TensorRef> found_;
  std::vector<Ref<GradNode>> held_;
  std::vector<std::pair<GradEdge, Ref<GradHook>>> watched_;
  std::unordered_map<GradNode*, int> uses_;
  std::unordered_map<GradNode*, bool> needed_;
  std::unordered_map<GradNode*, std::vector<Capture>> captures_;
  std::unordered_map<GradNode*, std::vector<TensorRef>> arrived_;
  std::priority_queue<GradNode*, std::vector<GradNode*>, Later> ready_;
};

}  // namespace

TapeRunner& tape_runner() {
  static TapeRunner runner;
  return runner;
}

namespace {

// `grad` lies in memory as its leaf does, row-major where the leaf has gaps or overlaps.
SizeVec layout_of_grad(const TensorImpl& t) {
  return like_strides(type_of(Arg(TensorRef(const_cast<TensorImpl*>(&t)))));
}

bool has_layout_of(const TensorImpl& g, const TensorImpl& t) {
  const SizeVec wanted = layout_of_grad(t);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (t.sizes[i] != 1 && !wanted[i].is_const(g.strides[i])) return false;
  return true;
}

TensorRef copy_laid_out(const TensorRef& g, const TensorImpl& t) {
  if (has_layout_of(*g, t) || t.is_contiguous())
    return caller().call(t.is_contiguous() ? id::Compact : id::Clone, {g}).get<TensorRef>();
  const TensorRef like(const_cast<TensorImpl*>(&t));
  const TensorRef made = caller().call(id::FullLike, {like, 0.0}).get<TensorRef>();
  const std::vector<Arg> args{made, g};
  tape_runner().inplace(op(id::Copy), std::span<const Arg>(args));
  return made;
}

}  // namespace

void add_to_grad(TensorImpl& t, TensorRef g) {
  GradRecord& r = make_grad_record(t);
  if (!r.grad) {
    // A gradient that others hold as well is copied: it will be added to in place.
    const bool own = g->use_count() <= 2 && g->storage->use_count() <= 1 && has_layout_of(*g, t);
    r.grad = own || grad_enabled() ? g : copy_laid_out(g, t);
    r.grad_face = nullptr;
  } else if (grad_enabled()) {
    r.grad = sum_of(r.grad, g);
    r.grad_face = nullptr;
  } else {
    const std::vector<Arg> args{r.grad, g};
    tape_runner().inplace(op(id::Add), std::span<const Arg>(args));
  }
}

std::vector<TensorRef> run_backward(const BackwardCall& call) { return Backward(call).run(); }

}  // namespace md
