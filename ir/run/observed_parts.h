// What a profile sees below Python: ops that run by themselves, compiled regions and their kernels, instructions that
// break a graph, and machine code being made.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace md {

enum class PartKind : std::uint8_t { Op, Region, Kernel, Break, MachineCode };

struct ObservedPart {
  PartKind kind;
  std::string name;
  std::int64_t start, end;  // nanoseconds of the steady clock
  std::uint64_t thread;
};

inline std::atomic<bool> parts_observed = false;
void observe_parts(bool on);
// Since the last time they were taken, in the order in which they ended.
std::vector<ObservedPart> take_observed_parts();

// Around one part, where parts are observed. The name is only made then.
class Observed {
 public:
  template <std::invocable Name>
  Observed(PartKind kind, const Name& name) {
    if (parts_observed.load(std::memory_order_relaxed)) [[unlikely]]
      begin(kind, name());
  }
  ~Observed() {
    if (part_) [[unlikely]]
      end();
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  void begin(PartKind kind, std::string name);
  void end() noexcept;
  std::unique_ptr<ObservedPart> part_;
};

}  // namespace md
