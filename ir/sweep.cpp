#include "ir/sweep.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "ir/composite.h"
#include "ir/infer.h"

namespace md {
namespace {

constexpr std::int64_t kLeastElements = 1 << 14;

std::atomic<SweepRunner> installed{nullptr};

struct NotSwept {};

// Notes parts with their types, and gives up at the first that is not pointwise or a reduction.
class Recorder final : public OpCaller {
 public:
  using OpCaller::call;
  Arg call(const Op& inner, std::vector<Arg> bound) override {
    check_enabled(inner);
    if (inner.kind() == OpKind::Composite) return expand(inner, *this, bound);
    if ((inner.kind() != OpKind::Pointwise && inner.kind() != OpKind::Reduction) || inner.schema.results != 1) {
      throw NotSwept{};
    }
    auto n = std::make_unique<Node>();
    n->kind = NodeKind::Op;
    n->op = inner.id;
    n->types = infer(inner, bound);
    n->args = std::move(bound);
    parts.push_back(std::move(n));
    return parts.back().get();
  }

  std::vector<std::unique_ptr<Node>> parts;
};

bool worth_it(std::span<const Arg> bound) {
  const auto* x = bound.empty() ? nullptr : bound[0].get_if<TensorRef>();
  return x && is_floating((*x)->dtype) && (*x)->is_contiguous() && (*x)->numel() >= kLeastElements;
}

// What will be allocated for the last part, if that is the result and row-major.
TensorRef result_of(const Recorder& recorder, const Arg& result) {
  const auto* last = result.get_if<Node*>();
  if (!last || recorder.parts.size() < 2 || *last != recorder.parts.back().get()) return nullptr;
  const TensorType& t = (*last)->type();
  if (!is_row_major(t.sizes, t.strides)) return nullptr;
  DimVec sizes;
  for (const Size s : t.sizes) sizes.push_back(s.value());
  TensorRef out = empty_tensor(sizes, t.dtype);
  out->requires_grad = t.requires_grad;
  return out;
}

}  // namespace

void set_sweep_runner(SweepRunner runner) { installed.store(runner, std::memory_order_release); }

TensorRef swept(const Op& composite, std::span<const Arg> bound) {
  const SweepRunner runner = installed.load(std::memory_order_acquire);
  if (!runner || !worth_it(bound)) return nullptr;
  Recorder recorder;
  Arg result;
  try {
    result = expand(composite, recorder, bound);
  } catch (const NotSwept&) {
    return nullptr;
  }
  const TensorRef out = result_of(recorder, result);
  return out && runner(recorder.parts, *out) ? out : nullptr;
}

}  // namespace md
