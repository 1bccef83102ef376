// The execution session of the process and what it links objects with.
#include "backend/llvm/loader.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>
#include <new>
#include <system_error>

#include "backend/llvm/runtime_symbols.h"
#include "backend/machine/fork_gate.h"
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

// One execution session for the process, never destroyed: kernels may be called while static objects die.
class Jit {
 public:
  static Jit& instance() {
    static Jit* jit = new Jit;
    return *jit;
  }

  std::unique_ptr<LoadedCode> load(const std::string& object, const std::string& entry);

 private:
  Jit();
  std::unique_ptr<llvm::jitlink::LinkGraph> graph_of(const std::string& object, const std::string& entry,
                                                     const std::string& unique);

  llvm::orc::ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
  llvm::orc::JITDylib& dylib_;
  std::atomic<std::uint64_t> loaded_{0};
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
  llvm::orc::SymbolMap symbols;
  for (const RuntimeSymbol& s : runtime_symbols())
    symbols[session_.intern(s.name)] = {llvm::orc::ExecutorAddr::fromPtr(s.address), llvm::JITSymbolFlags::Exported};
  if (auto error = dylib_.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    fail("defining symbols", std::move(error));
}

// All objects call their entry alike and share one name space: it is renamed on the way in.
std::unique_ptr<llvm::jitlink::LinkGraph> Jit::graph_of(const std::string& object, const std::string& entry,
                                                        const std::string& unique) {
  auto graph = take("reading an object", llvm::jitlink::createLinkGraphFromObject({object, "kernel"}));
  for (llvm::jitlink::Symbol* s : graph->defined_symbols()) {
    if (!s->hasName() || s->getName() != entry) continue;
    const auto name = graph->allocateContent(llvm::Twine(unique));
    s->setName({name.data(), name.size()});
    return graph;
  }
  throw InternalError("an object lacks its entry " + entry);
}

std::unique_ptr<LoadedCode> Jit::load(const std::string& object, const std::string& entry) {
  const std::string unique = "kernel_" + std::to_string(loaded_.fetch_add(1));
  auto tracker = dylib_.createResourceTracker();
  auto code = std::make_unique<TrackedCode>(tracker);
  if (auto error = layer_.add(tracker, graph_of(object, entry, unique))) fail("loading a kernel", std::move(error));
  lacked_memory = false;
  auto symbol = session_.lookup({&dylib_}, session_.intern(unique));
  if (lacked_memory) {
    llvm::consumeError(symbol.takeError());
    throw std::bad_alloc();
  }
  code->entry = take("linking a kernel", std::move(symbol)).getAddress().toPtr<void*>();
  return code;
}

}  // namespace

std::unique_ptr<LoadedCode> load_object(const std::string& object, const std::string& entry) {
  return Jit::instance().load(object, entry);
}

}  // namespace md
