// Writes in place: the history of a tensor, and of what it is a part of, goes through them.
#include <algorithm>
#include <numeric>

#include "ir/core/error.h"
#include "ir/gradients/backward_recorder.h"
#include "ir/gradients/call_node.h"
#include "ir/gradients/function_views.h"
#include "ir/gradients/unrecorded.h"
#include "ir/tensor/lazy_view.h"

namespace md {

namespace {

// The dimensions of a tensor without gaps, from the one whose elements lie farthest apart on; nothing for others.
std::optional<std::vector<int>> order_in_memory(const TensorImpl& t) {
  std::vector<int> order(t.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return t.strides[a] > t.strides[b]; });
  DimVec sizes, strides;
  for (const int i : order) sizes.push_back(t.sizes[i]), strides.push_back(t.strides[i]);
  const TensorImpl turned(t.storage, t.dtype, sizes, strides, t.offset);
  return turned.is_contiguous() ? std::optional(order) : std::nullopt;
}

Arg dims_list(const std::vector<int>& dims) {
  ListArg list;
  for (const int i : dims) list.items.emplace_back(Size(i));
  return list;
}

// A write to a part of a tensor: outside of the part its gradient goes on as it is, inside through the call.
class PartWriteNode final : public GradNode {
 public:
  // The part is operand `written` of `inner`.
  PartWriteNode(Ref<GradNode> inner, std::size_t written, const TensorRef& base, const TensorImpl& part,
                const std::vector<int>& order)
      : inner_(std::move(inner)),
        written_(written),
        part_(type_of(Arg(alias_of(part)))),
        base_(type_of(Arg(base))),
        order_(order),
        back_(order.size()) {
    // The elements of the base that lie where the part begins, counted as the part's are.
    const auto counted = [&](DType t) { return static_cast<std::int64_t>(item_size(t)); };
    part_.offset = part.offset - base->offset * counted(base->dtype) / counted(part.dtype);
    for (std::size_t i = 0; i < order_.size(); ++i) back_[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
    edges.push_back(grad_edge(base));
    for (std::size_t i = 0; i < inner_->edges.size(); ++i)
      if (i != written_) edges.push_back(inner_->edges[i]);
  }
  std::string own_name() const override { return "CopySlices"; }
  bool is_spent() const override { return inner_->is_spent(); }
  bool only_calls_ops() const override { return inner_->only_calls_ops(); }
  void forget_saved() override { inner_->forget_saved(); }
  std::optional<TensorType> result_type(int) const override { return base_; }
  void for_each_held(const std::function<void(RefCounted&)>& f) const override {
    GradNode::for_each_held(f);
    if (inner_->use_count() == 1) inner_->for_each_held(f);
  }
  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override {
    OpCaller& caller = backward_caller();
    const Arg turned = caller.call(id::Permute, {grads[0], dims_list(order_)});
    const Arg whole = as_elements(caller, caller.call(id::Compact, {turned}), part_.dtype);  // as the base lies
    const Arg sizes = sizes_arg(part_.sizes), strides = sizes_arg(part_.strides);
    const TensorRef inside[] = {caller.call(id::AsStrided, {whole, sizes, strides, part_.offset}).get<TensorRef>()};
    std::vector<TensorRef> of_inner = inner_->backward(inside, {step.keep, nullptr});
    std::vector<TensorRef> out(1);
    if (edges[0].node) {
      const TensorRef& flows = of_inner[written_];
      const Arg left = flows ? Arg(flows) : caller.call(id::FullLike, {inside[0], 0.0});
      const Arg written = caller.call(id::WriteView, {whole, left, strides, part_.offset});
      const Arg back = as_elements(caller, written, base_.dtype);
      const Arg shaped = back == written ? written : caller.call(id::View, {back, sizes_arg(type_of(turned).sizes)});
      out[0] = caller.call(id::Permute, {shaped, dims_list(back_)}).get<TensorRef>();
    }
    for (std::size_t i = 0; i < of_inner.size(); ++i)
      if (i != written_) out.push_back(std::move(of_inner[i]));
    return out;
  }

 private:
  // A contiguous tensor as pairs of parts, or as what they are parts of.
  static Arg as_elements(OpCaller& caller, const Arg& x, DType wanted) {
    const DType have = type_of(x).dtype;
    if (have == wanted) return x;
    if (is_complex(have)) return caller.call(id::ViewAsReal, {x});
    return caller.call(id::ViewAsComplex, {caller.call(id::View, {x, ListArg{{Arg(-1), Arg(2)}}})});
  }

  Ref<GradNode> inner_;
  std::size_t written_;
  TensorType part_, base_;
  std::vector<int> order_, back_;
};

constinit IsFunctionView is_function_view = nullptr;

void check_function_view(const TensorImpl& target) {
  const GradRecord* const record = grad_record(target.base ? *target.base : target);
  if (!is_function_view || !record || !record->node || !is_function_view(*record->node, record->result)) return;
  std::string name = record->node->name();
  if (name.ends_with("Backward")) name.resize(name.size() - 8);
  throw OpError(ErrorKind::Runtime,
                fmt::format("Output {} of {} is a view and is being modified inplace: it shows memory of an argument, "
                            "and gradients of the write cannot go through the backward() of {}. Write to a clone() of "
                            "it, or return one",
                            record->result, name, name));
}

}  // namespace

void set_is_function_view(IsFunctionView asked) { is_function_view = asked; }

RecordedWrite::RecordedWrite(const Op& op, OpCaller& caller, std::span<const Arg> args, TensorRef target)
    : target_(std::move(target)), written_(args[0].get<TensorRef>()) {
  check_function_view(*target_);
  call_ = make_ref<CallNode>(op, caller, args);
}
RecordedWrite::~RecordedWrite() = default;

void RecordedWrite::finish() {
  call_->set_results(std::span<const TensorRef>(&written_, 1));
  record_write(call_, 0, written_, target_);
}

void record_write(Ref<GradNode> node, std::size_t operand, const TensorRef& written, const TensorRef& target) {
  const TensorRef base = target->base ? target->base : target;
  if (base != written) {
    const auto order = order_in_memory(*base);
    if (order && to_real(base->dtype) == to_real(written->dtype) && pending_of(*base) == pending_of(*written))
      node = make_ref<PartWriteNode>(std::move(node), operand, base, *written, *order);
    else
      node = unrecorded_node();
  }
  if (is_differentiable(base->dtype)) set_history(*base, node, 0);
  if (base == target) return;
  if (to_real(base->dtype) == to_real(target->dtype))
    record_view_of(base, target);
  else
    set_history(*target, unrecorded_node(), 0);
}

}  // namespace md
