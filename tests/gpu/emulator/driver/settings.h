// What the environment asks of the emulated driver: devices, version, missing functions, faults, delays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api.h"

namespace emulated {

struct DeviceSetting {
  int major = 9, minor = 0;
  std::size_t memory = std::size_t{16} << 30;
};

enum class Delay { None, Random };

struct Settings {
  std::vector<DeviceSetting> devices;       // MINIDYNAMO_EMULATOR_DEVICES="sm_90:80G,sm_75:8G"; "none"
  int version = 13000;                      // MINIDYNAMO_EMULATOR_VERSION
  std::unordered_set<std::string> without;  // MINIDYNAMO_EMULATOR_WITHOUT="cuMemAllocAsync,..."
  Delay delay = Delay::None;                // MINIDYNAMO_EMULATOR_DELAY="random", "random:SEED:MICROSECONDS"
  std::uint64_t delay_seed = 1;
  unsigned delay_most = 1000;  // microseconds
  std::string complaint;       // what could not be read; cuInit fails with it
};

// As the environment is when the library is first asked for anything.
const Settings& settings();

// MINIDYNAMO_EMULATOR_FAULT="function[:n|:n+]=code[;...]": the n-th call of the function fails with the code; with
// "n+" all from it on, without n all.
class Faults {
 public:
  // False if the text cannot be read; then nothing is changed. Counting begins anew.
  bool set(std::string_view text);
  // Counts a call; CUDA_SUCCESS if it is to be made.
  CUresult count(const char* function);
  std::uint64_t calls(const std::string& function);

 private:
  struct Fault {
    std::uint64_t first;
    std::uint64_t last;
    CUresult code;
  };
  std::mutex lock_;
  std::unordered_map<std::string, std::vector<Fault>> faults_;
  std::unordered_map<std::string, std::uint64_t> calls_;
};

Faults& faults();

// Is the function part of this driver, by its version and MINIDYNAMO_EMULATOR_WITHOUT?
bool is_offered(std::string_view function);

// The newest PTX that a driver of the version reads: 8.5 is 85.
int newest_ptx(int driver_version);

}  // namespace emulated
