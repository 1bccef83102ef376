// The backend "llvm": an executable per graph, a specialization per set of sizes, and which mode compiles when.
#include <algorithm>
#include <mutex>
#include <new>
#include <optional>

#include "backend/device/streams.h"
#include "backend/executable/install.h"
#include "backend/executable/replayed_kernel.h"
#include "backend/executable/specialization.h"
#include "backend/executable/target_program.h"
#include "backend/llvm/code_generator.h"
#include "backend/tiers/gpu_programs.h"
#include "backend/tiers/tiers.h"
#include "ir/compile/backend.h"
#include "ir/core/error.h"
#include "ir/graph/dynamic.h"
#include "ir/infer/unknown_inputs.h"
#include "ir/run/eager.h"
#include "ir/run/long_work.h"
#include "ir/run/observed_parts.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/device_generators.h"

namespace md {
namespace {

// The processor, or GPU, that holds tensors on a device.
const Target& target_for(Device device) {
  return device.type == DeviceType::Cuda ? cuda_target(device.index) : host_target();
}

class LlvmKernel final : public Kernel {
 public:
  LlvmKernel(std::shared_ptr<const Graph> functional, const Checkpoint& checkpoint)
      : graph_(std::move(functional)), executable_(build_executable(*graph_, target_for, checkpoint)) {
    if (executable_.is_static())
      fixed_ = std::make_unique<Specialization>(executable_, std::span<const std::int64_t>{});
  }

  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    if (executable_.draws_random) return run_restoring_generator(inputs, outputs);
    run_sized(inputs, outputs);
  }

 private:
  void run_sized(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) {
    if (fixed_)
      fixed_->run(inputs, outputs);
    else
      specialization_for(inputs)->run(inputs, outputs);
  }

  // A failed run is repeated eagerly and must draw the same numbers.
  void run_restoring_generator(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) {
    const DefaultStreams before;
    try {
      run_sized(inputs, outputs);
    } catch (...) {
      before.put_back();
      throw;
    }
  }

  std::shared_ptr<const Specialization> specialization_for(std::span<TensorImpl* const> inputs) {
    SmallVector<std::int64_t, 8> symbols;
    for (const SymbolSource& s : executable_.symbols) {
      const bool known = s.input >= 0 && static_cast<std::size_t>(s.input) < inputs.size() &&
                         s.dim < inputs[static_cast<std::size_t>(s.input)]->dim();
      symbols.push_back(known ? inputs[static_cast<std::size_t>(s.input)]->sizes[static_cast<std::size_t>(s.dim)] : 0);
    }
    std::lock_guard lock(mutex_);
    for (const Kept& p : specializations_)
      if (p.symbols == symbols) return p.specialization;
    auto made = std::make_shared<const Specialization>(executable_,
                                                       std::span<const std::int64_t>(symbols.data(), symbols.size()));
    if (specializations_.size() >= kSpecializationsKept) specializations_.erase(specializations_.begin());
    specializations_.push_back({symbols, made});
    return made;
  }

  struct Kept {
    SmallVector<std::int64_t, 8> symbols;
    std::shared_ptr<const Specialization> specialization;
  };
  static constexpr std::size_t kSpecializationsKept = 16;

  const std::shared_ptr<const Graph> graph_;  // nodes the executable refers to
  Executable executable_;
  std::unique_ptr<const Specialization> fixed_;
  std::mutex mutex_;
  std::vector<Kept> specializations_;
};

// Whether sizes come up in the middle of the graph, or have to be treated as if they did.
bool finds_sizes(const Graph& g) {
  return has_unknown_inputs(g) || std::ranges::any_of(g.nodes, [](const auto& n) {
           return (n->kind == NodeKind::Op ? is_dynamic(op(n->op), n->args) : !n->unbacked.empty()) ||
                  std::ranges::any_of(n->regions, [](const auto& region) { return finds_sizes(*region); });
         });
}

// A graph that calls code of the program, or holds what only Python can destroy, does not go to another thread.
bool calls_out(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](const auto& n) { return n->kind == NodeKind::Call; });
}

