// The functions on contexts: the devices' primary ones, and those made apart.
#include "graphs.h"
#include "host_memory.h"
#include "streams.h"

namespace emulated {
namespace {

std::map<int, std::size_t> usual_limits() {
  return {{0, 1024},                // stack of a thread
          {1, 1 << 20},             // buffer of printf
          {2, 8 << 20},             // heap of kernels
          {3, 2},       {4, 2048},  // kernels that launch kernels
          {5, 128},     {6, 0}};    // granularity of L2, lines kept in it
}

void destroy(const std::shared_ptr<Context>& context) {
  context->synchronize();
  context->alive = false;
  context->device.release_all_of(context.get());
  free_all_pinned_of(context.get());
}

CUresult release_primary(CUdevice ordinal, bool reset) {
  Device& device = device_at(ordinal);
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard guard(device.lock);
    if (!reset) check(device.retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (!reset && --device.retained > 0) return CUDA_SUCCESS;
    ended = std::move(device.primary);
    device.primary = nullptr;
  }
  if (!ended) return CUDA_SUCCESS;
  destroy(ended);
  handles<Context>().remove(ended.get());
  if (!reset) return CUDA_SUCCESS;
  const std::lock_guard guard(device.lock);  // who has retained it goes on with another one
  if (device.retained > 0) {
    device.primary = std::make_shared<Context>(device, device.primary_flags, true);
    device.primary->limits = usual_limits();
    handles<Context>().add<CUcontext>(device.primary);
  }
  return CUDA_SUCCESS;
}

CUcontext handle_of(const std::shared_ptr<Context>& context) { return reinterpret_cast<CUcontext>(context.get()); }

void check_flags(unsigned flags) {
  const unsigned scheduling = flags & kSchedulingMask;
  check((flags & ~0xffu) == 0 && (scheduling == 0 || scheduling == 1 || scheduling == 2 || scheduling == 4));
}

}  // namespace
}  // namespace emulated

EMULATED_API(cuDevicePrimaryCtxRetain, Driver, CUcontext* context, CUdevice ordinal) {
  check(context);
  Device& device = device_at(ordinal);
  const std::lock_guard guard(device.lock);
  if (!device.primary) {
    device.primary = std::make_shared<Context>(device, device.primary_flags, true);
    device.primary->limits = usual_limits();
    handles<Context>().add<CUcontext>(device.primary);
  }
  ++device.retained;
  *context = handle_of(device.primary);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDevicePrimaryCtxRelease_v2, Driver, CUdevice device) { return release_primary(device, false); }
EMULATED_API(cuDevicePrimaryCtxRelease, Driver, CUdevice device) { return release_primary(device, false); }
EMULATED_API(cuDevicePrimaryCtxReset_v2, Driver, CUdevice device) { return release_primary(device, true); }

EMULATED_API(cuDevicePrimaryCtxGetState, Driver, CUdevice ordinal, unsigned* flags, int* active) {
  check(flags && active);
  Device& device = device_at(ordinal);
  const std::lock_guard guard(device.lock);
  *flags = device.primary_flags;
  *active = device.primary != nullptr;
  return CUDA_SUCCESS;
}

EMULATED_API(cuDevicePrimaryCtxSetFlags_v2, Driver, CUdevice ordinal, unsigned flags) {
  check_flags(flags);
  Device& device = device_at(ordinal);
  const std::lock_guard guard(device.lock);
  device.primary_flags = flags;
  if (device.primary) device.primary->flags = flags;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxCreate_v2, Driver, CUcontext* context, unsigned flags, CUdevice ordinal) {
  check(context);
  check_flags(flags);
  auto made = std::make_shared<Context>(device_at(ordinal), flags, false);
  made->limits = usual_limits();
  *context = handles<Context>().add<CUcontext>(made);
  context_stack().push_back(made);
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxDestroy_v2, Driver, CUcontext context) {
  const auto found = handles<Context>().get(context, CUDA_ERROR_INVALID_CONTEXT);
  check(!found->primary, CUDA_ERROR_INVALID_CONTEXT);
  handles<Context>().remove(context);
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == found) stack.pop_back();
  destroy(found);
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxSetCurrent, Driver, CUcontext context) {
  set_current_context(context ? handles<Context>().get(context, CUDA_ERROR_INVALID_CONTEXT) : nullptr);
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetCurrent, Driver, CUcontext* context) {
  check(context);
  const auto& stack = context_stack();
  *context = stack.empty() ? nullptr : handle_of(stack.back());
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxPushCurrent_v2, Driver, CUcontext context) {
  context_stack().push_back(handles<Context>().get(context, CUDA_ERROR_INVALID_CONTEXT));
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxPopCurrent_v2, Driver, CUcontext* context) {
  auto& stack = context_stack();
  check(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  if (context) *context = handle_of(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetDevice, BrokenContext, CUdevice* device) {
  check(device);
  *device = current_context()->device.ordinal;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetFlags, BrokenContext, unsigned* flags) {
  check(flags);
  *flags = current_context()->flags;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetId, Driver, CUcontext context, unsigned long long* id) {
  check(id);
  *id = (context ? handles<Context>().get(context, CUDA_ERROR_INVALID_CONTEXT) : current_context())->id;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetApiVersion, Driver, CUcontext context, unsigned* version) {
  check(version);
  if (context) handles<Context>().get(context, CUDA_ERROR_INVALID_CONTEXT);
  *version = 3020;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxSynchronize, Context) {
  refuse_while_capturing();
  const auto context = current_context();
  for (const auto& stream : context->streams()) refuse_captured(*stream);
  context->synchronize();
  return context->error();
}

EMULATED_API(cuCtxGetStreamPriorityRange, Context, int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetLimit, Context, std::size_t* value, int limit) {
  check(value);
  const auto context = current_context();
  const auto found = context->limits.find(limit);
  check(found != context->limits.end(), CUDA_ERROR_UNSUPPORTED_LIMIT);
  *value = found->second;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxSetLimit, Context, int limit, std::size_t value) {
  const auto context = current_context();
  const auto found = context->limits.find(limit);
  check(found != context->limits.end(), CUDA_ERROR_UNSUPPORTED_LIMIT);
  found->second = value;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxGetCacheConfig, Context, int* config) {
  check(config);
  *config = 0;
  return CUDA_SUCCESS;
}

EMULATED_API(cuCtxSetCacheConfig, Context, int) { return CUDA_SUCCESS; }
