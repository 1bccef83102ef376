// How many instructions of threads the emulator runs in a second of a core, by kernels of a few kinds: bench_emulator
// [fast].
#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <string_view>

#include "executor.h"

namespace {

constexpr std::string_view kHead = ".version 7.0\n.target sm_70\n.address_size 64\n";

// out[i] = a polynomial of in[i], 64 steps.
constexpr std::string_view kArithmetic = R"(
.visible .entry k(.param .u64 p0, .param .u64 p1) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4]; mov.f32 %f2, 0f3F800000; mov.u32 %r5, 0;
loop:
  fma.rn.f32 %f2, %f2, %f1, 0f3F000000; add.rn.f32 %f3, %f2, %f1; mul.rn.f32 %f2, %f3, 0f3F000000;
  xor.b32 %r6, %r5, %r4; add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, 64;
  @%p1 bra loop;
  st.global.f32 [%rd5], %f2; ret;
})";

constexpr std::string_view kCopy = R"(
.visible .entry k(.param .u64 p0, .param .u64 p1) {
  .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4]; add.rn.f32 %f1, %f1, %f1; st.global.f32 [%rd5], %f1; ret;
})";

// Each block turns a tile round in shared memory, 16 times.
constexpr std::string_view kShared = R"(
.visible .entry k(.param .u64 p0, .param .u64 p1) {
  .reg .pred %p<3>; .reg .b32 %r<12>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 tile[1024];
  ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mov.u32 %r6, tile; shl.b32 %r7, %r3, 2; add.s32 %r7, %r6, %r7; xor.b32 %r8, %r3, 255; shl.b32 %r8, %r8, 2;
  add.s32 %r8, %r6, %r8; mov.u32 %r5, 0;
loop:
  st.shared.f32 [%r7], %f1; bar.sync 0; ld.shared.f32 %f2, [%r8]; bar.sync 0; add.rn.f32 %f1, %f1, %f2;
  add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, 16;
  @%p1 bra loop;
  st.global.f32 [%rd5], %f1; ret;
})";

void measure(std::string_view name, std::string_view body, const emulated::Checks& checks) {
  constexpr unsigned kBlocks = 4096, kThreads = 256;
  emulated::DeviceMemory memory(emulated::kDeviceBase, std::size_t{1} << 30);
  std::string log;
  auto module = emulated::Module::load(std::string(kHead) + std::string(body), memory, log);
  if (!module) {
    fmt::print("{}", log);
    return;
  }
  std::size_t bytes = std::size_t{kBlocks} * kThreads * 4;
  emulated::Address arguments[] = {memory.allocate(bytes), memory.allocate(bytes)};
  memory.fill(arguments[0], 0x3f000000, 4, bytes / 4);
  memory.fill(arguments[1], 0, 4, bytes / 4);
  std::clock_t begin = std::clock();  // of all threads: other programs that run do not count
  auto result = module->run("k", {kBlocks, 1, 1}, {kThreads, 1, 1}, 0, arguments, checks);
  double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  for (const auto& finding : result.findings) fmt::print("{}\n", finding.text);
  fmt::print("{:<12} {:8.1f} million instructions of threads in a second of a core\n", name,
             static_cast<double>(result.counters.thread_instructions) / took / 1e6);
}

}  // namespace

int main(int count, char** arguments) {
  emulated::Checks checks;
  if (count > 1 && !std::strcmp(arguments[1], "fast")) checks = {false, false, true};
  measure("arithmetic", kArithmetic, checks);
  measure("copy", kCopy, checks);
  measure("shared", kShared, checks);
}
