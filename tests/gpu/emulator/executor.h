// Runs kernels written in PTX on the host, and says what hardware would not: what the driver of an emulated device
// stands on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device_memory.h"

namespace emulated {

// Results, with the driver's numbers.
enum ResultCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kInvalidPtx = 218,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// What one launch has done. Bytes are those asked for; sectors are the 32-byte pieces that each warp's access touches,
// and of memory those that a cache of the device would not have (cache_model.h).
struct Counters {
  std::uint64_t warp_instructions = 0, thread_instructions = 0;
  std::uint64_t global_loads = 0, global_load_bytes = 0, global_load_sectors = 0;
  std::uint64_t global_stores = 0, global_store_bytes = 0, global_store_sectors = 0;
  std::uint64_t memory_load_sectors = 0, memory_store_sectors = 0;
  std::uint64_t shared_accesses = 0, shared_conflicts = 0;  // conflicts: further passes over the banks
  std::uint64_t local_accesses = 0, atomics = 0, barriers = 0, divergent_branches = 0;
  void add(const Counters& other);
};

// What the checks found: the first thing ends the launch.
struct Finding {
  int code = 0;      // ResultCode
  std::string kind;  // "out of bounds", "misaligned", "use after free", "uninitialised read", "race", ...
  std::string text;  // kernel, line of the PTX and of the source, block and thread, address, allocation
  int line = 0;      // of the PTX
};

struct LaunchResult {
  int code = 0;  // kSuccess or that of the finding
  std::vector<Finding> findings;
  Counters counters;
  std::string printed;  // by vprintf
};

struct ParameterLayout {
  std::size_t offset = 0, bytes = 0;
};

struct KernelInfo {
  std::string name;
  std::vector<ParameterLayout> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t static_shared_bytes = 0, local_bytes = 0;
  unsigned registers = 0;              // as declared, which is more than an assembler needs
  unsigned max_threads_per_block = 0;  // 0: not said
};

struct GlobalInfo {
  Address address = 0;
  std::size_t bytes = 0;
};

// What to look for besides wrong addresses, which are always found.
struct Checks {
  bool uninitialised = true, races = true, counters = true, traffic = true;
  static Checks from_environment();  // MINIDYNAMO_EMULATOR_CHECKS: all (or absent), fast
};

struct Program;  // decoded

// A file of PTX on one device: its global variables take some of the memory while it lives.
class Module {
 public:
  // Null, and the reason in `log` with line numbers, where the text is not well formed.
  static std::unique_ptr<Module> load(std::string_view ptx, DeviceMemory& memory, std::string& log);
  ~Module();
  const std::string& version() const { return version_; }  // "7.8"
  const std::string& target() const { return target_; }    // "sm_75"
  const KernelInfo* kernel(const std::string& name) const;
  std::vector<std::string> kernels() const;
  const GlobalInfo* global(const std::string& name) const;

  // Runs a kernel to its end. `parameters` holds parameter_bytes bytes, laid out as the kernel says.
  LaunchResult run(const std::string& kernel, Extent grid, Extent block, std::size_t dynamic_shared_bytes,
                   const void* parameters, const Checks& checks = Checks::from_environment());

 private:
  explicit Module(DeviceMemory& memory);
  DeviceMemory& memory_;
  std::string version_, target_;
  std::map<std::string, KernelInfo> kernels_;
  std::map<std::string, GlobalInfo> globals_;
  std::unique_ptr<Program> program_;
};

// The target and version that a text names, without reading the rest; empty where it names none.
std::string ptx_target(std::string_view ptx);
std::string ptx_version(std::string_view ptx);

}  // namespace emulated
