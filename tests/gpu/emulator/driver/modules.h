// Code on a device: modules made of PTX, and the functions in them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../executor.h"
#include "streams.h"

namespace emulated {

struct Function;

struct LoadedModule {
  std::shared_ptr<Context> context;
  std::unique_ptr<Module> code;
  int binary_version = 0, ptx_version = 0;  // 75; 63
  std::mutex lock;
  std::map<std::string, std::shared_ptr<Function>> functions;  // those asked for
};

struct Function {
  std::weak_ptr<LoadedModule> module;
  const KernelInfo* info = nullptr;
  std::atomic<int> most_dynamic_shared = 48 * 1024;
  std::atomic<int> carveout = -1;
};

// Options of cuModuleLoadDataEx: buffers for logs.
struct LoadOptions {
  char* info = nullptr;
  std::size_t info_bytes = 0;
  char* errors = nullptr;
  std::size_t error_bytes = 0;
};

std::shared_ptr<LoadedModule> load_module(const void* image, const std::shared_ptr<Context>& context, std::string& log);
std::shared_ptr<Function> function_of(const std::shared_ptr<LoadedModule>& module, const std::string& name);
void unload(const std::shared_ptr<LoadedModule>& module);

// The function of a handle and its module, alive; throws otherwise.
struct Callee {
  std::shared_ptr<Function> function;
  std::shared_ptr<LoadedModule> module;
};
Callee callee_of(CUfunction handle);

// Most bytes of shared memory that a block of the function may ask for at its launch.
int most_dynamic_shared(const Callee& callee);
// How many blocks of that size a multiprocessor holds, by threads and shared memory. Registers do not count: an
// emulated device has as many as a kernel names.
int blocks_per_multiprocessor(const Callee& callee, int threads, std::size_t dynamic_shared);

}  // namespace emulated
