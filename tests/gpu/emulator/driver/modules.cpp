// Loading PTX, and what is told of the functions in it.
#include "modules.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "graphs.h"

namespace emulated {
namespace {

// "7.8" is 78, "sm_90a" is 90.
int number_in(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  }
  return number;
}

// Codes for one generation and its relatives alone end in a letter.
void check_target(const std::string& target, const Device& device, std::string& log) {
  const std::string_view name = std::string_view(target).substr(0, target.find(','));
  const int wanted = number_in(name), has = device.capability();
  const char last = name.empty() ? '0' : name.back();
  const bool fits = last == 'a'   ? wanted == has
                    : last == 'f' ? wanted / 10 == has / 10 && wanted <= has
                                  : wanted <= has;
  if (fits) return;
  log = "the code is for " + std::string(name) + ", the device is sm_" + std::to_string(has);
  throw Failure{CUDA_ERROR_NO_BINARY_FOR_GPU};
}

void check_image(const void* image) {
  check(image != nullptr);
  static constexpr unsigned char kElf[4] = {0x7f, 'E', 'L', 'F'}, kFatbin[4] = {0x50, 0xed, 0x55, 0xba};
  check(std::memcmp(image, kElf, 4) != 0 && std::memcmp(image, kFatbin, 4) != 0, CUDA_ERROR_NO_BINARY_FOR_GPU);
}

using ChangeText = std::size_t (*)(const char* text, std::size_t bytes, char* to, std::size_t room);
// Set by tests, which change programs to see whether it is noticed.
std::atomic<ChangeText> change_text{nullptr};

// The text that takes the place of the image.
const void* changed(const void* image, std::string& kept) {
  const ChangeText change = change_text.load();
  if (!change) return image;
  const std::string_view text(static_cast<const char*>(image));
  kept.resize(2 * text.size() + 4096);
  const std::size_t bytes = change(text.data(), text.size(), kept.data(), kept.size() - 1);
  check(bytes < kept.size());
  if (bytes == 0) return image;
  kept.resize(bytes);
  return kept.c_str();
}

void put_log(const std::string& log, char* to, std::size_t bytes, std::size_t& written) {
  written = 0;
  if (!to || !bytes) return;
  written = std::min(log.size(), bytes - 1);
  std::memcpy(to, log.data(), written);
  to[written] = 0;
  if (written) ++written;
}

enum LoadOption : int { kInfoBuffer = 3, kInfoBytes = 4, kErrorBuffer = 5, kErrorBytes = 6 };

CUresult load(CUmodule* to, const void* image, unsigned count, const int* options, void** values) {
  check(to && (count == 0 || (options && values)));
  LoadOptions given;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case kInfoBuffer:
        given.info = static_cast<char*>(values[i]);
        break;
      case kInfoBytes:
        given.info_bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
        break;
      case kErrorBuffer:
        given.errors = static_cast<char*>(values[i]);
        break;
      case kErrorBytes:
        given.error_bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[i]));
        break;
      default:
        check(options[i] >= 0 && options[i] < 64);
    }
  }
  std::string log, other;
  CUresult result = CUDA_SUCCESS;
  try {
    auto made = load_module(changed(image, other), current_context(), log);
    *to = handles<LoadedModule>().add<CUmodule>(std::move(made));
  } catch (const Failure& failure) {
    result = failure.code;
  }
  std::size_t info = 0, errors = 0;
  put_log(result ? "" : log, given.info, given.info_bytes, info);
  put_log(result ? log : "", given.errors, given.error_bytes, errors);
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kInfoBytes) values[i] = reinterpret_cast<void*>(info);
    if (options[i] == kErrorBytes) values[i] = reinterpret_cast<void*>(errors);
  }
  return result;
}

std::shared_ptr<LoadedModule> module_of(CUmodule handle) {
  auto found = handles<LoadedModule>().get(handle);
  check(found->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return found;
}

}  // namespace

std::shared_ptr<LoadedModule> load_module(const void* image, const std::shared_ptr<Context>& context,
                                          std::string& log) {
  check_image(image);
  const std::string_view text(static_cast<const char*>(image));
  const std::string version = ptx_version(text), target = ptx_target(text);
  auto made = std::make_shared<LoadedModule>();
  made->context = context;
  made->ptx_version = number_in(version);
  made->binary_version = context->device.capability();
  if (made->ptx_version > newest_ptx(settings().version)) {
    log = "the code is PTX " + version + ", which is newer than the driver";
    throw Failure{CUDA_ERROR_UNSUPPORTED_PTX_VERSION};
  }
  if (!target.empty()) check_target(target, context->device, log);
  made->code = Module::load(text, *context->device.memory, log);
  check(made->code != nullptr, CUDA_ERROR_INVALID_PTX);
  return made;
}

std::shared_ptr<Function> function_of(const std::shared_ptr<LoadedModule>& module, const std::string& name) {
  const std::lock_guard guard(module->lock);
  auto& function = module->functions[name];
  if (!function) {
    const KernelInfo* info = module->code->kernel(name);
    if (!info) {
      module->functions.erase(name);
      throw Failure{CUDA_ERROR_NOT_FOUND};
    }
    function = std::make_shared<Function>();
    function->info = info;
    function->module = module;
    handles<Function>().add<CUfunction>(function);
  }
  return function;
}

void unload(const std::shared_ptr<LoadedModule>& module) {
  module->context->synchronize();
  const std::lock_guard guard(module->lock);
  for (const auto& [name, function] : module->functions) handles<Function>().remove(function.get());
  module->functions.clear();
}

