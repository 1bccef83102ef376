// Targets, and the code generator's machines for them.
#include "backend/llvm/code_generator.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "backend/machine/fork_gate.h"
#include "ir/core/error.h"

namespace md {
namespace {

// The code generator cannot go back from where memory ends, so that there is some is found out before it starts.
void expect_memory() {
  constexpr std::size_t kEnough = std::size_t{32} << 20;
  void* p = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  munmap(p, kEnough);
}

// Where memory ends all the same, an exception may leak what was begun; without it the process would end.
void throw_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }

// Once per process.
bool install_code_generator() {
  llvm::install_bad_alloc_error_handler(throw_bad_alloc);
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  // Off: loop strength reduction and the second scheduler, a sixth of a compilation. Addresses are emitted in the form
  // the processor has, and it reorders instructions itself; kernels bound by arithmetic lose up to 3 %, strided 10 %.
  const char* options[] = {"minidynamo", "-disable-lsr", "-enable-misched=false"};
  if (!llvm::cl::ParseCommandLineOptions(std::size(options), options, "", &llvm::errs()))
    throw InternalError("the code generator does not know an option");
  return true;
}

const llvm::Target& registered(const std::string& triple) {
  static const bool installed = install_code_generator();
  static_cast<void>(installed);
  std::string error;
  const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) throw InternalError("no code generator for this processor: " + error);
  return *found;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EnableFastISel = false;
  std::unique_ptr<llvm::TargetMachine> tm(registered(target.triple)
                                              .createTargetMachine(target.triple, target.cpu, target.features, options,
                                                                   llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                   llvm::CodeGenOptLevel::Less, true));
  if (!tm) throw InternalError("cannot create a code generator for " + target.cpu);
  tm->setFastISel(false);
  tm->setO0WantsFastISel(false);
  return tm;
}

// Completes a target whose triple, cpu and features are known.
void add_facts(Target& t) {
  const llvm::Target& generator = registered(t.triple);
  // Asked with no name first: an unknown one would be reported on stderr and taken for the least processor.
  const std::unique_ptr<llvm::MCSubtargetInfo> any(generator.createMCSubtargetInfo(t.triple, "", ""));
  if (!any || !any->isCPUStringValid(t.cpu))
    throw InternalError("the code generator knows no processor called " + t.cpu);
  const std::unique_ptr<llvm::MCSubtargetInfo> offered(generator.createMCSubtargetInfo(t.triple, t.cpu, t.features));
  const auto has = [&](const char* features) { return offered->checkFeatures(features); };
  t.half_moves = has("+f16c");
  t.masked_moves = has("+avx512f,+avx512bw,+avx512dq,+avx512vl");
  t.vector_bytes = t.masked_moves ? 64 : has("+avx2") ? 32 : 16;
  t.data_layout = make_target_machine(t)->createDataLayout().getStringRepresentation();
}

// What the machine has beside its instructions: the same under any name.
void add_host_sizes(Target& t) {
  if (const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) t.l1_bytes = bytes;
}

Target describe_host() {
  Target t;
  t.triple = llvm::sys::getProcessTriple();
  registered(t.triple);
  if (const char* lower = std::getenv("MINIDYNAMO_CPU"); lower && *lower) {
    t.cpu = lower;
  } else {
    t.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& f : llvm::sys::getHostCPUFeatures())
      t.features += (t.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
  }
  add_facts(t);
  add_host_sizes(t);
  return t;
}

// Machines that nobody uses at the moment, by target: making one takes longer than many a kernel.
class IdleMachines {
 public:
  static IdleMachines& instance() {
    static IdleMachines* const machines = new IdleMachines;  // never destroyed
    return *machines;
  }

  std::unique_ptr<llvm::TargetMachine> borrow(const Target& target) {
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[name(target)];
      if (!idle.empty()) {
        auto tm = std::move(idle.back());
        idle.pop_back();
        return tm;
      }
    }
    return make_target_machine(target);
  }
  void give_back(const Target& target, std::unique_ptr<llvm::TargetMachine> tm) {
    const std::lock_guard lock(mutex_);
    idle_[name(target)].push_back(std::move(tm));
  }

 private:
  static std::string name(const Target& t) { return t.triple + ' ' + t.cpu + ' ' + t.features; }

  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<std::unique_ptr<llvm::TargetMachine>>> idle_;
};

}  // namespace

const Target& host_target() {
  static std::atomic<const Target*> known{nullptr};
  if (const Target* t = known.load(std::memory_order_acquire)) return *t;
  const ForkGate gate;  // the child of a fork() would wait for ever for a thread that makes it
  static const Target made = describe_host();
  known.store(&made, std::memory_order_release);
  return made;
}

Target cpu_target(const std::string& cpu) {
  Target t;
  t.triple = llvm::sys::getProcessTriple();
  t.cpu = cpu;
  add_facts(t);
  return t;
}

void prepare_module(llvm::Module& module, const Target& target) {
  expect_memory();
  module.setTargetTriple(target.triple);
  module.setDataLayout(target.data_layout);
}

std::string generate_object(llvm::Module& module, const Target& target) {
  auto tm = IdleMachines::instance().borrow(target);
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    llvm::MCContext* context = nullptr;
    if (tm->addPassesToEmitMC(passes, context, stream)) throw InternalError("the target cannot emit machine code");
    passes.run(module);
  }
  IdleMachines::instance().give_back(target, std::move(tm));
  return {bytes.begin(), bytes.end()};
}

std::string generate_assembly(llvm::Module& module, const Target& target) {
  auto tm = IdleMachines::instance().borrow(target);
  llvm::SmallVector<char, 0> text;
  {
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (tm->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
      throw InternalError("the target cannot emit assembly");
    passes.run(module);
  }
  IdleMachines::instance().give_back(target, std::move(tm));
  return {text.begin(), text.end()};
}

}  // namespace md
