#include "backend/blocks/kernel_table.h"

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

struct Runnable {
  const KernelTable* tables[3];
  int count = 0;
  Runnable() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) tables[count++] = &v4::kTable;
    if (__builtin_cpu_supports("x86-64-v3")) tables[count++] = &v3::kTable;
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
