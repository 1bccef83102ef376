// The table of programs. A program's text is short: all of them stay, up to a limit at which the table starts anew.
#include "backend/tiers/gpu_programs.h"

#include <mutex>
#include <unordered_map>

#include "backend/llvm/kernel_object.h"
#include "backend/machine/fork_gate.h"
#include "ir/core/error.h"
#include "ir/tensor/device_runtime.h"

namespace md {
namespace {

constexpr std::size_t kMostPrograms = 4096;

struct Code {
  std::string entry, text;
};
struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Code>> all;
};
Programs& programs() {
  static Programs* p = new Programs;
  return *p;
}

// Names of ops in characters that entries may have.
std::string entry_name(const std::string& name, const std::string& key) {
  constexpr std::size_t kDigits = 8, kMostName = 64;
  std::string entry = name.substr(0, kMostName);
  for (char& c : entry)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) c = '_';
  return entry + '_' + key.substr(0, kDigits);
}

}  // namespace

std::shared_ptr<const GpuKernel> gpu_program(const LoweredGroup& lowered, const Target& target,
                                             const std::string& name) {
  GpuKernel kernel = plan_gpu_kernel(lowered, target);
  const std::string key = gpu_kernel_key(lowered.nest, kernel.schedule, target);
  std::shared_ptr<const Code> code;
  {
    const ForkGate gate;
    const std::lock_guard lock(programs().mutex);
    if (const auto found = programs().all.find(key); found != programs().all.end()) code = found->second;
  }
  if (!code) {
    kernel.entry = entry_name(name, key);
    kernel.code = gpu_kernel_code(lowered, kernel.schedule, target, kernel.entry);
    code = std::make_shared<const Code>(Code{kernel.entry, kernel.code});
    const ForkGate gate;
    const std::lock_guard lock(programs().mutex);
    if (programs().all.size() >= kMostPrograms) programs().all.clear();
    programs().all.try_emplace(key, code);
  }
  kernel.entry = code->entry, kernel.code = code->text;
  return std::make_shared<const GpuKernel>(std::move(kernel));
}

// The last of those that the device's capability includes: later devices run code for earlier ones.
const Target& cuda_target(int device) {
  const DeviceProperties properties = device_runtime(DeviceType::Cuda)->properties(device);
  const int capability = properties.major * 10 + properties.minor;
  std::string name;
  for (const std::string& known : gpu_targets())
    if (known.starts_with("sm_") && std::stoi(known.substr(3)) <= capability) name = known;
  if (name.empty())
    throw OpError(ErrorKind::Runtime, "the GPU " + properties.name + " is older than what code is made for (sm_75)");
  static std::mutex mutex;
  static std::unordered_map<std::string, Target>* const targets = new std::unordered_map<std::string, Target>;
  const ForkGate gate;
  const std::lock_guard lock(mutex);
  return targets->try_emplace(name, gpu_target(name)).first->second;
}

}  // namespace md
