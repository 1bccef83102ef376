// Adding to the `grad` of a tensor.
#include "ir/gradients/tape.h"

namespace md {

TapeRunner& tape_runner() {
  static TapeRunner runner;
  return runner;
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

// A gradient that others hold as well is copied: it will be added to in place.
bool is_ours(const TensorImpl& g) {
  const bool through_base = g.base && g.base->use_count() == 1 && g.base->storage == g.storage;
  return g.use_count() <= 2 && g.storage->use_count() <= (through_base ? 2 : 1);
}

}  // namespace

void add_to_grad(TensorImpl& t, TensorRef g) {
  GradRecord& r = make_grad_record(t);
  if (!r.grad) {
    const bool own = is_ours(*g) && has_layout_of(*g, t);
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
