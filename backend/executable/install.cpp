// Registers engine, allocator and sweep runner with ir/.
#include "backend/executable/install.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "backend/blocks/engine.h"
#include "backend/blocks/sweep.h"
#include "backend/machine/allocator.h"
#include "backend/machine/thread_pool.h"
#include "backend/tiers/compile_queue.h"
#include "ir/reference/engine.h"

namespace md {

std::string unusable_cpu() {
  const char* named = std::getenv("MINIDYNAMO_CPU");
  const std::string_view level = named ? named : "";
  __builtin_cpu_init();
  const std::pair<std::string_view, bool> levels[] = {{"", true},
                                                      {"x86-64", true},
                                                      {"x86-64-v2", __builtin_cpu_supports("x86-64-v2") != 0},
                                                      {"x86-64-v3", __builtin_cpu_supports("x86-64-v3") != 0},
                                                      {"x86-64-v4", __builtin_cpu_supports("x86-64-v4") != 0}};
  for (const auto& [name, runs] : levels) {
    if (level != name) continue;
    return runs ? "" : "MINIDYNAMO_CPU is " + std::string(level) + ", which this processor is not";
  }
  return "MINIDYNAMO_CPU is '" + std::string(level) +
         "': it may be x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, as far as the processor goes, or not set";
}

void install_block_engine() {
  static blocks::BlockEngine* const engine = [] {
    auto* e = new blocks::BlockEngine(blocks::kernel_table());
    set_engine(DeviceType::Cpu, e);
    set_allocator(DeviceType::Cpu, &allocate_cached_storage);
    set_sweep_runner(&blocks::run_sweep);
    return e;
  }();
  (void)engine;
}

void shut_down_block_engine() {
  shut_down_background();
  shut_down_thread_pool();
}

}  // namespace md
