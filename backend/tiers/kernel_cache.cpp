// The table of loaded kernels. It holds none of them: a kernel lives as long as something that runs it.
#include "backend/tiers/kernel_cache.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "backend/llvm/emit.h"
#include "backend/llvm/kernel_object.h"
#include "backend/machine/fork_gate.h"

namespace md {
namespace {

// A leaf lock: nothing is called while it is held.
struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<const LoadedCode>> kernels;
  std::size_t limit = 256;

  // Whenever the table has doubled.
  void drop_dead() {
    if (kernels.size() < limit) return;
    std::erase_if(kernels, [](const auto& k) { return k.second.expired(); });
    limit = std::max<std::size_t>(256, 2 * kernels.size());
  }
};
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}

std::shared_ptr<const LoadedCode> load_nest(const LoopNest& nest, const Schedule& schedule, const Target& target) {
  const std::string key = kernel_key(nest, schedule, target);
  const ForkGate gate;
  {
    std::lock_guard lock(cache().mutex);
    if (auto it = cache().kernels.find(key); it != cache().kernels.end())
      if (auto code = it->second.lock()) return code;
  }
  std::shared_ptr<const LoadedCode> code = load_object(generate_kernel(nest, schedule, target), kKernelName);
  std::lock_guard lock(cache().mutex);
  cache().drop_dead();
  std::weak_ptr<const LoadedCode>& slot = cache().kernels[key];
  if (auto first = slot.lock()) return first;  // another thread was faster
  slot = code;
  return code;
}

}  // namespace

CompiledNest compile_nest(const LoopNest& nest, const Target& target) {
  CompiledNest result;
  result.schedule = make_schedule(nest, target);
  result.code = load_nest(nest, result.schedule, target);
  result.function = reinterpret_cast<NestFunction>(result.code->entry);
  result.params = kernel_params(nest, result.schedule);
  for (const Loop& row : result.schedule.rows) result.rows = result.rows * extent(nest, row);
  result.cols = extent(nest, result.schedule.cols);
  result.folded = extent(nest, result.schedule.folded);
  result.cost = element_cost(nest);
  return result;
}

std::string print_nest(const LoopNest& nest, const Target& target) {
  const ForkGate gate;
  return kernel_ir(nest, make_schedule(nest, target), target);
}

}  // namespace md
