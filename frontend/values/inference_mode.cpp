// Read off the graph's own calls: the mode of a place is that of the last switch before it.
#include "frontend/values/inference_mode.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "frontend/tensors/tensor_object.h"
#include "ir/core/thread_modes.h"
#include "ir/gradients/tape.h"

namespace md {

namespace {

constexpr const char* kInferenceSwitch = "_C._switch_inference";

bool is_switch(const Node& n) { return n.kind == NodeKind::State && n.target == kInferenceSwitch; }

// The mode in which the memory of the type was made; nothing: the graph is given it.
std::optional<bool> mode_of_memory(const Graph& g, int storage) {
  bool on = thread_modes.inference;
  for (const auto& n : g.nodes) {
    if (is_switch(*n)) on = n->args.at(0).get<bool>();
    for (const TensorType& type : n->types) {
      if (type.storage != storage || storage < 0) continue;
      if (n->kind == NodeKind::Placeholder || n->kind == NodeKind::GetAttr) return {};
      return on;
    }
  }
  return {};
}

// Which of the outputs are inference tensors, whatever mode is on where the kernel runs.
class InferenceKernel final : public Kernel {
 public:
  InferenceKernel(std::shared_ptr<Kernel> kernel, std::vector<std::optional<bool>> outputs)
      : kernel_(std::move(kernel)), made_in_(std::move(outputs)) {}

  bool records_gradients() const override { return kernel_->records_gradients(); }
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    const ModeKept kept;
    kernel_->run(inputs, outputs);
    std::map<const Storage*, Ref<Storage>> moved;
    std::vector<Ref<Storage>> held;  // so that no address is used twice
    for (std::size_t k = 0; k < made_in_.size() && k < outputs.size(); ++k) {
      const TensorRef& t = outputs[k];
      if (!t || !made_in_[k] || t->storage->inference == *made_in_[k]) continue;
      held.push_back(t->storage);
      moved.emplace(t->storage.get(), moved_to(*t->storage, *made_in_[k]));
    }
    for (const TensorRef& t : outputs)
      if (t)
        if (const auto at = moved.find(t->storage.get()); at != moved.end()) t->storage = at->second;
  }

 private:
  struct ModeKept {
    const bool before = thread_modes.inference;
    ~ModeKept() { thread_modes.inference = before; }
  };
  static Ref<Storage> moved_to(Storage& from, bool inference) {
    const ModeKept kept;
    thread_modes.inference = inference;
    Ref<Storage> made = make_ref<Storage>(nullptr, 0, nullptr, nullptr, from.device());
    made->exchange(from);
    return made;
  }

  const std::shared_ptr<Kernel> kernel_;
  const std::vector<std::optional<bool>> made_in_;
};

}  // namespace

bool is_inference_on(const Tracer& t) {
  const auto last_of = [](const Graph& g) -> std::optional<bool> {
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n)
      if (is_switch(**n)) return (*n)->args.at(0).get<bool>();
    return {};
  };
  return last_of(*t.graphs.current).value_or(thread_modes.inference);
}

void switch_inference(Tracer& t, bool inference, bool grad) {
  Node n{NodeKind::State};
  n.target = kInferenceSwitch;
  n.name = "_switch_inference";
  n.args = {Arg(inference), Arg(grad)};
  t.graphs.current->append(std::move(n));
  t.grad_enabled = grad;
}

void check_inference_write(Tracer& t, const TensorValue& self) {
  bool made = false;
  for (const auto& input : t.graphs.inputs)
    if (input->type.storage == self.type.storage && input->real && is_tensor(input->real.get()))
      made |= tensor_impl(input->real.get())->storage->inference;
  if (made && !is_inference_on(t))
    throw OpError(ErrorKind::Runtime,
                  "an inference tensor cannot be written in place outside of inference mode; clone() gives an ordinary "
                  "tensor");
}

bool switches_inference(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](const auto& n) { return is_switch(*n); });
}

std::shared_ptr<Kernel> with_inference_outputs(std::shared_ptr<Kernel> kernel, const Graph& traced) {
  if (!kernel || !switches_inference(traced)) return kernel;
  std::vector<std::optional<bool>> outputs;
  for (const Arg& a : traced.nodes.back()->args.at(0).get<ListArg>().items)
    outputs.push_back(mode_of_memory(traced, type_of(a).storage));
  return std::make_shared<InferenceKernel>(std::move(kernel), std::move(outputs));
}

}  // namespace md
