// Runs the blocks of a launch on some threads of the host, and puts into words what ended it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "executor.h"
#include "races.h"
#include "warp.h"

namespace emulated {
namespace {

constexpr std::uint64_t kBlocksPerThread = 16;       // fewer are not worth another thread
constexpr std::uint64_t kKnownBlocks = 1 << 20;      // of which it is kept what they published
constexpr std::size_t kStackOfRecursion = 64 << 10;  // bytes of local memory where calls may nest without end

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  std::uint64_t value = std::strtoull(text, &end, 10);
  return *end || !value ? otherwise : value;
}

unsigned threads_for(std::uint64_t blocks) {
  std::uint64_t cores = number_in_environment("MINIDYNAMO_EMULATOR_THREADS", std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(cores, blocks / kBlocksPerThread)));
}

std::string place_text(const Launch& launch, const Block& block, const Fault& fault) {
  std::string text = fmt::format("block ({}, {}, {})", block.id.x, block.id.y, block.id.z);
  const Warp* warp = block.running;
  if (!warp || fault.lane < 0) return text;
  std::uint32_t thread = warp->thread_of(fault.lane), plane = launch.block.x * launch.block.y;
  return text +
         fmt::format(", thread ({}, {}, {})", thread % launch.block.x, thread % plane / launch.block.x, thread / plane);
}

Finding finding_of(const Launch& launch, const Block& block, const Fault& fault) {
  Finding found;
  found.code = fault.code;
  found.kind = fault.kind;
  const Warp* warp = block.running;
  std::string where;
  if (warp && warp->pc > 0 && warp->pc <= launch.program.code.size()) {
    const Instruction& at = launch.program.code[warp->pc - 1];
    found.line = at.line;
    where = fmt::format("; line {} of its PTX: {}", at.line, launch.program.opcodes[warp->pc - 1]);
    auto file = launch.program.files.find(at.source_file);
    if (at.source_line)
      where += fmt::format(" ({}:{})", file == launch.program.files.end() ? "source" : file->second, at.source_line);
  }
  found.text = fmt::format("{}: {}; kernel {}, {}{}", fault.kind, fault.text, launch.function.name,
                           place_text(launch, block, fault), where);
  return found;
}

class Runner {
 public:
  explicit Runner(Launch& launch) : launch_(launch) {}

  LaunchResult run() {
    std::uint64_t blocks = launch_.grid.count();
    unsigned count = threads_for(blocks);
    std::vector<std::thread> others;
    for (unsigned i = 1; i < count; ++i) others.emplace_back([&] { work(blocks); });
    work(blocks);
    for (std::thread& one : others) one.join();
    result_.printed = launch_.printed;
    return std::move(result_);
  }

 private:
  void work(std::uint64_t blocks) {
    static thread_local Block block;  // whose memory is used again
    block.running = nullptr;
    for (auto& warp : block.warps) warp->prepared = nullptr, warp->counters = {}, warp->cached_end = 0;
    for (std::uint64_t next; !launch_.stop && (next = next_++) < blocks;) {
      try {
        block.begin(launch_, next);
        block.run();
      } catch (const Fault& fault) {
        std::lock_guard lock(launch_.mutex);
        launch_.stop = true;
        if (first_ > next) {
          first_ = next;
          result_.findings.assign(1, finding_of(launch_, block, fault));
          result_.code = fault.code;
        }
      }
    }
    std::lock_guard lock(launch_.mutex);
    for (auto& warp : block.warps) result_.counters.add(warp->counters);
  }

  Launch& launch_;
  LaunchResult result_;
  std::uint64_t first_ = ~std::uint64_t{0};
  std::atomic<std::uint64_t> next_{0};
};

std::size_t local_bytes_of(const Program& program, const Function& function, bool& calls) {
  std::size_t all = 0;
  for (const Function& one : program.functions) all += one.is_entry ? 0 : one.local_bytes;
  for (std::uint32_t at = function.begin; at < function.end; ++at) calls |= program.opcodes[at].starts_with("call");
  return (function.local_bytes + (calls ? all + kStackOfRecursion : 0) + 15) / 16 * 16;
}

}  // namespace

void Counters::add(const Counters& other) {
  warp_instructions += other.warp_instructions;
  thread_instructions += other.thread_instructions;
  global_loads += other.global_loads;
  global_load_bytes += other.global_load_bytes;
  global_load_sectors += other.global_load_sectors;
  global_stores += other.global_stores;
  global_store_bytes += other.global_store_bytes;
  global_store_sectors += other.global_store_sectors;
  memory_load_sectors += other.memory_load_sectors;
  memory_store_sectors += other.memory_store_sectors;
  shared_accesses += other.shared_accesses;
  shared_conflicts += other.shared_conflicts;
  local_accesses += other.local_accesses;
  atomics += other.atomics;
  barriers += other.barriers;
  divergent_branches += other.divergent_branches;
}

Checks Checks::from_environment() {
  const char* text = std::getenv("MINIDYNAMO_EMULATOR_CHECKS");
  if (text && std::string_view(text) == "fast") return {false, false, true, false};
  return {};
}

LaunchResult Module::run(const std::string& kernel, Extent grid, Extent block, std::size_t dynamic_shared_bytes,
                         const void* parameters, const Checks& checks) {
  LaunchResult refused;
  const KernelInfo* info = this->kernel(kernel);
  refused.code = kInvalidValue;
  if (!info || !grid.count() || !block.count() || block.count() > 1024) return refused;
  const Function& function = program_->functions[program_->by_name.at(kernel)];
  Launch launch{*program_, function, memory_, checks, grid, block};
  launch.parameters.resize(info->parameter_bytes);
  if (info->parameter_bytes) std::memcpy(launch.parameters.data(), parameters, info->parameter_bytes);
  launch.dynamic_shared_bytes = dynamic_shared_bytes;
  launch.shared_bytes = dynamic_shared_bytes ? program_->dynamic_shared + dynamic_shared_bytes : function.shared_bytes;
  launch.local_bytes = local_bytes_of(*program_, function, launch.calls);
  launch.local_end = launch.calls ? launch.local_bytes : function.local_used;
  launch.instruction_limit = number_in_environment("MINIDYNAMO_EMULATOR_LIMIT", std::uint64_t{1} << 31);
  launch.order = order_of_work;
  if (launch.order) {
    const CellPages::Begun begun = memory_.cells().begin(*launch.order, "kernel " + kernel);
    launch.tag = begun.tag, launch.alone = begun.alone, launch.crowd = begun.crowd;
  } else {
    launch.tag = next_launch_tag(memory_);
  }
  launch.released = std::vector<std::atomic<std::uint8_t>>(std::min(grid.count(), kKnownBlocks));
  return Runner(launch).run();
}

}  // namespace emulated
