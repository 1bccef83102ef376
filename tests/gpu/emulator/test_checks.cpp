// What the emulator finds: programs with a mistake, each with its repaired twin.
#include "emulator_fixture.h"

namespace emulated {
namespace {

struct Twin {
  const char* name;
  const char* kind;
  std::string wrong, right;
  Extent block{32, 1, 1}, grid{1, 1, 1};
  const char* before = "";
};

const std::string kOwn = "mul.wide.u32 %a, %t, 4; add.s64 %d1, %o, %a; add.s64 %d2, %i, %a;\n";
const char* const kTile = ".shared .align 16 .b8 tile[1024];\n";
const std::string kTileOwn = "shl.b32 %r1, %t, 2; mov.u32 %r2, tile; add.s32 %r3, %r1, %r2;\n";

std::vector<Twin> memory_twins() {
  return {
      {"behind the end", "out of bounds", kOwn + "ld.global.u32 %r1, [%d2+16288]; st.global.u32 [%d1], %r1;",
       kOwn + "ld.global.u32 %r1, [%d2+16256]; st.global.u32 [%d1], %r1;"},
      {"before the begin", "out of bounds", kOwn + "ld.global.u32 %r1, [%d2+-4];", kOwn + "ld.global.u32 %r1, [%d2];"},
      {"null", "out of bounds", "mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];", "ld.global.u32 %r1, [%i];"},
      {"write behind the end", "out of bounds", kOwn + "st.global.u32 [%d1+16280], %t;",
       kOwn + "st.global.u32 [%d1], %t;"},
      {"shared behind the end",
       "out of bounds",
       kTileOwn + "st.shared.u32 [%r3+1000], %t;",
       kTileOwn + "st.shared.u32 [%r3], %t;",
       {32, 1, 1},
       {1, 1, 1},
       kTile},
      {"local behind the end", "out of bounds",
       ".local .align 4 .b8 own[16]; mov.u64 %d1, own; st.local.u32 [%d1+16], %t;",
       ".local .align 4 .b8 own[16]; mov.u64 %d1, own; st.local.u32 [%d1+12], %t;"},
      {"misaligned", "misaligned", "ld.global.u32 %r1, [%i+2];", "ld.global.u16 %h1, [%i+2];"},
      {"misaligned vector", "misaligned", "ld.global.v2.u32 {%r1, %r2}, [%i+4];",
       "ld.global.v2.u32 {%r1, %r2}, [%i+8];"},
      {"nobody wrote shared",
       "uninitialised read",
       kTileOwn + "ld.shared.u32 %r4, [%r3];",
       kTileOwn + "st.shared.u32 [%r3], %t; ld.shared.u32 %r4, [%r3];",
       {32, 1, 1},
       {1, 1, 1},
       kTile},
      {"local behind a short end", "out of bounds",
       ".local .align 4 .b8 own[4]; mov.u64 %d1, own; st.local.u32 [%d1+4], %t;",
       ".local .align 4 .b8 own[4]; mov.u64 %d1, own; st.local.u32 [%d1], %t;"},
      {"nobody wrote local", "uninitialised read",
       ".local .align 4 .b8 own[16]; mov.u64 %d1, own; ld.local.u32 %r1, [%d1+8];",
       ".local .align 4 .b8 own[16]; mov.u64 %d1, own; st.local.u32 [%d1+8], %t; ld.local.u32 %r1, [%d1+8];"},
      {"half of it written",
       "uninitialised read",
       kTileOwn + "st.shared.u16 [%r3], %h1; ld.shared.u32 %r4, [%r3];",
       kTileOwn + "st.shared.u16 [%r3], %h1; st.shared.u16 [%r3+2], %h1; ld.shared.u32 %r4, [%r3];",
       {32, 1, 1},
       {1, 1, 1},
       kTile},
  };
}

std::vector<Twin> order_twins() {
  return {
      {"no barrier",
       "uninitialised read",
       kTileOwn + "st.shared.u32 [%r3], %t; xor.b32 %r4, %r3, 128; ld.shared.u32 %r5, [%r4];",
       kTileOwn + "st.shared.u32 [%r3], %t; bar.sync 0; xor.b32 %r4, %r3, 128; ld.shared.u32 %r5, [%r4];",
       {64, 1, 1},
       {1, 1, 1},
       kTile},
      {"no barrier before the next write",
       "race",
       kTileOwn + "st.shared.u32 [%r3], %t; bar.sync 0; xor.b32 %r4, %r3, 128; ld.shared.u32 %r5, [%r4];"
                  "st.shared.u32 [%r3], %r5;",
       kTileOwn + "st.shared.u32 [%r3], %t; bar.sync 0; xor.b32 %r4, %r3, 128; ld.shared.u32 %r5, [%r4];"
                  "bar.sync 0; st.shared.u32 [%r3], %r5;",
       {64, 1, 1},
       {1, 1, 1},
       kTile},
      {"no order within the warp",
       "race",
       kTileOwn + "st.shared.u32 [%r3], %t; xor.b32 %r4, %r3, 4; ld.shared.u32 %r5, [%r4];",
       kTileOwn + "st.shared.u32 [%r3], %t; bar.warp.sync -1; xor.b32 %r4, %r3, 4; ld.shared.u32 %r5, [%r4];",
       {32, 1, 1},
       {1, 1, 1},
       kTile},
      {"bytes of a word",
       "race",
       kTileOwn + "cvt.u16.u32 %h1, %t; and.b32 %r4, %t, 31; add.s32 %r4, %r4, %r2; st.shared.u8 [%r4], %h1;",
       kTileOwn + "cvt.u16.u32 %h1, %t; add.s32 %r4, %t, %r2; st.shared.u8 [%r4], %h1;",
       {64, 1, 1},
       {1, 1, 1},
       kTile},
      {"two lanes, one place", "race", "st.global.u32 [%o], %t;", "st.global.u32 [%o], 5;"},
      {"blocks",
       "race",
       "mov.u32 %r1, %ctaid.x; st.global.u32 [%o], %r1;",
       "mov.u32 %r1, %ctaid.x; mul.wide.u32 %a, %r1, 4; add.s64 %d1, %o, %a; st.global.u32 [%d1], %r1;",
       {1, 1, 1},
       {4, 1, 1}},
      {"blocks that read",
       "race",
       "mov.u32 %r1, %ctaid.x; mul.wide.u32 %a, %r1, 4; add.s64 %d1, %o, %a; st.global.u32 [%d1], %r1;"
       "ld.global.u32 %r2, [%o];",
       "mov.u32 %r1, %ctaid.x; mul.wide.u32 %a, %r1, 4; add.s64 %d1, %o, %a; st.global.u32 [%d1], %r1;"
       "ld.global.u32 %r2, [%i];",
       {1, 1, 1},
       {4, 1, 1}},
      {"not atomic",
       "race",
       "ld.global.u32 %r1, [%o]; add.s32 %r1, %r1, 1; st.global.u32 [%o], %r1;",
       "red.global.add.u32 [%o], 1;",
       {64, 1, 1},
       {2, 1, 1}},
      {"barrier of half the block",
       "barrier",
       "setp.lt.u32 %p1, %t, 32; @%p1 bra done; bar.sync 0; done:",
       "setp.lt.u32 %p1, %t, 32; @%p1 bra done; mov.u32 %r1, 1; done: bar.sync 0;",
       {64, 1, 1}},
      {"barrier of half the warp", "barrier", "setp.lt.u32 %p1, %t, 16; @%p1 bra done; bar.sync 0; done:",
       "setp.lt.u32 %p1, %t, 16; @%p1 bra done; mov.u32 %r1, 1; done: bar.sync 0;"},
      {"shuffle of half the warp", "lanes missing",
       "setp.lt.u32 %p1, %t, 16; @%p1 bra other; shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; bra done;\n"
       "other: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1; done:",
       "setp.lt.u32 %p1, %t, 16; @%p1 bra done; mov.u32 %r2, 1; done: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;"},
      {"shuffle from one that is gone", "shuffle from an absent lane",
       "setp.ge.u32 %p1, %t, 31; @%p1 exit; shfl.sync.down.b32 %r1, %t, 1, 31, -1;",
       "shfl.sync.down.b32 %r1, %t, 1, 31, -1; setp.ge.u32 %p1, %t, 31; @%p1 exit;"},
      {"not in its own mask", "wrong mask", "shfl.sync.bfly.b32 %r1, %t, 1, 31, 65535;",
       "shfl.sync.bfly.b32 %r1, %t, 1, 31, 4294967295;"},
      {"trap", "trap", "trap;", "mov.u32 %r1, 1;"},
  };
}

TEST_F(EmulatorTest, FindsMistakesAndNothingElse) {
  std::vector<Twin> twins = memory_twins(), others = order_twins();
  twins.insert(twins.end(), others.begin(), others.end());
  for (const Twin& twin : twins) {
    EXPECT_EQ(found(twin.wrong, twin.block, twin.grid, twin.before), twin.kind) << twin.name << first_finding(last);
    EXPECT_EQ(found(twin.right, twin.block, twin.grid, twin.before), "") << twin.name << ": " << first_finding(last);
  }
}

TEST_F(EmulatorTest, SaysWhereAMistakeIs) {
  found("\n\n.loc 1 42 3\nadd.s64 %d1, %o, 65536; st.global.u32 [%d1], %t;", {8, 4, 1}, {1, 1, 1},
        ".file 1 \"model.py\"\n");
  ASSERT_EQ(last.code, kIllegalAddress);
  for (const char* part : {"kernel k", "block (0, 0, 0)", "thread (0, 0, 0)", "st.global.u32", "model.py:42",
                           "a write of 4 bytes", "behind the end of the live allocation"})
    EXPECT_NE(first_finding(last).find(part), std::string::npos) << part << " in " << first_finding(last);
}

TEST_F(EmulatorTest, UseAfterFreeIsSeen) {
  Address gone = placed(std::vector<std::uint32_t>(32));
  auto module = loaded(kernel("ld.global.u32 %r1, [%i]; st.global.u32 [%o], 1;"));
  Address out = placed(std::vector<std::uint32_t>(32));
  EXPECT_EQ(launched(*module, out, gone, 0).code, kSuccess);
  memory.release(gone);
  LaunchResult result = launched(*module, out, gone, 0);
  EXPECT_EQ(result.code, kIllegalAddress);
  EXPECT_EQ(result.findings.at(0).kind, "use after free");
}

TEST_F(EmulatorTest, GlobalBytesThatNobodyWroteAreSeen) {
  Address fresh = memory.allocate(128), out = placed(std::vector<std::uint32_t>(32));
  auto module = loaded(kernel("ld.global.u32 %r1, [%i]; st.global.u32 [%o], 1;"));
  EXPECT_EQ(launched(*module, out, fresh, 0).findings.at(0).kind, "uninitialised read");
  memory.fill(fresh, 0, 4, 1);
  EXPECT_EQ(launched(*module, out, fresh, 0).code, kSuccess);
}

TEST_F(EmulatorTest, EndlessLoopsEnd) {
  setenv("MINIDYNAMO_EMULATOR_LIMIT", "3000000", 1);
  EXPECT_EQ(found("again: bra again;"), "endless");
  unsetenv("MINIDYNAMO_EMULATOR_LIMIT");
}

TEST_F(EmulatorTest, ChecksCanBeFewer) {
  checks = {false, false, true};
  EXPECT_EQ(found("st.global.u32 [%o], %t;"), "");
  EXPECT_EQ(found("ld.global.u32 %r1, [%i+-8];"), "out of bounds");
}

}  // namespace
}  // namespace emulated
