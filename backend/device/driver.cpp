// Finding the driver's library, its functions and its devices.
#include "backend/device/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "ir/core/error.h"

namespace md::device {
namespace {

constexpr const char* kVariable = "MINIDYNAMO_CUDA_DRIVER";
constexpr const char* kSystemLibrary = "libcuda.so.1";
constexpr const char* kEmulatedLibrary = "libminidynamo_cuda_emulated.so";
constexpr int kOldest = 12000;  // the first one that takes all kernels

Driver table;
std::atomic<bool> usable{false}, forked{false};

struct Wanted {
  const char* name;
  void** place;
};

template <class F>
void** place_of(F*& pointer) {
  return reinterpret_cast<void**>(&pointer);
}

std::vector<Wanted> wanted_functions(Driver& d) {
  return {{"cuInit", place_of(d.init)},
          {"cuDriverGetVersion", place_of(d.driver_version)},
          {"cuGetErrorName", place_of(d.error_name)},
          {"cuGetErrorString", place_of(d.error_text)},
          {"cuDeviceGetCount", place_of(d.device_count)},
          {"cuDeviceGet", place_of(d.device_get)},
          {"cuDeviceGetName", place_of(d.device_name)},
          {"cuDeviceGetUuid_v2", place_of(d.device_uuid)},
          {"cuDeviceTotalMem_v2", place_of(d.device_memory)},
          {"cuDeviceGetAttribute", place_of(d.device_attribute)},
          {"cuDevicePrimaryCtxRetain", place_of(d.primary_retain)},
          {"cuCtxSetCurrent", place_of(d.context_set)},
          {"cuCtxSynchronize", place_of(d.context_synchronize)},
          {"cuCtxGetStreamPriorityRange", place_of(d.stream_priorities)},
          {"cuMemGetInfo_v2", place_of(d.memory_info)},
          {"cuMemAlloc_v2", place_of(d.allocate)},
          {"cuMemFree_v2", place_of(d.free)},
          {"cuMemHostAlloc", place_of(d.allocate_host)},
          {"cuMemFreeHost", place_of(d.free_host)},
          {"cuMemHostGetDevicePointer_v2", place_of(d.host_address)},
          {"cuPointerGetAttribute", place_of(d.pointer_attribute)},
          {"cuMemcpyHtoDAsync_v2", place_of(d.copy_to_device)},
          {"cuMemcpyDtoHAsync_v2", place_of(d.copy_to_host)},
          {"cuMemcpyDtoDAsync_v2", place_of(d.copy_within)},
          {"cuMemcpyPeerAsync", place_of(d.copy_between)},
          {"cuMemsetD8Async", place_of(d.set_bytes)},
          {"cuStreamCreateWithPriority", place_of(d.stream_create)},
          {"cuStreamSynchronize", place_of(d.stream_synchronize)},
          {"cuStreamQuery", place_of(d.stream_query)},
          {"cuStreamWaitEvent", place_of(d.stream_wait)},
          {"cuEventCreate", place_of(d.event_create)},
          {"cuEventDestroy_v2", place_of(d.event_destroy)},
          {"cuEventRecord", place_of(d.event_record)},
          {"cuEventQuery", place_of(d.event_query)},
          {"cuEventSynchronize", place_of(d.event_synchronize)},
          {"cuEventElapsedTime", place_of(d.event_elapsed)},
          {"cuModuleLoadDataEx", place_of(d.module_load)},
          {"cuModuleUnload", place_of(d.module_unload)},
          {"cuModuleGetFunction", place_of(d.module_function)},
          {"cuFuncGetAttribute", place_of(d.function_get)},
          {"cuFuncSetAttribute", place_of(d.function_set)},
          {"cuLaunchKernel", place_of(d.launch)},
          {"cuStreamBeginCapture_v2", place_of(d.capture_begin)},
          {"cuStreamEndCapture", place_of(d.capture_end)},
          {"cuStreamIsCapturing", place_of(d.capture_asked)},
          {"cuGraphInstantiateWithFlags", place_of(d.graph_instantiate)},
          {"cuGraphLaunch", place_of(d.graph_launch)},
          {"cuGraphExecDestroy", place_of(d.graph_runnable_destroy)},
          {"cuGraphDestroy", place_of(d.graph_destroy)},
          {"cuGraphCreate", place_of(d.graph_create)},
          {"cuGraphAddKernelNode_v2", place_of(d.graph_add_kernel)},
          {"cuGraphAddMemcpyNode", place_of(d.graph_add_copy)},
          {"cuGraphAddMemsetNode", place_of(d.graph_add_fill)},
          {"cuGraphExecKernelNodeSetParams_v2", place_of(d.graph_change_kernel)},
          {"cuGraphExecMemcpyNodeSetParams", place_of(d.graph_change_copy)},
          {"cuGraphExecMemsetNodeSetParams", place_of(d.graph_change_fill)}};
}

// The folder of the library that this code is in, with a slash; empty if nobody knows.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

void* open_library(std::string& reason) {
  const char* const set = std::getenv("MINIDYNAMO_CUDA_DRIVER");
  const std::string asked = set ? set : "";
  if (asked == "none") return reason = std::string(kVariable) + " is 'none'", nullptr;
  if (!asked.empty() && asked != "emulated" && asked.find('/') == std::string::npos) {
    reason =
        std::string(kVariable) + " is '" + asked + "': it may be 'emulated', 'none', the path of a library, or not set";
    return nullptr;
  }
  const std::string path = asked.empty()         ? kSystemLibrary
                           : asked == "emulated" ? own_folder() + kEmulatedLibrary
                                                 : asked;
  if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* const words = dlerror();
  const std::string said = words ? words : path;
  reason = asked.empty() ? "no NVIDIA driver was found on this machine (" + said + ")"
                         : "the driver that " + std::string(kVariable) + " names cannot be loaded: " + said;
  return nullptr;
}

bool take_functions(void* library, std::string& reason) {
  std::string missing;
  for (const Wanted& w : wanted_functions(table)) {
    *w.place = dlsym(library, w.name);
    if (!*w.place) missing += (missing.empty() ? "" : ", ") + std::string(w.name);
  }
  if (!missing.empty()) reason = "the NVIDIA driver lacks functions that are needed: " + missing;
  return missing.empty();
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

Found look() {
  Found f;
  void* const library = open_library(f.reason);
  if (!library) return f;
  // The version can be asked for before anything else; an old driver would be said to lack functions.
  if (auto* const ask = reinterpret_cast<decltype(table.driver_version)>(dlsym(library, "cuDriverGetVersion")))
    if (ask(&f.version) != 0) f.version = 0;
  if (f.version && f.version < kOldest) {
    f.reason = "the NVIDIA driver is too old: it is for CUDA " + version_text(f.version) + ", and " +
               version_text(kOldest) + " or newer is needed";
    return f;
  }
  if (!take_functions(library, f.reason)) return f;
  int count = 0;
  if (const Code code = table.init(0)) {
    f.reason = "the NVIDIA driver cannot be initialized: " + words_of(code);
  } else if (const Code asked = table.device_count(&count)) {
    f.reason = "the NVIDIA driver does not tell its devices: " + words_of(asked);
  } else if (count <= 0) {
    f.reason = "the NVIDIA driver has found no device";
  } else {
    f.devices = std::min(count, 128);  // ordinals of tensors go to 127
    usable.store(true, std::memory_order_release);
  }
  return f;
}

[[noreturn]] void refuse_fork() {
  throw OpError(ErrorKind::Runtime,
                "Cannot re-initialize CUDA in forked subprocess: the parent process had used the driver before it "
                "forked. Start processes that use CUDA with multiprocessing's 'spawn' method");
}

}  // namespace

const Found& found() noexcept {
  static const Found* const result = [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (usable.load()) forked.store(true);
    });
    return new Found(look());  // never destroyed: storages may be freed while other statics are being torn down
  }();
  return *result;
}

const Driver& driver() {
  if (forked.load(std::memory_order_relaxed)) refuse_fork();
  if (!usable.load(std::memory_order_acquire)) {
    const Found& f = found();
    if (!f.devices) throw OpError(ErrorKind::Runtime, "CUDA is not available: " + f.reason);
  }
  return table;
}

bool is_usable() noexcept { return usable.load(std::memory_order_acquire) && !forked.load(std::memory_order_relaxed); }

std::string words_of(Code code) {
  const char *name = nullptr, *text = nullptr;
  if (table.error_name) table.error_name(code, &name);
  if (table.error_text) table.error_text(code, &text);
  return (text ? text : "unknown error") + std::string(" (") + (name ? name : std::to_string(code)) + ')';
}

bool is_lasting(Code code) {
  constexpr Code kLasting[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  return std::ranges::find(kLasting, code) != std::end(kLasting);
}

}  // namespace md::device
