// Adding to the `grad` of a tensor.
#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/shown_gradients.h"
#include "ir/gradients/tape.h"
#include "ir/tensor/handled.h"

namespace md {

TapeRunner& tape_runner() {
  static TapeRunner runner;
  return runner;
}

ShownGradients& shown_gradients() {
  static ShownGradients shown;
  return shown;
}

namespace {

OpCaller& caller() { return *tape_runner().caller; }

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

// A gradient whose memory others have as well is copied: it will be added to in place.
bool has_own_memory(const TensorImpl& g) {
  const bool through_base = g.base && g.base->use_count() == 1 && g.base->storage == g.storage;
  return g.storage->use_count() <= (through_base ? 2 : 1);
}

}  // namespace

// Whether nobody else has the tensor: the object that a handler knows it by goes with it.
static bool is_only_here(const TensorRef& g) {
  const Handled* const h = handled_of(*g);
  return g->use_count() == (h && h->kept ? 2u : 1u);
}

void add_to_grad(TensorImpl& t, const TensorRef& g) {
  if (BackwardRecorder* recorder = backward_recorder()) return recorder->accumulate(TensorRef(&t), g);
  add_to_grad_now(t, g, is_only_here(g));
}

void add_to_grad_now(TensorImpl& t, const TensorRef& g, bool ours) {
  GradRecord& r = make_grad_record(t);
  if (!r.grad) {
    if (in_transform() && shown_gradients().first) {
      if (TensorRef shown = shown_gradients().first(g, TensorRef(&t), ours && has_layout_of(*g, t))) {
        r.grad = std::move(shown);
        r.grad_face = nullptr;
        return;
      }
    }
    const bool own = ours && has_own_memory(*g) && has_layout_of(*g, t);
    if (own && !grad_enabled()) g->base = nullptr;
    r.grad = own || grad_enabled() ? g : copy_laid_out(g, t);
    r.grad_face = nullptr;
  } else if (grad_enabled()) {
    r.grad = caller().call(id::Add, {r.grad, g}).get<TensorRef>();
    r.grad_face = nullptr;
  } else {
    const std::vector<Arg> args{r.grad, g};
    tape_runner().inplace(op(id::Add), std::span<const Arg>(args));
  }
}

}  // namespace md
