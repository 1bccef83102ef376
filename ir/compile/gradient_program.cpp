// Backward graphs are cached by which outputs have a gradient: a result that no loss depends on has none.
#include "ir/compile/gradient_program.h"

#include "ir/compile/passes/layouts.h"
#include "ir/compile/pipeline.h"
#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"

namespace md {

GradientProgram::GradientProgram(std::shared_ptr<const Graph> traced, std::vector<bool> differentiated,
                                 Backend& backend, CompileMode mode)
    : traced_(std::move(traced)), backend_(backend), mode_(mode), differentiated_(std::move(differentiated)) {
  SplitGraph s = split(differentiate(*traced_, differentiated_));
  forward_ = optimize_functional(std::move(s.forward));
  kept_ = s.kept;
  parts_[differentiated_] = std::make_unique<Part>(part_of(std::move(s)));
}

std::unique_ptr<Graph> GradientProgram::backward_graph() const {
  return optimize_functional(clone(*parts_.at(differentiated_)->graph));
}

GradientProgram::Part GradientProgram::part_of(SplitGraph&& s) {
  Part part{.inputs = std::move(s.inputs), .gradient_of = std::move(s.gradient_of)};
  for (const Node* p : s.backward->placeholders()) part.tangents.push_back(p->type());
  part.graph = std::move(s.backward);
  return part;
}

GradientProgram::Part* GradientProgram::part_for(const std::vector<bool>& given) {
  std::unique_lock lock(mutex_);
  const auto [at, fresh] = parts_.try_emplace(given);
  if (fresh) at->second = std::make_unique<Part>();
  Part& part = *at->second;
  if (part.kernel) return &part;
  if (!fresh && !part.graph) return nullptr;
  // Compiled without the mutex, for that may wait for other threads. Who comes meanwhile runs the graph again.
  std::unique_ptr<Graph> graph = std::move(part.graph);
  lock.unlock();
  Part made;
  try {
    if (fresh) made = part_of(split(differentiate(*traced_, given), &kept_)), graph = std::move(made.graph);
    made.kernel = backend_.compile(optimize_functional(std::move(graph)), mode_);
  } catch (const NotFunctional&) {
    return nullptr;
  }
  lock.lock();
  if (fresh)
    part = std::move(made);
  else
    part.kernel = std::move(made.kernel);
  return &part;
}

namespace {
// What hooks gave back, laid out as the kernel knows it; null if it is something else.
TensorRef as_saved(const SavedTensor& saved) {
  TensorRef t = saved.unpack();
  const TensorImpl& was = *saved.tensor;
  if (t->dtype != was.dtype || !(t->sizes == was.sizes) || !(t->device() == was.device())) return nullptr;
  if (t->strides == was.strides) return t;
  return was.is_contiguous() ? eager_caller().call(id::Compact, {t}).get<TensorRef>() : nullptr;
}
}  // namespace

std::optional<std::vector<TensorRef>> GradientProgram::run(std::span<const SavedTensor> inputs,
                                                           std::span<const SavedTensor> kept,
                                                           std::span<const TensorRef> grads) {
  std::vector<bool> given;
  for (const TensorRef& g : grads) given.push_back(static_cast<bool>(g));
  Part* const part = part_for(given);
  if (!part) return std::nullopt;
  const GradMode off(false);
  std::vector<TensorRef> held;
  std::vector<TensorImpl*> args;
  for (std::size_t i = 0; i < part->inputs.size(); ++i) {
    const auto [from, index] = part->inputs[i];
    const auto k = static_cast<std::size_t>(index);
    if (from != BackwardInput::From::Tangent) {
      const SavedTensor& t = from == BackwardInput::From::Kept ? kept[k] : inputs[k];
      held.push_back(from == BackwardInput::From::Sizes ? t.tensor : as_saved(t));
      if (!held.back()) return std::nullopt;
      args.push_back(held.back().get());
      continue;
    }
    const bool as_expected = grads[k]->is_contiguous();
    held.push_back(as_expected ? grads[k] : eager_caller().call(id::Compact, {grads[k]}).get<TensorRef>());
    args.push_back(held.back().get());
  }
  std::vector<TensorRef> results(part->gradient_of.size()), out(inputs.size());
  part->kernel->run(args, results);
  for (std::size_t i = 0; i < results.size(); ++i)
    out[static_cast<std::size_t>(part->gradient_of[i])] = std::move(results[i]);
  return out;
}

}  // namespace md
