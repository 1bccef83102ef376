// Which of the compiled kernel tables this processor runs.
#include "backend/blocks/kernel_table.h"

#include <cstdlib>
#include <string_view>

namespace md::blocks {

namespace v2 {
extern const KernelTable kTable;
}
namespace v3 {
extern const KernelTable kTable;
}
namespace v4 {
extern const KernelTable kTable;
}

namespace {

// MINIDYNAMO_CPU names a lesser processor, as for generated code (llvm/orc.cpp).
int most_allowed() {
  const char* named = std::getenv("MINIDYNAMO_CPU");
  const std::string_view level = named ? named : "";
  return level == "x86-64" || level == "x86-64-v2" ? 2 : level == "x86-64-v3" ? 3 : 4;
}

struct Runnable {
  const KernelTable* tables[3];
  int count = 0;
  Runnable() {
    __builtin_cpu_init();
    const int most = most_allowed();
    if (most >= 4 && __builtin_cpu_supports("x86-64-v4")) tables[count++] = &v4::kTable;
    if (most >= 3 && __builtin_cpu_supports("x86-64-v3")) tables[count++] = &v3::kTable;
    tables[count++] = &v2::kTable;
  }
};
const Runnable& runnable() {
  static const Runnable r;
  return r;
}

}  // namespace

const KernelTable& kernel_table() { return *runnable().tables[0]; }

const KernelTable* const* runnable_tables(int* count) {
  *count = runnable().count;
  return runnable().tables;
}

}  // namespace md::blocks
