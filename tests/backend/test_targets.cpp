// Code for processors other than this one, and code that does not depend on the process that made it.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "backend/llvm/code_generator.h"
#include "backend/llvm/kernel_object.h"
#include "backend/llvm/runtime_symbols.h"
#include "backend/machine/fork_gate.h"
#include "backend/nest/lower_group.h"
#include "ir/core/error.h"
#include "tests/backend/graph_fixture.h"

namespace md::testing {
namespace {

struct Level {
  const char* cpu;
  int vector_bytes;
  const char* registers;  // the widest the code uses
};
constexpr Level kLevels[] = {{"x86-64-v2", 16, "xmm"}, {"x86-64-v3", 32, "ymm"}, {"x86-64-v4", 64, "zmm"}};

// Rare calls, an fma, a row fold, a column fold and a half: everything that asks the target something.
void build_graph(GraphFixture& g) {
  std::mt19937 random(11);
  Node* x = g.input(random_tensor(random, {40, 70}, DType::Float32, Layout::Contiguous));
  Node* h = g.input(random_tensor(random, {40, 70}, DType::Float16, Layout::Contiguous));
  Node* waves = g.call("add", {g.call("sin", {x}), g.call("tan", {x})});
  const ListArg last{{Arg(1)}}, first{{Arg(0)}};
  Node* centred = g.call("sub", {waves, g.call("sum", {waves, last, Arg(true)})});
  g.finish({g.call("exp", {centred}), g.call("sum", {waves, first}), g.call("mul", {h, Arg(2.0)})});
}

struct Object {
  std::string key, ir, bytes;
  int lanes;
};
std::vector<Object> objects(const Graph& graph, const Target& target) {
  std::vector<Object> made;
  const ForkGate gate;
  for (const FusionGroup& group : fuse(graph)) {
    if (group.kind != FusionGroup::Kind::Loops) continue;
    for (const LoweredGroup& l : lower_group(group)) {
      if (l.call) continue;
      const Schedule s = make_schedule(l.nest, target);
      made.push_back(
          {kernel_key(l.nest, s, target), kernel_ir(l.nest, s, target), generate_kernel(l.nest, s, target), s.lanes});
    }
  }
  return made;
}

std::filesystem::path scratch_file(const char* name) {
  return std::filesystem::temp_directory_path() / ("minidynamo_" + std::to_string(getpid()) + "_" + name);
}
std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Names that an object expects somebody else to define.
std::set<std::string> undefined_names(const std::string& object) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(object.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(object.data() + header->e_shoff);
  std::set<std::string> names;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(object.data() + sections[i].sh_offset);
    const char* text = object.data() + sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 1; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      if (symbols[s].st_shndx == SHN_UNDEF && *(text + symbols[s].st_name)) names.insert(text + symbols[s].st_name);
  }
  return names;
}

TEST(Targets, VectorsAreAsWideAsTheTarget) {
  GraphFixture g;
  build_graph(g);
  std::set<std::string> keys;
  std::size_t made = 0;
  for (const Level& level : kLevels) {
    const Target target = cpu_target(level.cpu);
    EXPECT_EQ(target.vector_bytes, level.vector_bytes) << level.cpu;
    int widest = 0;
    for (const Object& o : objects(g.graph, target)) {
      ++made;
      keys.insert(o.key);
      widest = std::max(widest, o.lanes);
      EXPECT_NE(o.ir.find("<" + std::to_string(o.lanes) + " x "), std::string::npos) << level.cpu << "\n" << o.ir;
      EXPECT_EQ(o.bytes.substr(0, 4), "\177ELF");
    }
    constexpr int kSideBySide = 4;  // vectors
    EXPECT_EQ(widest, kSideBySide * level.vector_bytes / 4) << level.cpu;
  }
  EXPECT_GE(made, 6u);
  EXPECT_EQ(keys.size(), made) << "kernels for different targets share a key";
}

#ifdef MINIDYNAMO_OBJDUMP
TEST(Targets, MachineCodeUsesTheTargetsRegisters) {
  GraphFixture g;
  build_graph(g);
  for (const Level& level : kLevels) {
    std::string code;
    for (const Object& o : objects(g.graph, cpu_target(level.cpu))) {
      const auto object = scratch_file("kernel.o"), listing = scratch_file("kernel.s");
      std::ofstream(object, std::ios::binary) << o.bytes;
      ASSERT_EQ(std::system((MINIDYNAMO_OBJDUMP " -d " + object.string() + " >" + listing.string()).c_str()), 0);
      code += text_of(listing);
      std::filesystem::remove(object), std::filesystem::remove(listing);
    }
    EXPECT_EQ(code.find("vscalefps") != std::string::npos, level.vector_bytes == 64) << level.cpu;
    bool allowed = true;
    for (const Level& other : kLevels) {
      EXPECT_EQ(code.find(other.registers) != std::string::npos, allowed) << level.cpu << " " << other.registers;
      if (other.cpu == level.cpu) allowed = false;
    }
  }
}
#endif

TEST(Targets, UnknownProcessorIsRefused) { EXPECT_THROW(cpu_target("no-such-cpu"), InternalError); }

TEST(Targets, CodeCallsNothingTheLoaderDoesNotKnow) {
  std::set<std::string> known;
  for (const RuntimeSymbol& s : runtime_symbols()) EXPECT_TRUE(known.insert(s.name).second) << s.name;
  std::set<std::string> called;
  std::mt19937 random(12);
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v4"})
    for (DType t : {DType::Float32, DType::Float64}) {
      GraphFixture g;
      Node* x = g.input(random_tensor(random, {3, 50}, t, Layout::Contiguous));
      std::vector<Node*> results;
      for (const char* name :
           {"sin", "cos", "tan", "exp", "log", "tanh", "erf", "asin", "sqrt", "floor", "ceil", "trunc", "round"})
        results.push_back(g.call(name, {x}));
      for (const char* name : {"fmod", "remainder", "pow", "atan2", "div"}) results.push_back(g.call(name, {x, x}));
      g.finish(results);
      for (const Object& o : objects(g.graph, cpu_target(cpu)))
        for (const std::string& name : undefined_names(o.bytes))
          if (name != "_GLOBAL_OFFSET_TABLE_") called.insert(name);
    }
  for (const std::string& name : called) EXPECT_TRUE(known.contains(name)) << name;
  EXPECT_TRUE(called.contains("md_rare_call_avx512"));
  EXPECT_TRUE(called.contains("minidynamo_large_sin_f64"));
}

// Run by the test below, in processes of its own.
TEST(Targets, DISABLED_WriteKernels) {
  const char* const path = std::getenv("MINIDYNAMO_KERNELS");
  ASSERT_NE(path, nullptr);
  GraphFixture g;
  build_graph(g);
  std::ofstream out(path, std::ios::binary);
  for (const Level& level : kLevels)
    for (const Object& o : objects(g.graph, cpu_target(level.cpu))) out << o.key << o.bytes;
  for (const Object& o : objects(g.graph, host_target())) out << o.key << o.bytes;
}

TEST(Targets, TwoProcessesMakeTheSameKernels) {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  ASSERT_GT(n, 0);
  self[n] = 0;
  std::string made[2];
  for (int i = 0; i < 2; ++i) {
    const auto file = scratch_file(i ? "second" : "first");
    const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX MINIDYNAMO_KERNELS=" + file.string() +
                                " " + self +
                                " --gtest_also_run_disabled_tests --gtest_filter=Targets.DISABLED_WriteKernels "
                                ">/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    made[i] = text_of(file);
    std::filesystem::remove(file);
  }
  EXPECT_GT(made[0].size(), 10000u);
  EXPECT_TRUE(made[0] == made[1]);
}

}  // namespace
}  // namespace md::testing
