// Names of error codes, and what they mean.
#include "entry.h"
#include "record.h"

namespace emulated {
namespace {

struct Row {
  int code;
  const char* name;
  const char* meaning;
};

constexpr Row kRows[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "the driver was not initialised in this process"},
    {4, "CUDA_ERROR_DEINITIALIZED", "the driver has shut down"},
    {5, "CUDA_ERROR_PROFILER_DISABLED", "no profiler is at work"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "the library loaded is a stub"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is not to be had at the moment"},
    {100, "CUDA_ERROR_NO_DEVICE", "there is no CUDA device"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "no device has that number"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the device code cannot be read"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "the context is invalid, or none is current"},
    {205, "CUDA_ERROR_MAP_FAILED", "memory cannot be mapped"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "already mapped"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is not made for this device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "the device's memory has an error that cannot be corrected"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "the device has no such limit"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "another thread uses the context"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "these devices do not reach each other's memory"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX cannot be compiled"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "a link between devices failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the compiler of PTX was not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "the device's source is invalid"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "the file was not found"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a shared object lacks a symbol"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared object did not start"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "the operating system refused a call"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "not possible in this state"},
    {500, "CUDA_ERROR_NOT_FOUND", "not found"},
    {600, "CUDA_ERROR_NOT_READY", "the device is not done yet"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel or copy used an illegal address"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch asks for more than the device has"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the kernel took too long and was ended"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "access between the devices is open already"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "access between the devices is not open"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed"},
    {710, "CUDA_ERROR_ASSERT", "an assertion in a kernel failed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the memory is pinned already"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the memory was not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel's stack of calls is broken"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong kind of memory"},
    {718, "CUDA_ERROR_INVALID_PC", "a kernel jumped to no instruction"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed, or the device was lost"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "the blocks do not fit on the device at once"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "not permitted here"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver and library do not match"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not possible while a stream is captured"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error has ended the capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a stream that was forked off was not joined again"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "captured work depends on work that is not"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream would wait for a captured one"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "the event was recorded in a capture"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "another thread began the capture"},
    {909, "CUDA_ERROR_TIMEOUT", "waited too long"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graphs are too different to update one"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Row* row_of(int code) {
  for (const Row& row : kRows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace
}  // namespace emulated

EMULATED_API(cuGetErrorName, Nothing, CUresult code, const char** name) {
  check(name);
  const Row* row = row_of(code);
  *name = row ? row->name : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API(cuGetErrorString, Nothing, CUresult code, const char** meaning) {
  check(meaning);
  const Row* row = row_of(code);
  constexpr int kOfKernels = 700;
  *meaning = !row ? nullptr : code < kOfKernels ? row->meaning : with_finding(code, row->meaning);
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
