// Findings and counts, as JSON for tests.
#include "record.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "devices.h"

namespace emulated {
namespace {

struct Launches {
  std::uint64_t launches = 0;
  Extent grid, block;  // of the last
  std::size_t shared_bytes = 0;
  Counters counters;  // of all
};

struct Record {
  std::mutex lock;
  std::vector<Finding> findings;
  std::map<std::string, Launches> launches;
};

Record& record() {
  static Record& made = *new Record;
  return made;
}

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (c == '\n') {
      made += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      made += code;
    } else {
      made += c;
    }
  }
  return made + "\"";
}

void put(std::string& to, const char* name, std::uint64_t value) {
  to += quoted(name) + ": " + std::to_string(value) + ", ";
}

std::string extent_text(const Extent& extent) {
  return "[" + std::to_string(extent.x) + ", " + std::to_string(extent.y) + ", " + std::to_string(extent.z) + "]";
}

std::string text_of(const Launches& made) {
  std::string text = "{";
  const Counters& c = made.counters;
  put(text, "launches", made.launches);
  put(text, "shared_bytes", made.shared_bytes);
  put(text, "warp_instructions", c.warp_instructions);
  put(text, "thread_instructions", c.thread_instructions);
  put(text, "global_loads", c.global_loads);
  put(text, "global_load_bytes", c.global_load_bytes);
  put(text, "global_load_sectors", c.global_load_sectors);
  put(text, "global_stores", c.global_stores);
  put(text, "global_store_bytes", c.global_store_bytes);
  put(text, "global_store_sectors", c.global_store_sectors);
  put(text, "memory_load_sectors", c.memory_load_sectors);
  put(text, "memory_store_sectors", c.memory_store_sectors);
  put(text, "shared_accesses", c.shared_accesses);
  put(text, "shared_conflicts", c.shared_conflicts);
  put(text, "local_accesses", c.local_accesses);
  put(text, "atomics", c.atomics);
  put(text, "barriers", c.barriers);
  put(text, "divergent_branches", c.divergent_branches);
  return text + "\"grid\": " + extent_text(made.grid) + ", \"block\": " + extent_text(made.block) + "}";
}

std::string launches_text() {
  const std::lock_guard guard(record().lock);
  std::string text = "{";
  for (const auto& [kernel, made] : record().launches) {
    if (text.size() > 1) text += ", ";
    text += quoted(kernel) + ": " + text_of(made);
  }
  return text + "}";
}

std::string findings_text() {
  const std::lock_guard guard(record().lock);
  std::string text = "[";
  for (const Finding& found : record().findings) {
    if (text.size() > 1) text += ", ";
    text += "{\"kind\": " + quoted(found.kind) + ", \"text\": " + quoted(found.text) +
            ", \"code\": " + std::to_string(found.code) + ", \"line\": " + std::to_string(found.line) + "}";
  }
  return text + "]";
}

// How many bytes the text has with its end; no more of it than there is room for is written.
std::size_t give(const std::string& text, char* to, std::size_t bytes) {
  if (to && bytes) {
    const std::size_t written = std::min(text.size(), bytes - 1);
    std::memcpy(to, text.data(), written);
    to[written] = 0;
  }
  return text.size() + 1;
}

constexpr std::size_t kMostFindings = 1000;

}  // namespace

void add_finding(std::string_view kind, std::string text, int code) {
  const std::lock_guard guard(record().lock);
  if (record().findings.size() < kMostFindings)
    record().findings.push_back({code, std::string(kind), std::move(text), 0});
}

const char* with_finding(int code, const char* meaning) {
  static std::set<std::string>& texts = *new std::set<std::string>;
  const std::lock_guard guard(record().lock);
  const auto& all = record().findings;
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const Finding& one) { return one.code == code; });
  return last == all.rend() ? meaning : texts.insert(std::string(meaning) + ": " + last->text).first->c_str();
}

void add_launch(const std::string& kernel, Extent grid, Extent block, std::size_t shared_bytes,
                const LaunchResult& result) {
  const std::lock_guard guard(record().lock);
  Launches& made = record().launches[kernel];
  ++made.launches;
  made.grid = grid;
  made.block = block;
  made.shared_bytes = shared_bytes;
  made.counters.add(result.counters);
  for (const Finding& found : result.findings) {
    if (record().findings.size() < kMostFindings) record().findings.push_back(found);
  }
}

}  // namespace emulated

extern "C" {

#define EMULATED_TEST_API __attribute__((visibility("default")))

// {"kernel": {"launches": 3, "grid": [1, 1, 1], ...}}; counts are sums over the launches since the last reset.
EMULATED_TEST_API std::size_t mdEmulatorLaunches(char* to, std::size_t bytes) {
  return emulated::give(emulated::launches_text(), to, bytes);
}

// [{"kind": "race", "text": ..., "code": 719, "line": 12}]
EMULATED_TEST_API std::size_t mdEmulatorFindings(char* to, std::size_t bytes) {
  return emulated::give(emulated::findings_text(), to, bytes);
}

// Caches are empty as well.
EMULATED_TEST_API void mdEmulatorReset() {
  for (const auto& device : emulated::devices()) device->memory->cache().forget();
  const std::lock_guard guard(emulated::record().lock);
  emulated::record().findings.clear();
  emulated::record().launches.clear();
}

// As MINIDYNAMO_EMULATOR_FAULT has it; calls are counted anew. 0 if the text cannot be read.
EMULATED_TEST_API int mdEmulatorSetFaults(const char* text) { return emulated::faults().set(text ? text : ""); }

// How often a function was called since the faults were set.
EMULATED_TEST_API std::uint64_t mdEmulatorCalls(const char* function) { return emulated::faults().calls(function); }

}  // extern "C"
