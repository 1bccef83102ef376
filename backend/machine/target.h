// The processor that code is generated for. Schedules and emission take it as a parameter and ask the machine they run
// on nothing, so code for another processor than the host's is made in the same way. Results do not depend on it.
#pragma once

#include <cstdint>
#include <string>

#include "registry/device.h"

namespace md {

struct Target {
  DeviceType device = DeviceType::Cpu;
  // As the code generator spells them.
  std::string triple, cpu, features, data_layout;
  // What the vector unit offers.
  int vector_bytes = 16;      // 64, 32 or 16
  bool half_moves = false;    // converts float16 (F16C)
  bool masked_moves = false;  // masked loads and stores of every element width (AVX-512 BW+VL)
  // What a schedule sizes its blocks by. (How many cores there are decides nothing about code: tasks are cut alike for
  // any number of threads, see thread_pool.h.)
  std::int64_t l1_bytes = 32 << 10;  // of data
  // GPUs. Zero on processors.
  int warp = 0;                   // threads that run in step
  std::int64_t shared_bytes = 0;  // of a block, without asking for more
  bool is_gpu() const { return warp > 0; }

  // What machine code for the same function may differ by, as text.
  std::string code_key() const {
    return std::string(Device{device}.info().name) + ' ' + triple + ' ' + cpu + ' ' + features + ' ' +
           std::to_string(vector_bytes) + (half_moves ? "h" : "") + (masked_moves ? "m" : "");
  }
};

}  // namespace md
