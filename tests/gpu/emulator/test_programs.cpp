// Control, calls, spaces, atomics, what lanes exchange, and the counts of it.
#include <algorithm>
#include <numeric>

#include "emulator_fixture.h"

namespace emulated {
namespace {

using Words = std::vector<std::uint32_t>;

class ProgramTest : public EmulatorTest {
 protected:
  // out[t] of a kernel that leaves it in %r0, which begins as 0.
  Words results(const std::string& body, Extent block = {32, 1, 1}, const std::string& before = "",
                std::size_t dynamic = 0) {
    auto module = loaded(kernel(
        "mov.u32 %r0, 0;\n" + body + "\nmul.wide.u32 %a, %t, 4; add.s64 %d63, %o, %a; st.global.u32 [%d63], %r0;",
        before));
    if (!module) return {};
    Words numbers(1024);
    std::iota(numbers.begin(), numbers.end(), 0);
    Address in = placed(numbers), out = placed(Words(1024));
    last = launched(*module, out, in, 5, block, {1, 1, 1}, dynamic);
    EXPECT_EQ(last.code, kSuccess) << first_finding(last) << " in " << body;
    return taken<std::uint32_t>(out, block.count());
  }
  static Words of_lanes(std::uint32_t count, auto f) {
    Words made;
    for (std::uint32_t t = 0; t < count; ++t) made.push_back(f(t));
    return made;
  }
};

TEST_F(ProgramTest, LanesPartAndMeet) {
  EXPECT_EQ(results("loop: add.s32 %r0, %r0, %t; add.s32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %t; @%p1 bra loop;\n"
                    "vote.sync.ballot.b32 %r2, 1, -1; setp.ne.s32 %p2, %r2, -1; @%p2 trap;")
                .size(),
            32u);
  EXPECT_EQ(
      results(
          "mov.u32 %r1, 0; loop: add.s32 %r0, %r0, %t; add.s32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %t; @%p1 bra loop;"),
      of_lanes(32, [](std::uint32_t t) { return t * (t + 1); }));
  EXPECT_EQ(results("and.b32 %r1, %t, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra even; mov.u32 %r0, 7; bra.uni done;\n"
                    "even: mov.u32 %r0, 9; done: shfl.sync.bfly.b32 %r0, %r0, 1, 31, -1;"),
            of_lanes(32, [](std::uint32_t t) { return t % 2 ? 9u : 7u; }));
  EXPECT_EQ(results("and.b32 %r1, %t, 3; ts: .branchtargets L0, L1, L2, L3;\nbrx.idx %r1, ts;\n"
                    "L0: mov.u32 %r0, 10; bra.uni done; L1: mov.u32 %r0, 11; bra.uni done;\n"
                    "L2: mov.u32 %r0, 12; bra.uni done; L3: mov.u32 %r0, 13; done:"),
            of_lanes(32, [](std::uint32_t t) { return 10 + t % 4; }));
  EXPECT_EQ(results("setp.gt.u32 %p1, %t, 9; @%p1 mov.u32 %r0, 4; @!%p1 mov.u32 %r0, 3;"),
            of_lanes(32, [](std::uint32_t t) { return t > 9 ? 4u : 3u; }));
}

TEST_F(ProgramTest, ALockOfLanesIsReleased) {
  // A lane that holds the lock stands behind the ones that spin.
  EXPECT_EQ(results("mov.u32 %r5, lock; setp.eq.s32 %p2, %t, 0; @%p2 st.shared.v2.u32 [%r5], {%r0, %r0}; bar.sync 0;\n"
                    "spin: atom.shared.cas.b32 %r1, [%r5], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra spin;\n"
                    "ld.volatile.shared.u32 %r0, [%r5+4]; add.s32 %r0, %r0, 1; st.volatile.shared.u32 [%r5+4], %r0;\n"
                    "atom.shared.exch.b32 %r1, [%r5], 0; bar.sync 0; ld.shared.u32 %r0, [%r5+4];",
                    {64, 1, 1}, ".shared .align 8 .b8 lock[8];\n"),
            of_lanes(64, [](std::uint32_t) { return 64u; }));
}

const char* const kFunctions = R"(
.func (.param .b32 r) square(.param .b32 x) {
  .reg .b32 %r<4>; .local .align 4 .b8 own[8];
  ld.param.u32 %r1, [x]; st.local.u32 [own], %r1; ld.local.u32 %r2, [own];
  mul.lo.s32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret;
}
.func (.param .b32 r) sum_to(.param .b32 x) {
  .reg .b32 %r<6>; .reg .pred %p<2>;
  ld.param.u32 %r1, [x]; setp.eq.s32 %p1, %r1, 0; mov.u32 %r4, 0; @%p1 bra done;
  sub.s32 %r2, %r1, 1;
  { .param .b32 p; st.param.b32 [p], %r2; .param .b32 q; call.uni (q), sum_to, (p); ld.param.b32 %r3, [q]; }
  add.s32 %r4, %r3, %r1;
  done: st.param.b32 [r], %r4; ret;
}
)";

TEST_F(ProgramTest, Calls) {
  std::string call =
      "{ .param .b32 p; st.param.b32 [p+0], %t; .param .b32 q; call.uni (q), F, (p); ld.param.b32 %r0, [q+0]; }";
  auto to = [&](std::string name) { return std::string(call).replace(call.find("F"), 1, name); };
  EXPECT_EQ(results(to("square"), {64, 1, 1}, kFunctions), of_lanes(64, [](std::uint32_t t) { return t * t; }));
  EXPECT_EQ(results(to("sum_to"), {64, 1, 1}, kFunctions),
            of_lanes(64, [](std::uint32_t t) { return t * (t + 1) / 2; }));
  EXPECT_EQ(results("and.b32 %r1, %t, 1; setp.eq.s32 %p1, %r1, 1; @%p1 bra odd;" + to("square") +
                        "bra.uni done; odd: " + to("sum_to") + " done:",
                    {32, 1, 1}, kFunctions),
            of_lanes(32, [](std::uint32_t t) { return t % 2 ? t * (t + 1) / 2 : t * t; }));
  EXPECT_EQ(results("mov.u64 %d1, square; mov.u64 %d2, sum_to; setp.gt.u32 %p1, %t, 8; selp.b64 %d3, %d1, %d2, %p1;"
                    "{ .param .b32 p; st.param.b32 [p], %t; .param .b32 q; proto: .callprototype (.param .b32 _) _ "
                    "(.param .b32 _);\n"
                    "call (q), %d3, (p), proto; ld.param.b32 %r0, [q]; }",
                    {32, 1, 1}, kFunctions),
            of_lanes(32, [](std::uint32_t t) { return t > 8 ? t * t : t * (t + 1) / 2; }));
}

TEST_F(ProgramTest, Spaces) {
  EXPECT_EQ(results("mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1; mul.wide.u32 %d2, %t, 4; add.s64 %d3, %d1, %d2; "
                    "st.u32 [%d3], %t;"
                    "bar.sync 0; xor.b64 %d3, %d3, 4; ld.u32 %r0, [%d3]; isspacep.shared %p1, %d3; @!%p1 trap;"
                    "isspacep.global %p2, %o; @!%p2 trap;",
                    {64, 1, 1}, ".shared .align 16 .b8 tile[256];\n"),
            of_lanes(64, [](std::uint32_t t) { return t ^ 1; }));
  EXPECT_EQ(results(".local .align 8 .b8 own[16]; cvta.local.u64 %d1, own; st.u64 [%d1+8], %o; mov.u64 %d2, own;"
                    "ld.local.u32 %r0, [%d2+8]; cvt.u32.u64 %r1, %o; sub.s32 %r0, %r0, %r1; add.s32 %r0, %r0, %t;"),
            of_lanes(32, [](std::uint32_t t) { return t; }));
  EXPECT_EQ(
      results(
          "mul.wide.u32 %d1, %t, 4; and.b64 %d1, %d1, 12; mov.u64 %d2, table; add.s64 %d2, %d2, %d1; ld.const.u32 %r0, "
          "[%d2];"
          "ld.global.u32 %r1, [more+4]; add.s32 %r0, %r0, %r1; ld.global.u64 %d3, [where]; ld.u32 %r2, [%d3+4];"
          "add.s32 %r0, %r0, %r2;",
          {32, 1, 1},
          ".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n.global .align 4 .b8 more[8] = {0, 0, 0, 0, 100, 0, 0, 0};\n"
          ".global .align 8 .u64 where = generic(more);\n"),
      of_lanes(32, [](std::uint32_t t) { return 201 + t % 4; }));
  EXPECT_EQ(results("mov.u32 %r1, mem; shl.b32 %r2, %t, 2; add.s32 %r1, %r1, %r2; st.shared.u32 [%r1], %t; "
                    "ld.shared.u32 %r0, [%r1];"
                    "mov.u32 %r3, %dynamic_smem_size; add.s32 %r0, %r0, %r3;",
                    {32, 1, 1}, ".extern .shared .align 16 .b8 mem[];\n", 128),
            of_lanes(32, [](std::uint32_t t) { return t + 128; }));
}

TEST_F(ProgramTest, VectorsAndSmallPieces) {
  EXPECT_EQ(results("mul.wide.u32 %a, %t, 16; add.s64 %d1, %i, %a; ld.global.nc.v4.u32 {%r1, %r2, _, %r3}, [%d1];"
                    "add.s32 %r0, %r1, %r2; add.s32 %r0, %r0, %r3;"),
            of_lanes(32, [](std::uint32_t t) { return 12 * t + 4; }));
  EXPECT_EQ(results("mov.u32 %r1, tile; shl.b32 %r2, %t, 3; add.s32 %r1, %r1, %r2; mov.u32 %r3, 0xfff1f2f3;"
                    "st.shared.v2.u32 [%r1], {%t, %r3}; ld.shared.s8 %r4, [%r1+4]; ld.shared.u16 %r5, [%r1+6]; add.s32 "
                    "%r0, %r4, %r5;",
                    {32, 1, 1}, ".shared .align 16 .b8 tile[256];\n"),
            of_lanes(32, [](std::uint32_t) { return 0xfff1u - 13; }));
}

TEST_F(ProgramTest, Atomics) {
  auto sum_of = [&](const std::string& op, const std::string& then = "") {
    return results("mov.u32 %r9, word; setp.eq.s32 %p1, %t, 0; @%p1 st.shared.u32 [%r9], 5; bar.sync 0;" + op +
                       " bar.sync 0; ld.shared.u32 %r0, [%r9];" + then,
                   {64, 1, 1}, ".shared .align 8 .b8 word[8];\n")[0];
  };
  EXPECT_EQ(sum_of("red.shared.add.u32 [%r9], %t;"), 5 + 63 * 32u);
  EXPECT_EQ(sum_of("atom.shared.max.s32 %r1, [%r9], %t;"), 63u);
  EXPECT_EQ(sum_of("atom.shared.min.u32 %r1, [%r9], %t;"), 0u);
  EXPECT_EQ(sum_of("atom.shared.or.b32 %r1, [%r9], %t;"), 63u);
  EXPECT_EQ(sum_of("atom.shared.inc.u32 %r1, [%r9], 9;"), (5 + 64) % 10u);
  EXPECT_EQ(sum_of("mov.f32 %f1, 0f3F800000; @%p1 atom.shared.exch.b32 %r1, [%r9], 0; bar.sync 0; red.shared.add.f32 "
                   "[%r9], %f1;"),
            0x42800000u);
  // A counter that the last of several blocks sees full, and what the others have written before.
  std::string last =
      "mov.u32 %r1, %ctaid.x; add.s32 %r2, %r1, 1; mul.wide.u32 %a, %r2, 4; add.s64 %d1, %o, %a;"
      "st.global.u32 [%d1], %r2; FENCE atom.global.add.u32 %r3, [%o], 1; setp.ne.s32 %p1, %r3, 3; @%p1 exit;"
      "ld.global.u32 %r4, [%o+4]; ld.global.u32 %r5, [%o+8]; add.s32 %r4, %r4, %r5; st.global.u32 [%o+64], %r4;";
  auto with = [&](const std::string& fence) { return std::string(last).replace(last.find("FENCE"), 5, fence); };
  EXPECT_EQ(found(with("membar.gl;"), {1, 1, 1}, {4, 1, 1}), "") << first_finding(this->last);
  EXPECT_EQ(taken<std::uint32_t>(out_ + 64, 1)[0], 3u);
  // A flag that one block sets behind what it wrote, and others wait for.
  memory.fill(out_, 0, 4, 32);
  std::string flag =
      "mov.u32 %r1, %ctaid.x; setp.ne.s32 %p1, %r1, 0; @%p1 bra wait; st.global.u32 [%o+4], 7;"
      "st.STRENGTH.gpu.global.u32 [%o], 1; exit;\nwait: ld.acquire.gpu.global.u32 %r2, [%o];"
      "setp.eq.s32 %p2, %r2, 0; @%p2 bra wait; ld.global.u32 %r3, [%o+4];";
  auto told = [&](const char* strength) { return std::string(flag).replace(flag.find("STRENGTH"), 8, strength); };
  EXPECT_EQ(found(told("release"), {1, 1, 1}, {3, 1, 1}), "") << first_finding(this->last);
  memory.fill(out_, 0, 4, 32);
  EXPECT_EQ(found(told("relaxed"), {1, 1, 1}, {3, 1, 1}), "race");
  memory.fill(out_, 0, 4, 32);
  EXPECT_EQ(found(with(""), {1, 1, 1}, {4, 1, 1}), "race");
}

TEST_F(ProgramTest, Exchanges) {
  auto lanes = [&](auto f) { return of_lanes(32, f); };
  EXPECT_EQ(results("shfl.sync.down.b32 %r0|%p1, %t, 3, 31, -1; @!%p1 mov.u32 %r0, 99;"),
            lanes([](std::uint32_t t) { return t + 3 < 32 ? t + 3 : 99; }));
  EXPECT_EQ(results("shfl.sync.up.b32 %r0, %t, 3, 0, -1;"), lanes([](std::uint32_t t) { return t < 3 ? t : t - 3; }));
  EXPECT_EQ(results("shfl.sync.idx.b32 %r0, %t, 5, 0x181f, -1;"), lanes([](std::uint32_t t) { return (t & 24) | 5; }));
  EXPECT_EQ(results("shfl.sync.bfly.b32 %r0, %t, 16, 0x1f, -1;"), lanes([](std::uint32_t t) { return t ^ 16; }));
  EXPECT_EQ(results("setp.lt.u32 %p1, %t, 5; vote.sync.ballot.b32 %r0, %p1, -1;"),
            lanes([](std::uint32_t) { return 31u; }));
  EXPECT_EQ(results("setp.lt.u32 %p1, %t, 5; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, !%p1, -1;"
                    "selp.u32 %r0, 1, 0, %p2; selp.u32 %r1, 2, 0, %p3; add.s32 %r0, %r0, %r1;"),
            lanes([](std::uint32_t) { return 1u; }));
  EXPECT_EQ(results("and.b32 %r1, %t, 7; match.any.sync.b32 %r0, %r1, -1;"),
            lanes([](std::uint32_t t) { return 0x01010101u << (t % 8); }));
  EXPECT_EQ(results("sub.s32 %r1, %t, 16; redux.sync.min.s32 %r0, %r1, -1;"),
            lanes([](std::uint32_t) { return -16u; }));
  EXPECT_EQ(results("redux.sync.add.s32 %r0, %t, -1;"), lanes([](std::uint32_t) { return 496u; }));
  EXPECT_EQ(results("activemask.b32 %r0; setp.lt.u32 %p1, %t, 8; @%p1 activemask.b32 %r0;"),
            lanes([](std::uint32_t t) { return t < 8 ? 255u : ~0u; }));
  EXPECT_EQ(results("setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r0, 0, %p1;", {64, 1, 1}),
            of_lanes(64, [](std::uint32_t) { return 40u; }));
  EXPECT_EQ(results("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1, 32; mov.u32 %r0, %warpid;", {64, 1, 1}),
            of_lanes(64, [](std::uint32_t t) { return t / 32; }));
}

TEST_F(ProgramTest, CopiesThatAreWaitedFor) {
  std::string begin =
      "mul.wide.u32 %a, %t, 4; add.s64 %d1, %i, %a; mov.u32 %r1, tile; shl.b32 %r2, %t, 2; add.s32 %r1, %r1, %r2;"
      "cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.commit_group;";
  const char* tile = ".shared .align 16 .b8 tile[128];\n";
  EXPECT_EQ(results(begin + "cp.async.wait_group 0; ld.shared.u32 %r0, [%r1];", {32, 1, 1}, tile),
            of_lanes(32, [](std::uint32_t t) { return t; }));
  EXPECT_EQ(found(begin + "ld.shared.u32 %r0, [%r1];", {32, 1, 1}, {1, 1, 1}, tile), "uninitialised read");
  EXPECT_EQ(found(begin + "cp.async.wait_group 1; ld.shared.u32 %r0, [%r1];", {32, 1, 1}, {1, 1, 1}, tile),
            "uninitialised read");
}

TEST_F(ProgramTest, ShorterCopiesReadNoFurther) {
  const char* tile = ".shared .align 16 .b8 tile[512];\n";
  std::string begin =
      "mul.wide.u32 %a, %t, 16; add.s64 %d1, %i, %a; mov.u32 %r1, tile; shl.b32 %r2, %t, 4; add.s32 %r1, %r1, %r2;"
      "mov.u32 %r3, 16; setp.eq.u32 %p1, %t, 31; @%p1 mov.u32 %r3, 6;"
      "cp.async.cg.shared.global [%r1], [%d1], 16, %r3; cp.async.wait_all;";
  auto module = loaded(kernel(begin + "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1]; mul.wide.u32 %a, %t, 16; "
                                      "add.s64 %d2, %o, %a; st.global.v4.u32 [%d2], {%r4, %r5, %r6, %r7};",
                              tile));
  std::vector<std::uint16_t> numbers(8 * 31 + 3);  // the last lane's copy ends where the memory does
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint16_t>(i + 1);
  Address in = placed(numbers), out = placed(std::vector<std::uint16_t>(256));
  LaunchResult result = launched(*module, out, in, 0);
  ASSERT_EQ(result.code, kSuccess) << first_finding(result);
  auto made = taken<std::uint16_t>(out, 256);
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i], i < numbers.size() ? i + 1 : 0);
  // Counted as the instruction that it is: 31 lanes of 16 bytes lie in 16 sectors.
  EXPECT_EQ(result.counters.global_load_sectors, 16u + 2u);
  EXPECT_EQ(result.counters.global_load_bytes, 31u * 16 + 6);
  EXPECT_EQ(result.counters.shared_conflicts, 0u);
}

