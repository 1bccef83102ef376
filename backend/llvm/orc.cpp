#include "backend/llvm/orc.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <system_error>
#include <vector>

#include "ir/core/error.h"

namespace md {
namespace {

[[noreturn]] void fail(const char* what, llvm::Error error) {
  throw InternalError(std::string(what) + ": " + llvm::toString(std::move(error)));
}

template <class T>
T take(const char* what, llvm::Expected<T> value) {
  if (!value) fail(what, value.takeError());
  return std::move(*value);
}

// The code generator cannot go back from where memory ends, so that there is some is found out before it starts.
void expect_memory() {
  constexpr std::size_t kEnough = std::size_t{32} << 20;
  void* p = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  munmap(p, kEnough);
}

// Where memory ends all the same, an exception may leak what was begun; without it the process would end.
void throw_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }

struct HostDescription {
  std::string triple, cpu, features;
  const llvm::Target* target = nullptr;
  HostTarget host;
};

// MINIDYNAMO_CPU names a lesser processor to generate code for ("x86-64-v3"): results are the same, to the bit.
HostDescription describe_host() {
  static const bool installed = (llvm::install_bad_alloc_error_handler(throw_bad_alloc), true);  // once
  static_cast<void>(installed);
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  // Off: loop strength reduction and the second scheduler, a sixth of a compilation. Addresses are emitted in the form
  // the processor has, and it reorders instructions itself; kernels bound by arithmetic lose up to 3 %, strided 10 %.
  const char* options[] = {"minidynamo", "-disable-lsr", "-enable-misched=false"};
  if (!llvm::cl::ParseCommandLineOptions(std::size(options), options, "", &llvm::errs()))
    throw InternalError("the code generator does not know an option");
  HostDescription d;
  d.triple = llvm::sys::getProcessTriple();
  if (const char* lower = std::getenv("MINIDYNAMO_CPU"); lower && *lower) {
    d.cpu = lower;
  } else {
    d.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& f : llvm::sys::getHostCPUFeatures())
      d.features += (d.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
  }
  std::string error;
  d.target = llvm::TargetRegistry::lookupTarget(d.triple, error);
  if (!d.target) throw InternalError("no code generator for this processor: " + error);
  const std::unique_ptr<llvm::MCSubtargetInfo> offered(d.target->createMCSubtargetInfo(d.triple, d.cpu, d.features));
  const auto has = [&](const char* features) { return offered->checkFeatures(features); };
  d.host.half_moves = has("+f16c");
  d.host.masked_moves = has("+avx512f,+avx512bw,+avx512dq,+avx512vl");
  d.host.vector_bytes = d.host.masked_moves ? 64 : has("+avx2") ? 32 : 16;
  return d;
}

const HostDescription& host_description() {
  static const HostDescription d = describe_host();
  return d;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine() {
  const HostDescription& d = host_description();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EnableFastISel = false;
  std::unique_ptr<llvm::TargetMachine> tm(d.target->createTargetMachine(d.triple, d.cpu, d.features, options,
                                                                        llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                        llvm::CodeGenOptLevel::Less, true));
  if (!tm) throw InternalError("cannot create a code generator for " + d.cpu);
  tm->setFastISel(false);
  tm->setO0WantsFastISel(false);
  return tm;
}

// A child forked while another thread generates or frees code would inherit LLVM's locks in a held state, so fork()
// waits until nobody does (milliseconds).
alignas(std::shared_mutex) unsigned char gate_memory[sizeof(std::shared_mutex)];

std::shared_mutex& compile_gate() {
  static std::shared_mutex* gate = [] {
    auto* made = new (gate_memory) std::shared_mutex;
    // The child makes a new one: threads that wait for the old one are not there to take it.
    pthread_atfork([] { compile_gate().lock(); }, [] { compile_gate().unlock(); },
                   [] { new (gate_memory) std::shared_mutex; });
    return made;
  }();
  return *gate;
}

// One execution session for the process, never destroyed: kernels may be called while static objects die.
class Jit {
 public:
  static Jit& instance() {
    static Jit* jit = new Jit;
    return *jit;
  }

  std::unique_ptr<llvm::TargetMachine> borrow_machine() {
    {
      std::lock_guard lock(mutex_);
      if (!machines_.empty()) {
        auto tm = std::move(machines_.back());
        machines_.pop_back();
        return tm;
      }
    }
    return make_target_machine();
  }
  void give_back(std::unique_ptr<llvm::TargetMachine> tm) {
    std::lock_guard lock(mutex_);
    machines_.push_back(std::move(tm));
  }

  // Each module gets its own dylib-wide unique entry name, so one dylib serves all.
  std::unique_ptr<LoadedCode> load(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry);
  std::string unique_name() { return "md_kernel_" + std::to_string(counter_.fetch_add(1)); }

 private:
  Jit();
  llvm::orc::ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
  llvm::orc::JITDylib& dylib_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines_;
  std::atomic<std::uint64_t> counter_{0};
};

// What the loader says of a look-up before it fails, in the thread that looks up.
thread_local bool lacked_memory = false;

void note_loader_error(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase& e) {
    if (e.convertToErrorCode() == std::errc::not_enough_memory)
      lacked_memory = true;
    else
      llvm::errs() << "loading code: " << e.message() << "\n";
  });
}

