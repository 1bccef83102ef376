// Libraries: code that belongs to no context, and is loaded into each where it is first used.
#include <cstring>

#include "modules.h"

namespace emulated {
namespace {

struct Kernel;

struct Library {
  std::string code;
  std::mutex lock;
  std::map<const Context*, std::shared_ptr<LoadedModule>> modules;
  std::map<std::string, std::shared_ptr<Kernel>> kernels;
};

struct Kernel {
  std::weak_ptr<Library> library;
  std::string name;
};

std::shared_ptr<LoadedModule> module_in(Library& library, const std::shared_ptr<Context>& context) {
  const std::lock_guard guard(library.lock);
  auto& module = library.modules[context.get()];
  if (!module || module->context != context) {
    std::string log;
    module = load_module(library.code.c_str(), context, log);
    handles<LoadedModule>().add<CUmodule>(module);
  }
  return module;
}

std::shared_ptr<Library> library_of(const Kernel& kernel) {
  auto library = kernel.library.lock();
  check(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return library;
}

}  // namespace
}  // namespace emulated

// The code is looked at at once, in the current context where there is one.
EMULATED_API(cuLibraryLoadData, Driver, CUlibrary* library, const void* code, int*, void**, unsigned, int*, void**,
             unsigned) {
  check(library && code);
  auto made = std::make_shared<Library>();
  static constexpr unsigned char kElf[4] = {0x7f, 'E', 'L', 'F'}, kFatbin[4] = {0x50, 0xed, 0x55, 0xba};
  check(std::memcmp(code, kElf, 4) != 0 && std::memcmp(code, kFatbin, 4) != 0, CUDA_ERROR_NO_BINARY_FOR_GPU);
  made->code = static_cast<const char*>(code);
  if (!context_stack().empty()) module_in(*made, current_context());
  *library = handles<Library>().add<CUlibrary>(std::move(made));
  return CUDA_SUCCESS;
}

EMULATED_API(cuLibraryUnload, Driver, CUlibrary handle) {
  const auto library = handles<Library>().remove(handle);
  const std::lock_guard guard(library->lock);
  for (const auto& [context, module] : library->modules) {
    handles<LoadedModule>().remove(module.get());
    unload(module);
  }
  for (const auto& [name, kernel] : library->kernels) handles<Kernel>().remove(kernel.get());
  return CUDA_SUCCESS;
}

EMULATED_API(cuLibraryGetKernel, Driver, CUkernel* kernel, CUlibrary handle, const char* name) {
  check(kernel && name);
  const auto library = handles<Library>().get(handle);
  if (!context_stack().empty()) function_of(module_in(*library, current_context()), name);
  const std::lock_guard guard(library->lock);
  auto& made = library->kernels[name];
  if (!made) {
    made = std::make_shared<Kernel>();
    made->library = library;
    made->name = name;
    handles<Kernel>().add<CUkernel>(made);
  }
  *kernel = reinterpret_cast<CUkernel>(made.get());
  return CUDA_SUCCESS;
}

EMULATED_API(cuLibraryGetModule, Context, CUmodule* module, CUlibrary library) {
  check(module);
  *module = reinterpret_cast<CUmodule>(module_in(*handles<Library>().get(library), current_context()).get());
  return CUDA_SUCCESS;
}

EMULATED_API(cuKernelGetFunction, Context, CUfunction* function, CUkernel handle) {
  check(function);
  const auto kernel = handles<Kernel>().get(handle);
  const auto module = module_in(*library_of(*kernel), current_context());
  *function = reinterpret_cast<CUfunction>(function_of(module, kernel->name).get());
  return CUDA_SUCCESS;
}
