// Recording backward(): types instead of values, and who still wants a value in the end.
#include "ir/gradients/backward_recorder.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "ir/core/error.h"
#include "ir/gradients/saved_tensor.h"
#include "ir/graph/dynamic.h"
#include "ir/infer/complex_calls.h"

namespace md {

namespace {

constinit thread_local BackwardRecorder* active = nullptr;

DimVec constants(const SizeVec& sizes) {
  DimVec out;
  for (const Size s : sizes) {
    if (!s.is_const()) throw InternalError("a symbolic size in an eager backward()");
    out.push_back(s.value());
  }
  return out;
}

// As much as the elements take that the type names.
std::size_t bytes_of(const TensorType& t) {
  std::int64_t last = t.offset.value();
  for (std::size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.sizes[i].is_const(0)) return 0;
    last += (t.sizes[i].value() - 1) * t.strides[i].value();
  }
  return static_cast<std::size_t>(last + 1) * item_size(t.dtype);
}

TensorRef without_memory(const TensorType& t, Ref<Storage> storage) {
  if (!storage) storage = make_ref<Storage>(nullptr, bytes_of(t), nullptr, nullptr, t.device);
  TensorRef made =
      make_ref<TensorImpl>(std::move(storage), t.dtype, constants(t.sizes), constants(t.strides), t.offset.value());
  made->wrapped_number = t.wrapped_number;
  return made;
}

void fill(TensorImpl& t, const TensorImpl& value) {
  t.storage = value.storage;
  t.sizes = value.sizes, t.strides = value.strides, t.offset = value.offset;
  t.base = value.base;
}

}  // namespace

// Which elements an index means, or how many results there are, may depend on values.
bool can_be_a_step(const Op& op, std::span<const Arg> bound) {
  const OpDecl& d = *op.decl;
  const bool only_in_place = d.inplace && !d.function && !d.method && d.also.empty();
  if (only_in_place || op.kind() == OpKind::Random || is_dynamic(op, bound)) return false;
  return std::ranges::none_of(op.schema.params, [](const Param& p) { return p.type == ParamType::Index; });
}

BackwardRecorder* backward_recorder() { return active; }

OpCaller& backward_caller() { return active ? *active : *tape_runner().caller; }

RecordedBy::RecordedBy(BackwardRecorder* recorder) : before_(std::exchange(active, recorder)) {}
RecordedBy::~RecordedBy() { active = before_; }

Arg BackwardRecorder::call(const Op& op, std::vector<Arg> bound) {
  if (!can_be_a_step(op, bound)) {
    run();
    return tape_runner().caller->call(op, std::move(bound));
  }
  if (opens(op, bound)) return expand(op, *this, bound);
  const TensorRef* like = op.id == id::FullLike ? bound[0].get_if<TensorRef>() : nullptr;
  if (like && is_type_only(**like)) return filled_like(op, std::move(bound));
  // The device that is the default here has no part in it.
  const bool placed = op.placed_by_default && !thread_modes.default_device.is_cpu();
  if (placed && bound[static_cast<std::size_t>(op.device)].is_none()) bound[static_cast<std::size_t>(op.device)] = kCpu;
  const std::vector<TensorType> types = infer(op, bound);
  return made({StepKind::Op, std::move(bound), &op, nullptr, {}}, types);
}

Arg BackwardRecorder::made(Step step, std::span<const TensorType> types) {
  const bool view = step.op && step.op->kind() == OpKind::View;
  for (const TensorType& t : types)
    step.results.push_back(without_memory(t, view ? step.args[0].get<TensorRef>()->storage : nullptr));
  const std::vector<TensorRef>& made = steps_.emplace_back(std::move(step)).results;
  if (made.size() == 1) return made[0];
  return ListArg{std::vector<Arg>(made.begin(), made.end()), true};
}

// full_like() of a tensor that is only a type: a full() whose dimensions are turned as those of the tensor lie.
Arg BackwardRecorder::filled_like(const Op& op, std::vector<Arg> bound) {
  const TensorType made = infer(op, bound)[0];
  std::vector<int> order(made.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const DimVec strides = constants(made.strides);
  std::ranges::stable_sort(order, [&](int a, int b) { return strides[a] > strides[b]; });
  ListArg sizes, back;
  back.items.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes.items.emplace_back(made.sizes[static_cast<std::size_t>(order[i])]);
    back.items[static_cast<std::size_t>(order[i])] = Size(static_cast<std::int64_t>(i));
  }
  const Arg full = call(id::Full, {sizes, bound[1], made.dtype, NoneArg{}});
  return is_row_major(made.sizes, made.strides) ? full : call(id::Permute, {full, back});
}

TensorRef BackwardRecorder::hook(Ref<GradHook> hook, const TensorRef& gradient) {
  const TensorType type = type_of(Arg(gradient));
  return made({StepKind::Hook, {gradient}, nullptr, std::move(hook), {}}, std::span<const TensorType>(&type, 1))
      .get<TensorRef>();
}

void BackwardRecorder::accumulate(const TensorRef& to, const TensorRef& gradient) {
  steps_.push_back({StepKind::Accumulate, {to, gradient}, nullptr, nullptr, {}});
}

void BackwardRecorder::accumulated(Ref<GradHook> hook, const TensorRef& leaf) {
  steps_.push_back({StepKind::Accumulated, {leaf}, nullptr, std::move(hook), {}});
}

// Results to which there are more references than those of the steps themselves.
std::vector<TensorRef> BackwardRecorder::asked() const {
  std::unordered_map<const TensorImpl*, std::uint32_t> ours;
  ours.reserve(2 * steps_.size());
  for (const Step& s : steps_) {
    for (const TensorRef& t : s.results) ++ours[t.get()];
    for (const Arg& a : s.args) for_each_tensor_inside(a, [&](const TensorRef& t) { ++ours[t.get()]; });
  }
  std::vector<TensorRef> found;
  for (const Step& s : steps_)
    for (const TensorRef& t : s.results)
      if (t->use_count() > ours[t.get()]) found.push_back(t);
  return found;
}

void BackwardRecorder::run() {
  if (steps_.empty()) return;
  const std::vector<TensorRef> wanted = asked();
  const std::vector<Step> steps = std::exchange(steps_, {});
  const RecordedBy nobody(nullptr);
  failed_ = true;
  const std::vector<TensorRef> values = execute(steps, wanted);
  failed_ = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) fill(*wanted[i], *values[i]);
}

}  // namespace md
