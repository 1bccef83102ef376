// Tensors between a function whose gradients are asked for and what is around it, and the calls by which a graph holds
// function transforms.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "ir/graph/callee.h"

namespace md {

// What a function sees in the place of a tensor, and what gradients reach: it has the examples of every vmap around the
// function in front. Gradients go on to `x` if it requires grad.
struct LevelInput {
  TensorRef seen, reached;
};
LevelInput input_of_level(const TensorRef& x, std::uint32_t number);

// Whether gradients of `t` reach anything but inputs that transforms have made for functions.
bool reaches_others(const TensorRef& t);
// A result as it leaves a transform: detached where its gradients would reach none but the inputs of transforms that
// have ended, or where gradients are off.
TensorRef outside_transform(const TensorRef& t);
// Whether somebody may ask for gradients of gradients of `t`.
bool is_differentiated(const TensorRef& t);

// The function of minidynamo/_transforms that a Call node stands for: "_begin_vmap", "_with_levels", "run_pass", ...
// Levels have numbers of the graph there. Such graphs have no functional form.
std::shared_ptr<const Callee> transform_callee(std::string_view name);

// Whether there are such calls in the graph.
bool holds_transforms(const Graph& g);
// Whether an output is what a function under a transform saw as its argument: gradients are asked for with respect to
// it when the graph is over, as functions made by vjp() and linearize() do.
bool hands_out_level_inputs(const Graph& g);

// While a graph runs: what it leaves open, because it failed, is ended.
class TransformsOfRun {
 public:
  TransformsOfRun();
  ~TransformsOfRun();
  TransformsOfRun(const TransformsOfRun&) = delete;

 private:
  std::size_t before_;
};

}  // namespace md