class TrackedCode final : public LoadedCode {
 public:
  explicit TrackedCode(llvm::orc::ResourceTrackerSP tracker) : tracker_(std::move(tracker)) {}
  ~TrackedCode() override {
    const ForkGate gate;
    llvm::consumeError(tracker_->remove());
    tracker_ = nullptr;
  }

 private:
  llvm::orc::ResourceTrackerSP tracker_;
};

std::unique_ptr<llvm::orc::ExecutorProcessControl> make_process_control() {
  return take("starting the code loader", llvm::orc::SelfExecutorProcessControl::Create(
                                              nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>()));
}

Jit::Jit()
    : session_(make_process_control()),
      layer_(session_, session_.getExecutorProcessControl().getMemMgr()),
      dylib_(session_.createBareJITDylib("kernels")) {
  session_.setErrorReporter(note_loader_error);
  // The only functions generated code may call: what the code generator falls back to for fmod, and for fma where the
  // processor has none.
  llvm::orc::SymbolMap symbols;
  const auto define = [&](const char* name, auto* function) {
    symbols[session_.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  };
  define("fmaf", static_cast<float (*)(float, float, float)>(&std::fma));
  define("fma", static_cast<double (*)(double, double, double)>(&std::fma));
  define("fmodf", static_cast<float (*)(float, float)>(&std::fmod));
  define("fmod", static_cast<double (*)(double, double)>(&std::fmod));
  define("memcpy", &std::memcpy);
  define("memset", &std::memset);
  if (auto error = dylib_.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    fail("defining symbols", std::move(error));
}

std::unique_ptr<LoadedCode> Jit::load(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& entry) {
  auto tracker = dylib_.createResourceTracker();
  auto code = std::make_unique<TrackedCode>(tracker);
  if (auto error = layer_.add(tracker, std::move(object))) fail("loading a kernel", std::move(error));
  lacked_memory = false;
  auto symbol = session_.lookup({&dylib_}, session_.intern(entry));
  if (lacked_memory) {
    llvm::consumeError(symbol.takeError());
    throw std::bad_alloc();
  }
  code->entry = take("linking a kernel", std::move(symbol)).getAddress().toPtr<void*>();
  return code;
}

std::unique_ptr<llvm::MemoryBuffer> generate_object(llvm::Module& module, llvm::TargetMachine& tm) {
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    llvm::MCContext* context = nullptr;
    if (tm.addPassesToEmitMC(passes, context, stream)) throw InternalError("the target cannot emit machine code");
    passes.run(module);
  }
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), false);
}

}  // namespace

ForkGate::ForkGate() { compile_gate().lock_shared(); }
ForkGate::~ForkGate() { compile_gate().unlock_shared(); }

const HostTarget& host_target() { return host_description().host; }

void prepare_module(llvm::Module& module) {
  expect_memory();
  const HostDescription& d = host_description();
  static const std::string layout = make_target_machine()->createDataLayout().getStringRepresentation();
  module.setTargetTriple(d.triple);
  module.setDataLayout(layout);
}

std::unique_ptr<LoadedCode> load_module(llvm::Module& module, const std::string& entry) {
  Jit& jit = Jit::instance();
  llvm::GlobalValue* function = module.getNamedValue(entry);
  if (!function) throw InternalError("a module lacks its entry " + entry);
  const std::string name = jit.unique_name();
  function->setName(name);
  auto tm = jit.borrow_machine();
  auto object = generate_object(module, *tm);
  jit.give_back(std::move(tm));
  return jit.load(std::move(object), name);
}

}  // namespace md