bool calls_program(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](const auto& n) {
    return n->callee || std::ranges::any_of(n->regions, [](const auto& region) { return calls_program(*region); });
  });
}

// In the words of torch's logs. Null: its launches can be one graph.
const char* why_not_replayed(const Graph& g, std::optional<Device> device) {
  if (!device) return "multiple devices";
  if (device->type != DeviceType::Cuda) return "cpu device";
  if (device::launches_are_waited_for()) return "CUDA_LAUNCH_BLOCKING";
  return calls_program(g) ? "code of the program that the graph calls" : nullptr;
}

std::unique_ptr<Kernel> compile_llvm(std::shared_ptr<const Graph> functional, const Checkpoint& checkpoint) {
  const SiteSlot once;
  const Observed observed(
      [&] { return &once; },
      [&] { return PartName{.kind = PartKind::MachineCode, .name = functional->name, .function = "", .file = ""}; });
  try {
    return std::make_unique<LlvmKernel>(std::move(functional), checkpoint);
  } catch (const OpError& e) {
    if (e.kind == ErrorKind::Memory) throw std::bad_alloc();
    throw InternalError(std::string("llvm: ") + e.what());
  }
}

// In the calling thread, while those of the program go on, unless the graph holds what belongs to them.
std::unique_ptr<Kernel> compile_at_once(const std::shared_ptr<const Graph>& functional) {
  if (calls_out(*functional)) return compile_llvm(functional, {});
  const HostLockReleased others;
  return compile_llvm(functional, {});
}

class LlvmBackend final : public Backend {
 public:
  std::string name() const override { return "llvm"; }
  std::unique_ptr<Kernel> compile(std::shared_ptr<const Graph> functional, const CompileStyle& style) override {
    if (!style.replays) return compile_plain(std::move(functional), style.mode);
    const std::optional<Device> device = device_of_graph(*functional);
    if (const char* const why = why_not_replayed(*functional, device)) {
      tell_replay({functional->name, 0, why, ""});
      return compile_plain(std::move(functional), style.mode);
    }
    std::string name = functional->name;
    ReplayEffects effects;
    for (const auto& n : functional->nodes) {
      effects.draws |= n->callee || !n->regions.empty() || (n->op != kNoOp && op(n->op).kind() == OpKind::Random);
      effects.writes |= n->callee || n->kind == NodeKind::Commit;
    }
    return replayed_kernel(compile_plain(std::move(functional), style.mode), device->index, std::move(name), effects);
  }
  std::string code(const Graph& functional) const override {
    return finds_sizes(functional) ? print_ir(functional) : print_executable(functional, target_for);
  }
  std::string fusion(const Graph& functional) const override {
    return finds_sizes(functional) ? "" : print_fusion(functional);
  }
  bool wait(std::chrono::milliseconds most) override { return wait_for_background(most); }

 private:
  static std::unique_ptr<Kernel> compile_plain(std::shared_ptr<const Graph> functional, CompileMode mode) {
    // A specialization wants every size before it starts; op after op does not.
    if (finds_sizes(*functional)) return find_backend("blocks")->compile(std::move(functional));
    if (device_of_graph(*functional) != kCpu || calls_out(*functional)) mode = CompileMode::Wait;
    if (mode == CompileMode::Background) return tiered_kernel(std::move(functional), compile_llvm);
    std::unique_ptr<Kernel> compiled;
    try {
      compiled = compile_at_once(functional);
    } catch (const std::bad_alloc&) {  // there may be enough for kernels that are there already
      return find_backend("blocks")->compile(std::move(functional));
    }
    const bool sizes_vary = functional->shapes && !functional->shapes->symbols().empty();
    if (mode == CompileMode::Wait || sizes_vary) return compiled;
    return measured_kernel(std::move(functional), std::move(compiled));
  }
};

TargetProgram target_program_of(const Graph& functional, const std::string& target) {
  if (!finds_sizes(functional)) return make_target_program(functional, target);
  return {.target = target, .why = "some of its sizes are known only while it runs"};
}

}  // namespace

void install_llvm_backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_backend(std::make_unique<LlvmBackend>());
    make_target_programs_by(target_program_of);
  });
}

}  // namespace md
