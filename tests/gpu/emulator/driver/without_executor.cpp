// Stands in where the library is linked without what runs PTX: memory, streams and copies work, modules cannot be read.
#include "../executor.h"

namespace emulated {

struct Program {};

#define EMULATED_WEAK __attribute__((weak))

EMULATED_WEAK Module::Module(DeviceMemory& memory) : memory_(memory) {}
EMULATED_WEAK Module::~Module() {}
EMULATED_WEAK std::unique_ptr<Module> Module::load(std::string_view, DeviceMemory&, std::string& log) {
  log = "this library cannot read PTX";
  return nullptr;
}
EMULATED_WEAK const KernelInfo* Module::kernel(const std::string&) const { return nullptr; }
EMULATED_WEAK const GlobalInfo* Module::global(const std::string&) const { return nullptr; }
EMULATED_WEAK LaunchResult Module::run(const std::string&, Extent, Extent, std::size_t, const void*, const Checks&) {
  return {kLaunchFailed, {}, {}, {}};
}
EMULATED_WEAK Checks Checks::from_environment() { return {}; }
EMULATED_WEAK void Counters::add(const Counters&) {}
EMULATED_WEAK std::string ptx_target(std::string_view) { return {}; }
EMULATED_WEAK std::string ptx_version(std::string_view) { return {}; }

}  // namespace emulated
