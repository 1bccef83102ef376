// Launching kernels: what a launch may ask for, and its place in a stream.
#include <cstdio>
#include <cstring>

#include "graphs.h"
#include "modules.h"
#include "record.h"

namespace emulated {
namespace {

// The end of the list, the parameters in one piece, and its size: how `extra` names them.
constexpr std::uintptr_t kExtraEnd = 0, kExtraBuffer = 1, kExtraBytes = 2;

std::vector<std::byte> parameters_of(const KernelInfo& info, void** each, void** extra) {
  std::vector<std::byte> all(info.parameter_bytes);
  if (each) {
    check(!extra);
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
      check(each[i] != nullptr);
      std::memcpy(all.data() + info.parameters[i].offset, each[i], info.parameters[i].bytes);
    }
    return all;
  }
  if (!extra) {
    check(info.parameters.empty());
    return all;
  }
  const void* from = nullptr;
  std::size_t bytes = 0;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kExtraEnd; extra += 2) {
    const auto what = reinterpret_cast<std::uintptr_t>(*extra);
    check(what == kExtraBuffer || what == kExtraBytes);
    if (what == kExtraBuffer) from = extra[1];
    if (what == kExtraBytes) bytes = *static_cast<const std::size_t*>(extra[1]);
  }
  check(bytes >= info.parameter_bytes && (from || !bytes));
  if (!all.empty()) std::memcpy(all.data(), from, all.size());
  return all;
}

void check_shape(const Callee& callee, Extent grid, Extent block, std::size_t shared) {
  check(grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535);
  check(block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64);
  check(block.count() <= 1024);
  const unsigned most = callee.function->info->max_threads_per_block;
  check(!most || block.count() <= most, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  check(shared <= static_cast<std::size_t>(most_dynamic_shared(callee)));
}

CUresult run_kernel(const std::shared_ptr<LoadedModule>& module, const std::string& name, Extent grid, Extent block,
                    std::size_t shared, const std::vector<std::byte>& parameters) {
  const LaunchResult result = module->code->run(name, grid, block, shared, parameters.data());
  if (!result.printed.empty()) std::fwrite(result.printed.data(), 1, result.printed.size(), stdout);
  add_launch(name, grid, block, shared, result);
  return static_cast<CUresult>(result.code);
}

Work work_of(const Callee& callee, Extent grid, Extent block, std::size_t shared, void** each, void** extra) {
  check_shape(callee, grid, block, shared);
  Work work{NodeKind::Kernel, callee.function->info->name, {}, {}};
  work.run = [module = callee.module, name = work.what, grid, block, shared,
              parameters = parameters_of(*callee.function->info, each, extra)] {
    return run_kernel(module, name, grid, block, shared, parameters);
  };
  return work;
}

CUresult launch(CUfunction handle, Extent grid, Extent block, std::size_t shared, CUstream stream_handle, void** each,
                void** extra) {
  const Callee callee = callee_of(handle);
  const auto stream = stream_of(stream_handle);
  check(callee.module->context == stream->context, CUDA_ERROR_INVALID_CONTEXT);
  enqueue(*stream, work_of(callee, grid, block, shared, each, extra));
  return CUDA_SUCCESS;
}

}  // namespace

Work kernel_work(CUfunction handle, Extent grid, Extent block, std::size_t shared, void** each, void** extra) {
  const Callee callee = callee_of(handle);
  check(callee.module->context == current_context(), CUDA_ERROR_INVALID_CONTEXT);
  return work_of(callee, grid, block, shared, each, extra);
}

}  // namespace emulated

EMULATED_STREAM_API(cuLaunchKernel, _ptsz, Context, CUfunction function, unsigned grid_x, unsigned grid_y,
                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                    CUstream stream, void** parameters, void** extra) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters, extra);
}

// Attributes that change the order or the shape of execution are refused: clusters, cooperative launches.
EMULATED_STREAM_API(cuLaunchKernelEx, _ptsz, Context, const CUlaunchConfig* config, CUfunction function,
                    void** parameters, void** extra) {
  check(config && (config->attrs || !config->numAttrs));
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const int id = config->attrs[i].id;
    check(id != 2 && id != 4, CUDA_ERROR_NOT_SUPPORTED);
  }
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream,
                parameters, extra);
}

EMULATED_STREAM_API(cuLaunchCooperativeKernel, _ptsz, Context, CUfunction, unsigned, unsigned, unsigned, unsigned,
                    unsigned, unsigned, unsigned, CUstream, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