TEST_F(ProgramTest, WhatKernelsPrint) {
  std::string body =
      ".local .align 8 .b8 own[16]; setp.ne.s32 %p1, %t, 1; @%p1 exit; mov.u64 %d1, own; st.local.u32 [%d1], %t;"
      "mov.f64 %g1, 0d3FF8000000000000; st.local.f64 [%d1+8], %g1; cvta.local.u64 %d2, %d1;\n"
      "cvta.global.u64 %d3, text; { .param .b64 a; st.param.b64 [a], %d3; .param .b64 b; st.param.b64 [b], %d2;"
      ".param .b32 q; call.uni (q), vprintf, (a, b); ld.param.b32 %r0, [q]; }";
  EXPECT_EQ(found(body, {32, 1, 1}, {1, 1, 1},
                  ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                  ".global .align 1 .b8 text[13] = {116, 61, 37, 100, 32, 120, 61, 37, 46, 50, 102, 10, 0};\n"),
            "");
  EXPECT_EQ(last.printed, "t=1 x=1.50\n");
}

TEST_F(ProgramTest, Counts) {
  found("mul.wide.u32 %a, %t, 4; add.s64 %d1, %i, %a; ld.global.u32 %r1, [%d1]; bar.sync 0;", {64, 1, 1}, {2, 1, 1});
  EXPECT_EQ(last.counters.global_loads, 4u);
  EXPECT_EQ(last.counters.global_load_bytes, 512u);
  EXPECT_EQ(last.counters.global_load_sectors, 16u);
  EXPECT_EQ(last.counters.barriers, 4u);
  found("mul.wide.u32 %a, %t, 128; add.s64 %d1, %i, %a; ld.global.u32 %r1, [%d1];");
  EXPECT_EQ(last.counters.global_load_sectors, 32u);
  EXPECT_EQ(last.counters.thread_instructions, 32 * 8u);
  const char* tile = ".shared .align 16 .b8 tile[4096];\n";
  auto conflicts = [&](int stride) {
    found("mul.lo.s32 %r1, %t, " + std::to_string(stride) +
              "; mov.u32 %r2, tile; add.s32 %r1, %r1, %r2; st.shared.u32 [%r1], 0;",
          {32, 1, 1}, {1, 1, 1}, tile);
    return last.counters.shared_conflicts;
  };
  EXPECT_EQ(conflicts(4), 0u);
  EXPECT_EQ(conflicts(8), 1u);
  EXPECT_EQ(conflicts(128), 31u);
  EXPECT_EQ(conflicts(0), 0u);
  found("setp.lt.u32 %p1, %t, 5; @%p1 bra over; mov.u32 %r1, 1; over:");
  EXPECT_EQ(last.counters.divergent_branches, 1u);
}

}  // namespace
}  // namespace emulated
