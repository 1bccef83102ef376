// Modules by their code, functions by their names.
#include "backend/device/modules.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "backend/device/context.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

struct ModuleTable {
  std::mutex lock;
  std::map<std::pair<int, std::string>, std::weak_ptr<DeviceModule>> modules;
};
ModuleTable& module_table() {
  static auto* const table = new ModuleTable;
  return *table;
}

// Two hashes and the length: codes that differ in none of them are taken for the same.
std::string identity_of(const std::string& code) {
  std::uint64_t h = 14695981039346656037ull;
  for (const char c : code) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return fmt::format("{:x}.{:x}.{:x}", h, std::hash<std::string>{}(code), code.size());
}

Handle give_to_driver(const std::string& code, const DeviceState& state) {
  constexpr int kErrorLog = 5, kErrorLogBytes = 6;
  std::string log(8192, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  Handle module = nullptr;
  const Code failed = driver().module_load(&module, code.c_str(), 2, options, values);
  if (!failed) return module;
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  std::string text = error_text(failed, "cuModuleLoadData", state.ordinal);
  if (failed == kNoBinary || failed == kInvalidPtx || failed == kUnsupportedPtx) {
    const auto at = code.find(".target ");
    const std::string target =
        at == std::string::npos ? "" : code.substr(at + 8, code.find_first_of(",\n ", at + 8) - at - 8);
    text += fmt::format(". The kernels are for {}, the device is sm_{}{} and its driver for CUDA {}.{}",
                        target.empty() ? "another device" : target, state.properties.major, state.properties.minor,
                        found().version / 1000, found().version % 1000 / 10);
  }
  if (!log.empty()) text += ". The driver's assembler says: " + log;
  throw OpError(ErrorKind::Device, text);
}

}  // namespace

const char* kept_name(std::string_view text) {
  static auto* const lock = new std::mutex;
  static auto* const names = new std::set<std::string, std::less<>>;
  const std::lock_guard guard(*lock);
  const auto known = names->find(text);
  return (known == names->end() ? names->emplace(text).first : known)->c_str();
}

DeviceModule::~DeviceModule() {
  DeviceState* const state = device_in_use(device_);
  if (!state || driver().context_set(state->context)) return;
  driver().context_synchronize();  // its kernels may still run
  driver().module_unload(handle_);
}

DeviceFunction& DeviceModule::function(const std::string& name) {
  const std::lock_guard guard(lock_);
  std::unique_ptr<DeviceFunction>& known = functions_[name];
  if (known) return *known;
  use_device(device_);
  auto made = std::make_unique<DeviceFunction>();
  check(driver().module_function(&made->handle, handle_, name.c_str()), ("cuModuleGetFunction('" + name + "')").c_str(),
        device_);
  made->name = kept_name(name), made->device = device_, made->module = this;
  known = std::move(made);
  return *known;
}

std::shared_ptr<DeviceModule> load_module(const std::string& code, int device) {
  const DeviceState& state = use_device(device);
  ModuleTable& table = module_table();
  const std::pair key(device, identity_of(code));
  const std::lock_guard guard(table.lock);
  std::weak_ptr<DeviceModule>& known = table.modules[key];
  if (std::shared_ptr<DeviceModule> module = known.lock()) return module;
  auto made = std::make_shared<DeviceModule>(give_to_driver(code, state), device);
  known = made;
  return made;
}

}  // namespace md::device