Callee callee_of(CUfunction handle) {
  Callee callee{handles<Function>().get(handle), nullptr};
  callee.module = callee.function->module.lock();
  check(callee.module != nullptr, CUDA_ERROR_INVALID_HANDLE);
  check(callee.module->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return callee;
}

int most_dynamic_shared(const Callee& callee) {
  const int fixed = static_cast<int>(callee.function->info->static_shared_bytes);
  const int allowed = callee.function->most_dynamic_shared;
  return allowed > 48 * 1024 ? allowed : std::max(0, 48 * 1024 - fixed);
}

int blocks_per_multiprocessor(const Callee& callee, int threads, std::size_t dynamic_shared) {
  const Generation& has = *callee.module->context->device.generation;
  const int warps = (threads + 31) / 32;
  int blocks = std::min(has.blocks_per_multiprocessor, has.threads_per_multiprocessor / 32 / warps);
  const std::size_t shared =
      callee.function->info->static_shared_bytes + dynamic_shared + static_cast<std::size_t>(has.shared_reserved);
  if (shared)
    blocks = std::min(blocks, static_cast<int>(static_cast<std::size_t>(has.shared_per_multiprocessor) / shared));
  return blocks;
}

}  // namespace emulated

// Writes what is to be loaded instead of a text, and returns its bytes; 0: the text stays. Null ends it.
extern "C" __attribute__((visibility("default"))) void mdEmulatorChangeTexts(std::size_t (*change)(const char*,
                                                                                                   std::size_t, char*,
                                                                                                   std::size_t)) {
  emulated::change_text = change;
}

EMULATED_API(cuModuleLoadData, Context, CUmodule* module, const void* image) {
  return load(module, image, 0, nullptr, nullptr);
}

EMULATED_API(cuModuleLoadDataEx, Context, CUmodule* module, const void* image, unsigned count, int* options,
             void** values) {
  return load(module, image, count, options, values);
}

EMULATED_API(cuModuleLoadFatBinary, Context, CUmodule*, const void*) { return CUDA_ERROR_NO_BINARY_FOR_GPU; }

EMULATED_API(cuModuleUnload, Context, CUmodule module) {
  unload(handles<LoadedModule>().remove(module));
  return CUDA_SUCCESS;
}

EMULATED_API(cuModuleGetLoadingMode, Driver, int* mode) {
  check(mode);
  *mode = 1;  // at once
  return CUDA_SUCCESS;
}

EMULATED_API(cuModuleGetFunction, Context, CUfunction* function, CUmodule handle, const char* name) {
  check(function && name);
  *function = reinterpret_cast<CUfunction>(function_of(module_of(handle), name).get());
  return CUDA_SUCCESS;
}

EMULATED_API(cuModuleGetGlobal_v2, Context, CUdeviceptr* address, std::size_t* bytes, CUmodule module,
             const char* name) {
  check(name);
  const GlobalInfo* found = module_of(module)->code->global(name);
  check(found != nullptr, CUDA_ERROR_NOT_FOUND);
  if (address) *address = found->address;
  if (bytes) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncGetAttribute, Context, int* value, int attribute, CUfunction handle) {
  check(value);
  const Callee callee = callee_of(handle);
  const KernelInfo& info = *callee.function->info;
  switch (attribute) {
    case 0:
      *value = info.max_threads_per_block ? static_cast<int>(info.max_threads_per_block) : 1024;
      break;
    case 1:
      *value = static_cast<int>(info.static_shared_bytes);
      break;
    case 2:
      *value = 0;
      break;  // constants
    case 3:
      *value = static_cast<int>(info.local_bytes);
      break;
    case 4:
      *value = static_cast<int>(std::min(info.registers, 255u));
      break;
    case 5:
      *value = callee.module->ptx_version;
      break;
    case 6:
      *value = callee.module->binary_version;
      break;
    case 7:
      *value = 0;
      break;
    case 8:
      *value = most_dynamic_shared(callee);
      break;
    case 9:
      *value = callee.function->carveout;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncSetAttribute, Context, CUfunction handle, int attribute, int value) {
  const Callee callee = callee_of(handle);
  if (attribute == 8) {
    const int most = callee.module->context->device.generation->shared_per_block_optin;
    check(value >= 0 && value + static_cast<int>(callee.function->info->static_shared_bytes) <= most);
    callee.function->most_dynamic_shared = value;
  } else {
    check(attribute == 9 && value >= -1 && value <= 100);
    callee.function->carveout = value;
  }
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncSetCacheConfig, Context, CUfunction function, int) {
  callee_of(function);
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncGetModule, Context, CUmodule* module, CUfunction function) {
  check(module);
  *module = reinterpret_cast<CUmodule>(callee_of(function).module.get());
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncGetName, Context, const char** name, CUfunction function) {
  check(name);
  *name = callee_of(function).function->info->name.c_str();
  return CUDA_SUCCESS;
}

EMULATED_API(cuFuncGetParamInfo, Context, CUfunction function, std::size_t index, std::size_t* offset,
             std::size_t* bytes) {
  check(offset);
  const auto& parameters = callee_of(function).function->info->parameters;
  check(index < parameters.size());
  *offset = parameters[index].offset;
  if (bytes) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}

EMULATED_API(cuOccupancyMaxActiveBlocksPerMultiprocessor, Context, int* blocks, CUfunction function, int threads,
             std::size_t dynamic_shared) {
  check(blocks && threads > 0 && threads <= 1024);
  *blocks = blocks_per_multiprocessor(callee_of(function), threads, dynamic_shared);
  return CUDA_SUCCESS;
}

EMULATED_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, Context, int* blocks, CUfunction function,
             int threads, std::size_t dynamic_shared, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor_does(blocks, function, threads, dynamic_shared);
}
