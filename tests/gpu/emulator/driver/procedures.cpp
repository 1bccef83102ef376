// Functions looked up by name and version.
#include <dlfcn.h>

#include <string>

#include "entry.h"
#include "settings.h"

namespace emulated {
namespace {

// Names whose form of today ends in a number: from this version of the interface on.
struct Form {
  std::string_view name, ending;
  int since;
};

constexpr Form kForms[] = {
    {"cuGetProcAddress", "_v2", 12000},        {"cuGraphExecUpdate", "_v2", 12000},
    {"cuGraphAddKernelNode", "_v2", 12000},    {"cuGraphExecKernelNodeSetParams", "_v2", 12000},
    {"cuGraphInstantiate", "_v2", 11000},      {"cuStreamBeginCapture", "_v2", 10010},
    {"cuStreamGetCaptureInfo", "_v2", 11030},  {"cuDevicePrimaryCtxRelease", "_v2", 11000},
    {"cuDevicePrimaryCtxReset", "_v2", 11000}, {"cuDevicePrimaryCtxSetFlags", "_v2", 11000},
    {"cuDeviceGetUuid", "_v2", 11040},         {"cuEventElapsedTime", "_v2", 12080},
};

// The library itself, whatever name it was loaded by.
void* this_library() {
  static void* const opened = [] {
    Dl_info about{};
    const bool found = dladdr(reinterpret_cast<const void*>(&this_library), &about) != 0;
    return found ? dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  return opened;
}

void* exported(const std::string& name, bool per_thread) {
  void* const library = this_library();
  if (!library || !name.starts_with("cu")) return nullptr;
  if (per_thread) {
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      if (void* const found = dlsym(library, (name + suffix).c_str())) return found;
    }
  }
  return dlsym(library, name.c_str());
}

void* look_up(const std::string& name, int version, bool per_thread) {
  for (const Form& form : kForms) {
    if (form.name != name) continue;
    void* const found = version >= form.since ? exported(name + std::string(form.ending), per_thread) : nullptr;
    return found ? found : exported(name, per_thread);
  }
  if (version >= 3020) {
    if (void* const found = exported(name + "_v2", per_thread)) return found;
  }
  return exported(name, per_thread);
}

constexpr std::uint64_t kPerThreadFlag = 2;

}  // namespace
}  // namespace emulated

// What was found: 0 the function, 1 none of the name, 2 a newer driver has it.
EMULATED_API(cuGetProcAddress_v2, Nothing, const char* name, void** function, int version, std::uint64_t flags,
             int* status) {
  check(name && function && (flags & ~std::uint64_t{3}) == 0);
  *function = version <= settings().version ? look_up(name, version, flags & kPerThreadFlag) : nullptr;
  if (status) *status = *function ? 0 : version > settings().version ? 2 : 1;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EMULATED_API(cuGetProcAddress, Nothing, const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2_does(name, function, version, flags, nullptr);
}
