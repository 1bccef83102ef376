// Backward graphs are cached by which outputs have a gradient: a result that no loss depends on has none.
#include "ir/compile/gradient_program.h"

#include <algorithm>

#include "ir/compile/passes/layouts.h"
#include "ir/compile/pipeline.h"
#include "ir/compile/recorded_graph.h"
#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"

namespace md {

GradientProgram::GradientProgram(std::shared_ptr<const Graph> traced, std::vector<bool> differentiated,
                                 Backend& backend, const CompileStyle& style)
    : traced_(std::move(traced)), backend_(backend), style_(style), differentiated_(std::move(differentiated)) {
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

GradientProgram::Part GradientProgram::part_anew(const std::vector<bool>& given) const {
  return part_of(split(differentiate(*traced_, given), &kept_));
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
    if (fresh) made = part_anew(given), graph = std::move(made.graph);
    made.kernel = backend_.compile(optimize_functional(std::move(graph)), style_);
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

const GradientProgram::Part* GradientProgram::called_part_for(const std::vector<bool>& given) {
  const std::unique_lock lock(mutex_);
  const auto [at, fresh] = called_parts_.try_emplace(given);
  if (!fresh) return at->second.get();
  try {
    auto made = std::make_unique<Part>(part_anew(given));
    if (has_only_ops(*made->graph)) at->second = std::move(made);
  } catch (const NotFunctional&) {
  }
  return at->second.get();
}

namespace {
// What hooks gave back, laid out as the kernel knows it; null if it is something else.
TensorRef as_saved(const SavedTensor& saved, OpCaller& caller) {
  TensorRef t = saved.unpack();
  const TensorImpl& was = *saved.tensor;
  if (t->dtype != was.dtype || !(t->sizes == was.sizes) || !(t->device() == was.device())) return nullptr;
  if (t->strides == was.strides) return t;
  return was.is_contiguous() ? caller.call(id::Compact, {t}).get<TensorRef>() : nullptr;
}

std::vector<bool> given_of(std::span<const TensorRef> grads) {
  std::vector<bool> given;
  for (const TensorRef& g : grads) given.push_back(static_cast<bool>(g));
  return given;
}
}  // namespace

std::optional<std::vector<TensorRef>> GradientProgram::arguments(const Part& part, std::span<const SavedTensor> inputs,
                                                                 std::span<const SavedTensor> kept,
                                                                 std::span<const TensorRef> grads, OpCaller& caller) {
  std::vector<TensorRef> held;
  for (const auto [from, index] : part.inputs) {
    const auto k = static_cast<std::size_t>(index);
    if (from == BackwardInput::From::Tangent) {
      held.push_back(grads[k]->is_contiguous() ? grads[k] : caller.call(id::Compact, {grads[k]}).get<TensorRef>());
      continue;
    }
    const SavedTensor& t = from == BackwardInput::From::Kept ? kept[k] : inputs[k];
    held.push_back(from == BackwardInput::From::Sizes ? t.tensor : as_saved(t, caller));
    if (!held.back()) return std::nullopt;
  }
  return held;
}

std::optional<std::vector<TensorRef>> GradientProgram::run(std::span<const SavedTensor> inputs,
                                                           std::span<const SavedTensor> kept,
                                                           std::span<const TensorRef> grads) {
  Part* const part = part_for(given_of(grads));
  if (!part) return std::nullopt;
  const GradMode off(false);
  const auto held = arguments(*part, inputs, kept, grads, eager_caller());
  if (!held) return std::nullopt;
  std::vector<TensorImpl*> args;
  for (const TensorRef& t : *held) args.push_back(t.get());
  std::vector<TensorRef> results(part->gradient_of.size()), out(inputs.size());
  part->kernel->run(args, results);
  for (std::size_t i = 0; i < results.size(); ++i)
    out[static_cast<std::size_t>(part->gradient_of[i])] = std::move(results[i]);
  return out;
}

std::optional<std::vector<TensorRef>> GradientProgram::call_ops(std::span<const SavedTensor> inputs,
                                                                std::span<const SavedTensor> kept,
                                                                std::span<const TensorRef> grads, OpCaller& caller) {
  const auto is_packed = [](const SavedTensor& t) { return static_cast<bool>(t.packed); };
  if (std::ranges::any_of(inputs, is_packed) || std::ranges::any_of(kept, is_packed)) return std::nullopt;
  const Part* const part = called_part_for(given_of(grads));
  if (!part) return std::nullopt;
  const auto held = arguments(*part, inputs, kept, grads, caller);
  if (!held) return std::nullopt;
  const std::vector<TensorRef> results = call_ops_of(*part->graph, *held, caller);
  std::vector<TensorRef> out(inputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) out[static_cast<std::size_t>(part->gradient_of[i])] = results[i];
  return out;
}

}  // namespace md
