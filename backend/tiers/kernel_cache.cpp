#include "backend/tiers/kernel_cache.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <bit>
#include <mutex>
#include <unordered_map>

#include "backend/llvm/emit.h"
#include "ir/core/error.h"

namespace md {
namespace {

// Everything the generated code depends on, as bytes.
class NestKey {
 public:
  NestKey(const LoopNest& nest, const Schedule& s) : schedule_(s) {
    add(static_cast<std::int64_t>(s.shape), static_cast<std::int64_t>(s.rows.size()), s.lanes, s.fold_lanes, s.chunk,
        s.accumulate_in_memory, s.one_chunk, s.block, nest.reduced != 0);
    for (int p : s.pass) add(p);
    for (const Access& a : nest.accesses) add_access(a);
    for (const NestValue& v : nest.values) add_value(v);
    for (const Store& st : nest.stores) {
      add(st.value);
      add_access(st.to);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class... T>
  void add(T... v) {
    (add_one(static_cast<std::int64_t>(v)), ...);
  }
  void add_one(std::int64_t v) { bytes_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void add_access(const Access& a) {
    add(a.buffer, static_cast<std::int64_t>(a.dtype));
    for (const Loop& row : schedule_.rows) add(stride(a, row).is_const(0));
    add(stride(a, schedule_.folded).is_const(0), static_cast<std::int64_t>(stride_kind(stride(a, schedule_.cols))));
  }
  void add_value(const NestValue& v) {
    add(static_cast<std::int64_t>(v.kind), static_cast<std::int64_t>(v.dtype), static_cast<std::int64_t>(v.compute),
        v.op, v.access, std::bit_cast<std::int64_t>(v.number), v.integer, v.stage,
        static_cast<std::int64_t>(v.args.size()));
    for (int a : v.args) add(a);
    const auto varies = [&](const Loop& loop) {
      for (int a : loop.axes)
        if ((v.axes >> a) & 1) return true;
      return false;
    };
    add(varies(schedule_.cols), varies(schedule_.folded), v.axes == 0);
  }

  const Schedule& schedule_;
  std::string bytes_;
};

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

void emit_checked(llvm::Module& module, const LoopNest& nest, const Schedule& schedule) {
  prepare_module(module);
  emit_kernel(module, nest, schedule);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) throw InternalError("generated code is malformed: " + problem);
}

std::shared_ptr<const LoadedCode> load_nest(const LoopNest& nest, const Schedule& schedule) {
  const std::string key = NestKey(nest, schedule).take();
  const ForkGate gate;
  {
    std::lock_guard lock(cache().mutex);
    if (auto it = cache().kernels.find(key); it != cache().kernels.end())
      if (auto code = it->second.lock()) return code;
  }
  llvm::LLVMContext context;
  llvm::Module module("nest", context);
  emit_checked(module, nest, schedule);
  std::shared_ptr<const LoadedCode> code = load_module(module, kKernelName);
  std::lock_guard lock(cache().mutex);
  cache().drop_dead();
  std::weak_ptr<const LoadedCode>& slot = cache().kernels[key];
  if (auto first = slot.lock()) return first;  // another thread was faster
  slot = code;
  return code;
}

}  // namespace

CompiledNest compile_nest(const LoopNest& nest) {
  CompiledNest result;
  result.schedule = make_cpu_schedule(nest, host_target().vector_bytes);
  result.code = load_nest(nest, result.schedule);
  result.function = reinterpret_cast<NestFunction>(result.code->entry);
  result.params = kernel_params(nest, result.schedule);
  for (const Loop& row : result.schedule.rows) result.rows = result.rows * extent(nest, row);
  result.cols = extent(nest, result.schedule.cols);
  result.folded = extent(nest, result.schedule.folded);
  result.cost = element_cost(nest);
  return result;
}

std::string print_nest(const LoopNest& nest) {
  const ForkGate gate;
  llvm::LLVMContext context;
  llvm::Module module("nest", context);
  emit_checked(module, nest, make_cpu_schedule(nest, host_target().vector_bytes));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace md
