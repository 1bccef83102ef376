// Records the parts of a composite as ops on rows and hands it to the runner that the backend installed.
#include "ir/run/sweep.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "ir/infer/composite.h"
#include "ir/infer/infer.h"
#include "ir/run/eager.h"

namespace md {
namespace {

constexpr std::int64_t kLeastElements = 1 << 14;

std::atomic<SweepRunner> installed{nullptr};

// Notes parts with their types as long as they are pointwise or reductions. Others are run at once; after one that
// needs what was noted, which is then run before it, so are all.
class Recorder final : public OpCaller {
 public:
  using OpCaller::call;
  Arg call(const Op& inner, std::vector<Arg> bound) override {
    if (inner.kind() == OpKind::Composite) return expand(inner, *this, bound);
    const bool known = inner.kind() == OpKind::Pointwise || inner.kind() == OpKind::Reduction;
    if (running_ || !known || inner.schema.results != 1) {
      if (!running_ && std::ranges::none_of(bound, is_noted)) return call_op(inner, bound);
      run_noted();
      return call_op(inner, values_of(bound));
    }
    check_enabled(inner);
    auto n = std::make_unique<Node>();
    n->kind = NodeKind::Op;
    n->op = inner.id;
    n->types = infer(inner, bound);
    n->args = std::move(bound);
    parts_.push_back(std::move(n));
    return parts_.back().get();
  }

  Arg finish(const Arg& result, SweepRunner runner, TensorImpl* into) {
    if (into && fits(result, *into) && runner(parts_, *into)) return TensorRef(into);
    if (const TensorRef out = running_ ? nullptr : room_for(result)) {
      if (runner(parts_, *out)) return out;
    }
    run_noted();
    return value_of(result);
  }

 private:
  static bool is_noted(const Arg& a) {
    const auto* l = a.get_if<ListArg>();
    return l ? std::ranges::any_of(l->items, is_noted) : a.is<Node*>();
  }

  // What will be allocated for the last part, if that is the result and row-major.
  TensorRef room_for(const Arg& result) const {
    const auto* last = result.get_if<Node*>();
    if (!last || parts_.size() < 2 || *last != parts_.back().get()) return nullptr;
    const TensorType& t = (*last)->type();
    if (!is_row_major(t.sizes, t.strides)) return nullptr;
    DimVec sizes;
    for (const Size s : t.sizes) sizes.push_back(s.value());
    TensorRef out = empty_tensor(sizes, t.dtype);
    out->set_grad_state(t.grad_state());
    return out;
  }

  bool fits(const Arg& result, const TensorImpl& into) const {
    const auto* last = result.get_if<Node*>();
    if (running_ || !last || parts_.size() < 2 || *last != parts_.back().get() || !into.is_contiguous()) return false;
    const auto row_by_row = [&](const std::unique_ptr<Node>& n) {
      return op(n->op).kind() == OpKind::Pointwise && same_sizes(n->type(), into);
    };
    return (*last)->type().dtype == into.dtype && std::ranges::all_of(parts_, row_by_row);
  }
  static bool same_sizes(const TensorType& t, const TensorImpl& into) {
    bool same = t.sizes.size() == into.sizes.size();
    for (std::size_t i = 0; same && i < into.sizes.size(); ++i) same = t.sizes[i].is_const(into.sizes[i]);
    return same;
  }

  void run_noted() {
    if (running_) return;
    running_ = true;
    for (const auto& n : parts_) values_[n.get()] = call_op(op(n->op), values_of(n->args));
  }
  Arg value_of(const Arg& a) const {
    if (const auto* n = a.get_if<Node*>()) return values_.at(*n);
    const auto* l = a.get_if<ListArg>();
    return l ? Arg(ListArg{values_of(l->items), l->tuple}) : a;
  }
  std::vector<Arg> values_of(const std::vector<Arg>& args) const {
    std::vector<Arg> values;
    values.reserve(args.size());
    for (const Arg& a : args) values.push_back(value_of(a));
    return values;
  }

  std::vector<std::unique_ptr<Node>> parts_;
  bool running_ = false;
  std::map<const Node*, Arg> values_;
};

}  // namespace

void set_sweep_runner(SweepRunner runner) { installed.store(runner, std::memory_order_release); }

bool worth_sweeping(std::span<const Arg> bound) {
  const auto* x = bound.empty() ? nullptr : bound[0].get_if<TensorRef>();
  return x && is_floating((*x)->dtype) && (*x)->numel() >= kLeastElements && (*x)->is_contiguous() &&
         (*x)->device().is_cpu() && installed.load(std::memory_order_acquire);
}

Arg run_swept(const Op& composite, std::span<const Arg> bound, TensorImpl* into) {
  Recorder recorder;
  const Arg result = expand(composite, recorder, bound);
  return recorder.finish(result, installed.load(std::memory_order_acquire), into);
}

}  // namespace md
