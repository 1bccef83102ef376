// Starting the emulated driver, and what every function does before its own work.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "devices.h"
#include "record.h"
#include "streams.h"

namespace emulated {

thread_local bool null_stream_is_per_thread = false;

namespace {

std::atomic<pid_t> started_in = 0;  // the process that has called cuInit
std::atomic<bool> ended = false;

bool is_forked() {
  const pid_t process = started_in.load(std::memory_order_acquire);
  return process && process != getpid();
}

CUresult why_not(Needs needs) {
  if (needs == Needs::Nothing) return CUDA_SUCCESS;
  if (!started_in.load(std::memory_order_acquire)) return CUDA_ERROR_NOT_INITIALIZED;
  if (ended.load(std::memory_order_acquire)) return CUDA_ERROR_DEINITIALIZED;
  if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  if (needs == Needs::Driver) return CUDA_SUCCESS;
  const auto& stack = context_stack();
  if (stack.empty() || !stack.back()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.back()->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return needs == Needs::Context ? stack.back()->error() : CUDA_SUCCESS;
}

// Is a failure that was asked for one that a device's context would not get over?
void break_context(CUresult code) {
  if (!is_sticky(code) || context_stack().empty() || !context_stack().back()) return;
  context_stack().back()->fail(code);
}

void end_driver() {
  if (is_forked()) return;
  ended.store(true, std::memory_order_release);
  stop_streams();
}

}  // namespace

CUresult enter(const char* function, Needs needs, CUresult (*does)(void*), void* with) {
  // Another thread of the parent may have held any lock when this process was made: none is taken here.
  if (is_forked())
    return needs == Needs::Nothing && std::string_view(function) != "cuInit" ? does(with) : CUDA_ERROR_NOT_INITIALIZED;
  try {
    if (const CUresult fault = faults().count(function)) {
      break_context(fault);
      return fault;
    }
    if (const CUresult code = why_not(needs)) return code;
    return does(with);
  } catch (const Failure& failure) {
    return failure.code;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    add_finding("emulator", std::string(function) + ": " + error.what(), CUDA_ERROR_UNKNOWN);
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace emulated

EMULATED_API(cuInit, Nothing, unsigned flags) {
  static std::mutex& lock = *new std::mutex;
  const std::lock_guard guard(lock);
  check(flags == 0);
  if (ended) return CUDA_ERROR_DEINITIALIZED;
  if (started_in) return CUDA_SUCCESS;
  if (!settings().complaint.empty()) {
    add_finding("settings", settings().complaint, CUDA_ERROR_UNKNOWN);
    return CUDA_ERROR_UNKNOWN;
  }
  if (settings().devices.empty()) return CUDA_ERROR_NO_DEVICE;
  make_devices();
  std::atexit(end_driver);
  started_in.store(getpid(), std::memory_order_release);
  return CUDA_SUCCESS;
}

EMULATED_API(cuDriverGetVersion, Nothing, int* version) {
  check(version);
  *version = settings().version;
  return CUDA_SUCCESS;
}
