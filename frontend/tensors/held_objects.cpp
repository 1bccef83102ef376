// Walks over the record of gradients for the garbage collector.
#include "frontend/tensors/held_objects.h"

#include "ir/core/small_vector.h"
#include "ir/tensor/handled.h"

namespace md {

namespace {

class Walk {
 public:
  Walk(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}

  void tensor(const TensorImpl& t) {
    if (t.base && t.base->use_count() == 1) tensors_.push_back(t.base.get());
    if (const Handled* h = handled_of(t); h && h->use_count() == 1 && h->kept) held(*h->kept);
    const GradRecord* r = grad_record(t);
    if (!r) return;
    if (r->node && r->node->use_count() == 1) nodes_.push_back(r->node.get());
    if (r->grad && r->grad->use_count() == 1) tensors_.push_back(r->grad.get());
    if (r->grad_face) held(*r->grad_face);
    for (const GradHooks* hooks : {&r->hooks, &r->accumulated})
      for (const Ref<GradHook>& h : *hooks) held(*h);
  }

  void node(const GradNode& n) {
    n.for_each_held([this](RefCounted& part) {
      if (const auto* t = dynamic_cast<const TensorImpl*>(&part))
        tensors_.push_back(t);
      else
        held(part);
    });
    for (const GradEdge& e : n.edges)
      if (e.node && e.node->use_count() == 1) nodes_.push_back(e.node.get());
  }

  int rest() {
    while (!answer_ && !(nodes_.empty() && tensors_.empty())) {
      if (!nodes_.empty()) {
        const GradNode* next = nodes_.back();
        nodes_.pop_back();
        node(*next);
      } else {
        const TensorImpl* next = tensors_.back();
        tensors_.pop_back();
        tensor(*next);
      }
    }
    return answer_;
  }

 private:
  void held(const RefCounted& part) {
    if (part.use_count() != 1) return;
    if (const auto* holder = dynamic_cast<const ObjectHolder*>(&part)) visit(*holder);
  }
  void visit(const ObjectHolder& holder) {
    if (!answer_) answer_ = holder.traverse(visit_, arg_);
  }

  visitproc visit_;
  void* arg_;
  int answer_ = 0;
  SmallVector<const GradNode*, 8> nodes_;
  SmallVector<const TensorImpl*, 8> tensors_;
};

}  // namespace

int traverse_tensor(const TensorImpl& t, visitproc visit, void* arg) {
  if (ObjectHolder::alive == 0 || t.use_count() != 1) return 0;
  Walk walk(visit, arg);
  walk.tensor(t);
  return walk.rest();
}

int traverse_node(const GradNode& node, visitproc visit, void* arg) {
  if (ObjectHolder::alive == 0 || node.use_count() != 1) return 0;
  Walk walk(visit, arg);
  walk.node(node);
  return walk.rest();
}

void clear_tensor(TensorImpl& t) {
  if (t.use_count() != 1) return;
  const Ref<RefCounted> record = std::move(t.autograd);
  const Ref<TensorImpl> base = std::move(t.base);
  Handled* const h = handled_of(t);
  if (!h) return;
  const Ref<RefCounted> kept = std::move(h->kept);
}

void clear_node(GradNode& node) {
  if (node.use_count() != 1) return;
  const std::unique_ptr<NodeExtras> extras = std::move(node.extras);
  if (extras && extras->self) *extras->self = nullptr;
  std::vector<GradEdge> edges(node.edges.size());
  edges.swap(node.edges);
}

}  // namespace md
