// The GPUs code is made for, and the way from a nest to a program.
#include "backend/llvm/gpu_kernel.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "backend/build_identity.h"
#include "backend/llvm/code_generator.h"
#include "backend/llvm/gpu_emitter.h"
#include "backend/llvm/gpu_functions.h"
#include "backend/machine/fork_gate.h"
#include "ir/core/error.h"
#include "ir/graph/op_table.h"

namespace md {
namespace {

struct GpuRow {
  const char* name;
  const char* generated_for;  // the nearest below that the code generator has
  bool nvidia;
};
constexpr GpuRow kGpus[] = {
    {"sm_75", "sm_75", true},  {"sm_80", "sm_80", true},    {"sm_86", "sm_86", true},
    {"sm_89", "sm_89", true},  {"sm_90", "sm_90", true},    {"sm_100", "sm_90", true},
    {"sm_120", "sm_90", true}, {"gfx90a", "gfx90a", false}, {"gfx1100", "gfx1100", false},
};
constexpr const char* kNvidiaLayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";
constexpr const char* kAmdLayout =
    "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128-p9:192:256:256:32-"
    "i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:"
    "8:9";

void emit_module(llvm::Module& module, const LoweredGroup& lowered, const GpuSchedule& schedule, const Target& target,
                 const std::string& entry) {
  prepare_module(module, target);
  GpuEmitter(module, lowered.nest, schedule, target).run(entry);
  define_gpu_functions(module);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) throw InternalError("generated code is malformed: " + problem);
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

const std::vector<std::string>& gpu_targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const GpuRow& row : kGpus) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

Target gpu_target(const std::string& name) {
  const auto* row = std::ranges::find(kGpus, name, &GpuRow::name);
  if (row == std::end(kGpus)) throw InternalError("no code is generated for a GPU called " + name);
  Target t;
  t.device = row->nvidia ? DeviceType::Cuda : DeviceType::Hip;
  t.triple = row->nvidia ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa";
  t.cpu = row->generated_for;
  if (row->nvidia) t.features = t.cpu == "sm_90" ? "+ptx80" : t.cpu == "sm_89" ? "+ptx78" : "+ptx70";
  t.data_layout = row->nvidia ? kNvidiaLayout : kAmdLayout;
  t.vector_bytes = 16;
  t.half_moves = true;
  t.warp = name == "gfx90a" ? 64 : 32;
  t.shared_bytes = 48 << 10;
  return t;
}

GpuKernel plan_gpu_kernel(const LoweredGroup& lowered, const Target& target) {
  const LoopNest& nest = lowered.nest;
  GpuKernel kernel{.schedule = make_gpu_schedule(lowered, target)};
  kernel.params = gpu_params(nest, kernel.schedule);
  kernel.buffers = nest.buffers;
  kernel.value_bytes.resize(static_cast<std::size_t>(nest.buffers));
  for (const Access& a : nest.accesses)
    if (a.by_value) kernel.value_bytes[static_cast<std::size_t>(a.buffer)] = item_size(a.dtype);
  for (const Loop& row : kernel.schedule.rows) kernel.rows = kernel.rows * extent(nest, row);
  kernel.cols = extent(nest, kernel.schedule.cols);
  kernel.folded = extent(nest, kernel.schedule.folded);
  kernel.can_fail = std::ranges::any_of(
      nest.values, [](const NestValue& v) { return v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail; });
  return kernel;
}

// More than 4 KiB of parameters need a later version of the language, and a driver of 2023.
static Target with_room_for_parameters(const LoweredGroup& lowered, const GpuSchedule& schedule, Target target) {
  constexpr std::size_t kMostWords = 512, kCounts = 3;
  const std::size_t words =
      static_cast<std::size_t>(lowered.nest.buffers) + gpu_params(lowered.nest, schedule).size() + kCounts;
  if (target.device == DeviceType::Cuda && words > kMostWords) target.features = "+ptx81";
  return target;
}

std::string gpu_kernel_code(const LoweredGroup& lowered, const GpuSchedule& schedule, const Target& asked,
                            const std::string& entry) {
  const Target target = with_room_for_parameters(lowered, schedule, asked);
  const ForkGate gate;
  llvm::LLVMContext context;
  llvm::Module module(entry, context);
  emit_module(module, lowered, schedule, target, entry);
  return target.device == DeviceType::Cuda ? generate_assembly(module, target) : text_of(module);
}

}  // namespace md
