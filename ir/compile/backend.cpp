// The table of backends by name, and the one that is always there: "blocks", which runs graphs node by node.
#include "ir/compile/backend.h"

#include <algorithm>
#include <mutex>

#include "ir/reference/engine.h"
#include "ir/run/evaluate_graph.h"
#include "ir/tensor/device_generators.h"

namespace md {
namespace {

class EvaluatorKernel final : public Kernel {
 public:
  explicit EvaluatorKernel(std::shared_ptr<const Graph> functional) : evaluator_(std::move(functional)) {}
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    const DefaultStreams before;
    try {
      evaluator_.run(engine(), inputs, outputs);
    } catch (...) {  // the frame runs again and must draw the same numbers
      before.put_back();
      throw;
    }
  }

 private:
  GraphEvaluator evaluator_;
};

// No compilation at all: op after op on the block kernels.
class BlocksBackend final : public Backend {
 public:
  std::string name() const override { return "blocks"; }
  std::unique_ptr<Kernel> compile(std::shared_ptr<const Graph> functional, const CompileStyle&) override {
    return std::make_unique<EvaluatorKernel>(std::move(functional));
  }
  std::string code(const Graph& functional) const override { return print_ir(functional); }
};

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Backend>> backends;
};

Registry& registry() {
  // Never destroyed: kernels may still run while the process ends.
  static Registry& r = *[] {
    auto* made = new Registry;
    made->backends.push_back(std::make_unique<BlocksBackend>());
    return made;
  }();
  return r;
}

ReplayObserver replay_observer = nullptr;  // written once, before there are other threads

}  // namespace

void set_replay_observer(ReplayObserver observer) { replay_observer = observer; }
void tell_replay(const ReplayReport& report) {
  if (replay_observer) replay_observer(report);
}

Backend* find_backend(const std::string& name) {
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  const auto found = std::ranges::find_if(r.backends, [&](const auto& b) { return b->name() == name; });
  return found == r.backends.end() ? nullptr : found->get();
}

void register_backend(std::unique_ptr<Backend> backend) {
  Registry& r = registry();
  const std::scoped_lock lock(r.mutex);
  r.backends.push_back(std::move(backend));
}

}  // namespace md
