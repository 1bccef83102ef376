// One primary context for each device, kept to the end of the process.
#include "backend/device/context.h"

#include <array>
#include <atomic>
#include <mutex>

#include "backend/device/memory_cache.h"
#include "backend/device/recorder.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

std::array<std::atomic<DeviceState*>, 128> states;
thread_local int device_of_thread = 0;

std::mutex& making() {
  static auto* const lock = new std::mutex;
  return *lock;
}

DeviceState* make_state(int ordinal) {
  const Driver& d = driver();
  auto made = std::make_unique<DeviceState>();
  made->ordinal = ordinal;
  check(d.device_get(&made->number, ordinal), "cuDeviceGet", ordinal);
  check(d.primary_retain(&made->context, made->number), "cuDevicePrimaryCtxRetain", ordinal);
  check(d.context_set(made->context), "cuCtxSetCurrent", ordinal);
  made->properties = ask_properties(made->number);
  made->streams = new Streams(ordinal);
  made->memory = new MemoryCache(ordinal, made->properties.total_memory);
  return made.release();
}

}  // namespace

DeviceState& use_device(int ordinal) {
  if (current_recorder()) [[unlikely]]
    throw CannotRecord("it needs the device between its launches");
  const Driver& d = driver();
  if (ordinal < 0 || ordinal >= found().devices) {
    throw OpError(ErrorKind::Device, "CUDA error: invalid device ordinal: there is no device " +
                                         std::to_string(ordinal) + ", the devices are 0 to " +
                                         std::to_string(found().devices - 1));
  }
  std::atomic<DeviceState*>& place = states[static_cast<std::size_t>(ordinal)];
  DeviceState* state = place.load(std::memory_order_acquire);
  if (!state) {
    const std::lock_guard guard(making());
    state = place.load(std::memory_order_acquire);
    if (!state) place.store(state = make_state(ordinal), std::memory_order_release);
  }
  check(d.context_set(state->context), "cuCtxSetCurrent", ordinal);
  return *state;
}

DeviceState* device_in_use(int ordinal) noexcept {
  if (!is_usable() || ordinal < 0 || ordinal >= static_cast<int>(states.size())) return nullptr;
  return states[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire);
}

int current_device() { return device_of_thread; }
void set_current_device(int ordinal) {
  use_device(ordinal);
  device_of_thread = ordinal;
}

std::string error_text(Code code, const char* function, int device, StreamNumber stream) {
  std::string text = "CUDA error: " + words_of(code) + ", from " + function;
  if (device >= 0) text += " for cuda:" + std::to_string(device);
  if (is_lasting(code)) {
    if (DeviceState* const state = device_in_use(device)) {
      if (const std::string kernels = state->streams->last_kernels(stream); !kernels.empty()) {
        text += ". The kernel launched last there is " + kernels;
        if (!launches_are_waited_for())
          text +=
              ". The error may be of an earlier one: with CUDA_LAUNCH_BLOCKING=1 each launch is waited for, and the "
              "line that has launched raises its error";
      }
    }
    text += ". Nothing more can be done with the device in this process; what is on the CPU is unharmed";
  }
  return text;
}

void check(Code code, const char* function, int device, StreamNumber stream) {
  if (code != 0) [[unlikely]]
    throw OpError(ErrorKind::Device, error_text(code, function, device, stream));
}

DeviceProperties ask_properties(int number) {
  const Driver& d = driver();
  const auto attribute = [&](int which) {
    int value = 0;
    return d.device_attribute(&value, which, number) == 0 ? value : 0;
  };
  const auto bytes = [&](int which) { return static_cast<std::size_t>(attribute(which)); };
  DeviceProperties p;
  char name[256] = {};
  check(d.device_name(name, sizeof name - 1, number), "cuDeviceGetName", number);
  p.name = name;
  check(d.device_memory(&p.total_memory, number), "cuDeviceTotalMem", number);
  p.threads_per_block = attribute(1);
  p.shared_memory_per_block = bytes(8);
  p.warp = attribute(10);
  p.clock_khz = attribute(13);
  p.multiprocessors = attribute(16);
  p.integrated = attribute(18) != 0;
  p.memory_clock_khz = attribute(36);
  p.memory_bus_bits = attribute(37);
  p.l2_cache = bytes(38);
  p.threads_per_multiprocessor = attribute(39);
  p.major = attribute(75);
  p.minor = attribute(76);
  p.shared_memory_per_multiprocessor = bytes(81);
  p.registers_per_multiprocessor = attribute(82);
  p.shared_memory_at_most = bytes(97);
  unsigned char uuid[16] = {};
  if (d.device_uuid(uuid, number) == 0) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) p.uuid += '-';
      p.uuid += kDigits[uuid[i] >> 4];
      p.uuid += kDigits[uuid[i] & 15];
    }
  }
  return p;
}

}  // namespace md::device
