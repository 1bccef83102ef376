// Reads the settings of the emulated driver from the environment.
#include "settings.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace emulated {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <class F>
void for_each_part(std::string_view text, char separator, F&& f) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) f(part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

template <class T>
bool read(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "80G", "512M", "64K", "4096".
bool read_size(std::string_view text, std::size_t& size) {
  unsigned shift = 0;
  if (!text.empty()) {
    const char last = text.back();
    shift = last == 'G' ? 30 : last == 'M' ? 20 : last == 'K' ? 10 : 0;
    if (shift) text.remove_suffix(1);
  }
  if (!read(text, size)) return false;
  if (size > (std::numeric_limits<std::size_t>::max() >> 16 >> shift)) return false;
  size <<= shift;
  return true;
}

bool read_device(std::string_view text, DeviceSetting& device) {
  const std::size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon);
  if (!kind.starts_with("sm_")) return false;
  kind.remove_prefix(3);
  if (!kind.empty() && kind.back() == 'a') kind.remove_suffix(1);
  int number = 0;
  if (!read(kind, number) || number < 30 || number > 999) return false;
  device.major = number / 10;
  device.minor = number % 10;
  return colon == std::string_view::npos || read_size(text.substr(colon + 1), device.memory);
}

void read_devices(std::string_view text, Settings& to) {
  if (text.empty()) {
    to.devices.emplace_back();
  } else if (text != "none") {
    for_each_part(text, ',', [&](std::string_view part) {
      DeviceSetting device;
      if (read_device(part, device)) {
        to.devices.push_back(device);
      } else {
        to.complaint = "MINIDYNAMO_EMULATOR_DEVICES: cannot read '" + std::string(part) + "'";
      }
    });
  }
}

void read_delay(std::string_view text, Settings& to) {
  if (text.empty() || text == "none") return;
  int place = 0;
  bool good = true;
  for_each_part(text, ':', [&](std::string_view part) {
    if (place == 0) good = part == "random";
    if (place == 1) good = good && read(part, to.delay_seed);
    if (place == 2) good = good && read(part, to.delay_most);
    ++place;
  });
  if (good && place <= 3) {
    to.delay = Delay::Random;
  } else {
    to.complaint = "MINIDYNAMO_EMULATOR_DELAY: cannot read '" + std::string(text) + "'";
  }
}

Settings read_environment() {
  Settings made;
  read_devices(variable("MINIDYNAMO_EMULATOR_DEVICES"), made);
  read_delay(variable("MINIDYNAMO_EMULATOR_DELAY"), made);
  const std::string_view version = variable("MINIDYNAMO_EMULATOR_VERSION");
  if (!version.empty() && !read(version, made.version)) {
    made.complaint = "MINIDYNAMO_EMULATOR_VERSION: cannot read '" + std::string(version) + "'";
  }
  for_each_part(variable("MINIDYNAMO_EMULATOR_WITHOUT"), ',',
                [&](std::string_view part) { made.without.emplace(part); });
  return made;
}

struct Introduced {
  std::string_view function;
  int version;
};

// Functions that drivers of CUDA 10 do not have.
constexpr Introduced kIntroduced[] = {
    {"cuCtxResetPersistingL2Cache", 11000},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuDeviceGetDefaultMemPool", 11020},
    {"cuDeviceGetMemPool", 11020},
    {"cuDeviceSetMemPool", 11020},
    {"cuGetProcAddress", 11030},
    {"cuGetProcAddress_v2", 12000},
    {"cuMemAllocAsync", 11020},
    {"cuMemAllocFromPoolAsync", 11020},
    {"cuMemFreeAsync", 11020},
    {"cuMemPoolCreate", 11020},
    {"cuMemPoolDestroy", 11020},
    {"cuMemPoolGetAttribute", 11020},
    {"cuMemPoolSetAttribute", 11020},
    {"cuMemPoolTrimTo", 11020},
    {"cuLaunchKernelEx", 11060},
    {"cuModuleGetLoadingMode", 11070},
    {"cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetId", 12000},
    {"cuCtxGetId", 12000},
    {"cuEventRecordWithFlags", 11010},
    {"cuGraphInstantiateWithFlags", 11040},
    {"cuGraphExecUpdate_v2", 12000},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuKernelGetFunction", 12000},
    {"cuLibraryGetKernel", 12000},
    {"cuLibraryGetModule", 12000},
    {"cuLibraryLoadData", 12000},
    {"cuLibraryUnload", 12000},
};

}  // namespace

const Settings& settings() {
  static const Settings& made = *new Settings(read_environment());  // never destroyed: threads may outlive main
  return made;
}

Faults& faults() {
  static Faults& made = []() -> Faults& {
    auto& first = *new Faults;
    first.set(variable("MINIDYNAMO_EMULATOR_FAULT"));
    return first;
  }();
  return made;
}

bool Faults::set(std::string_view text) {
  std::unordered_map<std::string, std::vector<Fault>> read_ones;
  bool good = true;
  for_each_part(text, ';', [&](std::string_view part) {
    const std::size_t equals = part.find('=');
    int code = 0;
    if (equals == std::string_view::npos || !read(part.substr(equals + 1), code)) {
      good = false;
      return;
    }
    std::string_view name = part.substr(0, equals);
    Fault fault{1, std::numeric_limits<std::uint64_t>::max(), static_cast<CUresult>(code)};
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
      std::string_view number = name.substr(colon + 1);
      name = name.substr(0, colon);
      const bool onwards = !number.empty() && number.back() == '+';
      if (onwards) number.remove_suffix(1);
      good = good && read(number, fault.first);
      if (!onwards) fault.last = fault.first;
    }
    read_ones[std::string(name)].push_back(fault);
  });
  if (!good) return false;
  const std::lock_guard guard(lock_);
  faults_ = std::move(read_ones);
  calls_.clear();
  return true;
}

CUresult Faults::count(const char* function) {
  const std::lock_guard guard(lock_);
  const std::uint64_t number = ++calls_[function];
  if (faults_.empty()) return CUDA_SUCCESS;
  const auto found = faults_.find(function);
  if (found == faults_.end()) return CUDA_SUCCESS;
  for (const Fault& fault : found->second) {
    if (number >= fault.first && number <= fault.last) return fault.code;
  }
  return CUDA_SUCCESS;
}

std::uint64_t Faults::calls(const std::string& function) {
  const std::lock_guard guard(lock_);
  const auto found = calls_.find(function);
  return found == calls_.end() ? 0 : found->second;
}

bool is_offered(std::string_view function) {
  const Settings& now = settings();
  for (const std::string_view ending : {"_ptsz", "_ptds"}) {
    if (function.ends_with(ending)) function.remove_suffix(ending.size());
  }
  if (now.without.contains(std::string(function))) return false;
  for (const Introduced& row : kIntroduced) {
    if (row.function == function) return now.version >= row.version;
  }
  return true;
}

int newest_ptx(int driver_version) {
  struct Row {
    int driver, ptx;
  };
  constexpr Row rows[] = {{13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85}, {12040, 84}, {12030, 83},
                          {12020, 82}, {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75},
                          {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70}, {10020, 65}, {10010, 64}};
  for (const Row& row : rows) {
    if (driver_version >= row.driver) return row.ptx;
  }
  return 63;
}

}  // namespace emulated
