#include <algorithm>
#include <mutex>

#include "backend/install.h"
#include "backend/plan.h"
#include "ir/backend.h"
#include "ir/dynamic.h"
#include "ir/eager.h"
#include "ir/error.h"
#include "ir/generator.h"

namespace md {
namespace {

class LlvmKernel final : public Kernel {
 public:
  explicit LlvmKernel(const Graph& functional) : graph_(clone(functional)), program_(build_program(*graph_)) {
    if (program_.is_static()) fixed_ = std::make_unique<Plan>(program_, std::span<const std::int64_t>{});
  }

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    if (program_.draws_random) return run_restoring_generator(inputs, outputs);
    if (fixed_)
      fixed_->run(inputs, outputs);
    else
      plan_for(inputs)->run(inputs, outputs);
  }

  std::string code() const override { return print_program(*graph_); }

 private:
  // A failed run is repeated eagerly and must draw the same numbers.
  void run_restoring_generator(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) {
    const Generator before = state_of(default_generator());
    try {
      if (fixed_)
        fixed_->run(inputs, outputs);
      else
        plan_for(inputs)->run(inputs, outputs);
    } catch (...) {
      set_state(default_generator(), before);
      throw;
    }
  }

  std::shared_ptr<const Plan> plan_for(std::span<TensorImpl* const> inputs) {
    SmallVector<std::int64_t, 8> symbols;
    for (const SymbolSource& s : program_.symbols) {
      const bool known = s.input >= 0 && static_cast<std::size_t>(s.input) < inputs.size() &&
                         s.dim < inputs[static_cast<std::size_t>(s.input)]->dim();
      symbols.push_back(known ? inputs[static_cast<std::size_t>(s.input)]->sizes[static_cast<std::size_t>(s.dim)] : 0);
    }
    std::lock_guard lock(mutex_);
    for (const Planned& p : plans_)
      if (p.symbols == symbols) return p.plan;
    auto plan = std::make_shared<const Plan>(program_, std::span<const std::int64_t>(symbols.data(), symbols.size()));
    if (plans_.size() >= kPlansKept) plans_.erase(plans_.begin());
    plans_.push_back({symbols, plan});
    return plan;
  }

  struct Planned {
    SmallVector<std::int64_t, 8> symbols;
    std::shared_ptr<const Plan> plan;
  };
  static constexpr std::size_t kPlansKept = 16;

  std::unique_ptr<Graph> graph_;  // nodes the program refers to
  Program program_;
  std::unique_ptr<const Plan> fixed_;
  std::mutex mutex_;
  std::vector<Planned> plans_;
};

// Whether sizes come up in the middle of the graph.
bool finds_sizes(const Graph& g) {
  return std::ranges::any_of(g.nodes,
                             [](const auto& n) { return n->kind == NodeKind::Op && is_dynamic(op(n->op), n->args); });
}

class LlvmBackend final : public Backend {
 public:
  std::string name() const override { return "llvm"; }
  std::unique_ptr<Kernel> compile(const Graph& functional) override {
    // A plan wants every size before it starts; op after op does not.
    if (finds_sizes(functional)) return find_backend("blocks")->compile(functional);
    try {
      return std::make_unique<LlvmKernel>(functional);
    } catch (const OpError& e) {
      throw InternalError(std::string("llvm: ") + e.what());
    }
  }
};

}  // namespace

void install_llvm_backend() {
  static std::once_flag once;
  std::call_once(once, [] { register_backend(std::make_unique<LlvmBackend>()); });
}

}  // namespace md
