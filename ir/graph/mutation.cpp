// Compares the name of a piece with the two environment variables; nothing in other builds.
#include "ir/graph/mutation.h"

#ifdef MINIDYNAMO_MUTATE
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_set>

namespace md {
namespace {

// Another file starts afresh: a test runner names one for each test.
void record(const std::string& file, const std::string& mutant) {
  static std::mutex mutex;
  static auto& current = *new std::string;
  static auto& seen = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  if (file != current) {
    current = file;
    seen.clear();
  }
  if (seen.insert(mutant).second) std::ofstream(file, std::ios::app) << mutant << '\n';
}

}  // namespace

bool is_mutated(std::string_view kind, std::string_view name) {
  const std::string mutant = std::string(kind) + ':' + std::string(name);
  if (const char* file = std::getenv("MINIDYNAMO_MUTATE_RECORD")) record(file, mutant);
  const char* chosen = std::getenv("MINIDYNAMO_MUTATE");
  return chosen && mutant == chosen;
}

}  // namespace md
#endif
