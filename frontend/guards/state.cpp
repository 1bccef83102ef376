// Packs the ambient state (grad mode, default dtype, threads, device) into a word and explains a difference.
#include "frontend/guards/state.h"

#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/core/threads.h"
#include "ir/graph/text.h"

namespace md {
namespace {

// A field of the word: width and the name the log gives it.
struct Field {
  int shift, bits;
  const char* name;
  std::int64_t of(std::int64_t word) const { return word >> shift & ((std::int64_t{1} << bits) - 1); }
};
constexpr Field kGradMode{0, 1, "grad_mode"};
constexpr Field kInferenceMode{1, 1, "inference_mode"};
constexpr Field kDefaultDType{8, 8, "default_dtype"};
constexpr Field kThreads{16, 20, "num_threads"};
constexpr Field kDefaultDevice{36, 12, "default_device"};
constexpr Field kAutocast{48, kCurrentDeviceShift, "autocast_state"};
constexpr Field kCurrentDevice{48 + kCurrentDeviceShift, kModesShift - kCurrentDeviceShift, "current_device"};
constexpr Field kFunctionModes{48 + kModesShift, 3, "torch_function_modes"};

std::int64_t word_of(Device d) { return (std::int64_t{d.index} + 1) << 4 | static_cast<std::int64_t>(d.type); }
Device device_of_word(std::int64_t word) {
  return {static_cast<DeviceType>(word & 15), static_cast<std::int8_t>((word >> 4) - 1)};
}

}  // namespace

std::int64_t ambient_state() {
  const ThreadModes& modes = thread_modes;
  return std::int64_t{modes.grad_enabled} << kGradMode.shift | std::int64_t{modes.inference} << kInferenceMode.shift |
         static_cast<std::int64_t>(default_dtype()) << kDefaultDType.shift |
         word_of(modes.default_device) << kDefaultDevice.shift |
         static_cast<std::int64_t>(num_threads()) << kThreads.shift | std::int64_t{overrides_word()} << kAutocast.shift;
}

std::int64_t abc_token(PyObject* get_cache_token) {
  const PyRef token = PyRef::steal(PyCFunction_Check(get_cache_token) ? PyObject_CallNoArgs(get_cache_token) : nullptr);
  const std::int64_t value = token ? PyLong_AsLongLong(token.get()) : -1;
  PyErr_Clear();
  return value;
}

bool is_handling() { return bool(PyRef::steal(PyErr_GetHandledException())); }

static std::string value_text(const Field& f, std::int64_t value) {
  if (f.bits == 1) return value ? "True" : "False";
  if (f.shift == kDefaultDevice.shift) return to_string(device_of_word(value));
  return f.shift == kDefaultDType.shift ? "torch." + std::string(info(static_cast<DType>(value)).name)
                                        : std::to_string(value);
}

void guards::GlobalState::explain_difference(std::int64_t before, std::int64_t now, Why& why) {
  std::string names;
  const auto add = [](std::string& to, const Field& f, std::int64_t word) {
    to += (to.empty() ? "" : ", ") + std::string(f.name) + "=" + value_text(f, f.of(word));
  };
  for (const Field& f : {kGradMode, kInferenceMode, kDefaultDType, kThreads, kDefaultDevice, kAutocast, kCurrentDevice,
                         kFunctionModes}) {
    if (f.of(before) == f.of(now)) continue;
    names += std::string(f.name) + " ";
    add(why.expected, f, before);
    add(why.actual, f, now);
  }
  why.text = "GLOBAL_STATE changed: " + names;
  why.place = "global state";
}

std::string guards::DefaultDevice::text(const GuardRecord& r, const std::string&) {
  const std::string current = "utils_device.CURRENT_DEVICE == ";
  const Device device = device_of_word(kDefaultDevice.of(r.value));
  return current + (device.is_cpu() ? "None" : device_repr(device));
}

}  // namespace md
