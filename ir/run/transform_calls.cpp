// Function transforms in a graph: each mark is a Call node that does here what it does in eager mode. Between the marks
// ops run one after another on batched tensors.
#include <algorithm>
#include <vector>

#include "ir/batching/levels.h"
#include "ir/core/error.h"
#include "ir/gradients/tape.h"
#include "ir/graph/dataflow.h"
#include "ir/run/batched_call.h"
#include "ir/run/transforms.h"

namespace md {

namespace {

// A transform of the graph that runs.
struct Running {
  std::int64_t name;  // its number in the graph
  std::uint32_t number;
  bool grad_before;
};
constinit thread_local std::vector<Running> running;

std::int64_t int_of(const Arg& a) { return a.is<bool>() ? a.get<bool>() : a.get<Size>().value(); }

void begin(std::int64_t name, const TransformLevel& level) {
  running.push_back({name, begin_transform(level), grad_enabled()});
  if (level.asks_gradients()) set_grad_enabled(true);
}

std::uint32_t number_of(std::int64_t name) {
  for (auto at = running.rbegin(); at != running.rend(); ++at)
    if (at->name == name) return at->number;
  throw InternalError("a graph names a transform that has not begun");
}

std::vector<std::uint32_t> numbers_of(const Arg& names) {
  std::vector<std::uint32_t> out;
  for (const Arg& a : names.get<ListArg>().items) out.push_back(number_of(int_of(a)));
  return out;
}

std::vector<TensorRef> tensors_of(const Arg& list) {
  std::vector<TensorRef> out;
  for (const Arg& a : list.get<ListArg>().items) out.push_back(a.is<TensorRef>() ? a.get<TensorRef>() : TensorRef());
  return out;
}

using Results = std::vector<TensorRef>;
using Run = Results (*)(std::span<const Arg>);

Results run_begin_vmap(std::span<const Arg> args) {
  begin(int_of(args[0]), {0, true, false, int_of(args[1]), static_cast<Randomness>(int_of(args[2]))});
  return {};
}
Results run_begin_draws(std::span<const Arg> args) {
  begin(int_of(args[0]), {0, false, true, 0, static_cast<Randomness>(int_of(args[1]))});
  return {};
}
Results run_begin_grad(std::span<const Arg> args) {
  begin(int_of(args[0]), {});
  return {};
}
Results run_end(std::span<const Arg> args) {
  end_transform(number_of(int_of(args[0])));
  set_grad_enabled(running.back().grad_before);
  return {};
}
Results run_with_levels(std::span<const Arg> args) {
  return {with_levels(args[0].get<TensorRef>(), numbers_of(args[1]))};
}
Results run_without_levels(std::span<const Arg> args) {
  return {without_levels(args[0].get<TensorRef>(), numbers_of(args[1]))};
}
Results run_input(std::span<const Arg> args) {
  LevelInput made = input_of_level(args[0].get<TensorRef>(), number_of(int_of(args[1])));
  return {std::move(made.seen), std::move(made.reached)};
}
Results run_outside(std::span<const Arg> args) { return {outside_transform(args[0].get<TensorRef>())}; }

// run_pass(outputs, grads, keep_graph, create_graph, inputs): zeros for what nothing depends on.
Results run_backward_pass(std::span<const Arg> args) {
  BackwardCall call;
  call.grads = tensors_of(args[1]);
  for (const TensorRef& t : tensors_of(args[0])) call.roots.push_back({t, {}});
  call.keep_graph = int_of(args[2]), call.create_graph = int_of(args[3]);
  const Results inputs = tensors_of(args[4]);
  for (const TensorRef& t : inputs) call.inputs.push_back({t, {}});
  Results found = run_backward(call);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i]) found[i] = tape_runner().caller->call(id::FullLike, {inputs[i], 0.0}).get<TensorRef>();
  return found;
}

struct Row {
  std::string_view name;
  Run run;
};
constexpr Row kRows[] = {
    {"_begin_vmap", run_begin_vmap}, {"_begin_draws", run_begin_draws}, {"_begin_grad", run_begin_grad},
    {"_end_transform", run_end},     {"_with_levels", run_with_levels}, {"_without_levels", run_without_levels},
    {"_input_of_level", run_input},  {"_outside", run_outside},         {"run_pass", run_backward_pass}};

class TransformCallee final : public Callee {
 public:
  explicit TransformCallee(Run run) : run_(run) { aliases = true; }
  Results run(std::span<const Arg> args, std::span<const ExpectedTensor>) const override { return run_(args); }

 private:
  const Run run_;
};

}  // namespace

std::shared_ptr<const Callee> transform_callee(std::string_view name) {
  const auto at = std::ranges::find(kRows, name, &Row::name);
  if (at == std::end(kRows)) throw InternalError("no such function of transforms");
  return std::make_shared<TransformCallee>(at->run);
}

bool holds_transforms(const Graph& g) {
  return std::ranges::any_of(
      g.nodes, [](const auto& n) { return n->callee && dynamic_cast<const TransformCallee*>(n->callee.get()); });
}

bool hands_out_level_inputs(const Graph& g) {
  const auto makes_inputs = [](const Node& n) {
    return n.kind == NodeKind::Call && n.name.starts_with("_input_of_level");
  };
  bool found = false;
  for (const auto& n : g.nodes) {
    if (n->kind != NodeKind::Output) continue;
    for_each_input(
        *n, [&](const Node* y) { found |= y->kind == NodeKind::GetItem && makes_inputs(*y->args[0].get<Node*>()); });
  }
  return found;
}

TransformsOfRun::TransformsOfRun() : before_(running.size()) {}

TransformsOfRun::~TransformsOfRun() {
  if (running.size() <= before_) return;
  end_transform(running[before_].number);
  running.resize(before_);
}

}  // namespace md
