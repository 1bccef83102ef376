// Parts of LLVM that nothing here can reach, kept out of the extension module: a definition that stands here is found
// before the archive's, whose object, and all that only it needs, is then not linked. If the code generator does need
// such an object for something else, the linker reports a symbol that is defined twice.
#include <llvm/CodeGen/Passes.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/IR/PassManager.h>
#include <llvm/InitializePasses.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/CFGuard.h>
#include <llvm/Transforms/Scalar.h>

#include "ir/core/error.h"

namespace {

[[noreturn]] void left_out() { throw md::InternalError("a part of LLVM was asked for that is not linked"); }

}  // namespace

namespace llvm {

// --- Passes that neither x86 nor NVPTX adds: they are not registered.
// clang-format off
#define MD_NOT_REGISTERED(pass) void initialize##pass##Pass(PassRegistry&) {}
// clang-format on
MD_NOT_REGISTERED(BranchRelaxation)
MD_NOT_REGISTERED(HardwareLoopsLegacy)
MD_NOT_REGISTERED(IfConverter)
MD_NOT_REGISTERED(InterleavedLoadCombine)
MD_NOT_REGISTERED(LoadStoreOpt)
MD_NOT_REGISTERED(Localizer)
MD_NOT_REGISTERED(MIRCanonicalizer)
MD_NOT_REGISTERED(MIRNamer)
MD_NOT_REGISTERED(MachineCFGPrinter)
MD_NOT_REGISTERED(MachinePipeliner)
MD_NOT_REGISTERED(MachineRegionInfoPass)
MD_NOT_REGISTERED(MachineUniformityAnalysisPass)
MD_NOT_REGISTERED(MachineUniformityInfoPrinterPass)
MD_NOT_REGISTERED(ModuloScheduleTest)
MD_NOT_REGISTERED(ObjCARCContractLegacyPass)
MD_NOT_REGISTERED(PostRAHazardRecognizer)
MD_NOT_REGISTERED(RABasic)
MD_NOT_REGISTERED(TypePromotionLegacy)
// --- Passes that an option or another system asks for.
MD_NOT_REGISTERED(CheckDebugMachineModule)
MD_NOT_REGISTERED(DebugifyMachineModule)
MD_NOT_REGISTERED(JMCInstrumenter)
MD_NOT_REGISTERED(LoopStrengthReduce)  // -disable-lsr: code_generator.cpp
MD_NOT_REGISTERED(MIRAddFSDiscriminators)
MD_NOT_REGISTERED(MIRProfileLoaderPass)
MD_NOT_REGISTERED(MachineOutliner)
MD_NOT_REGISTERED(StripDebugMachineModule)
#undef MD_NOT_REGISTERED
void initializeGlobalISel(PassRegistry&) {}
Pass* createLoopStrengthReducePass() { left_out(); }
FunctionPass* createCFGuardCheckPass() { left_out(); }
FunctionPass* createCFGuardDispatchPass() { left_out(); }
FunctionPass* createMIRAddFSDiscriminatorsPass(sampleprof::FSDiscriminatorPass) { left_out(); }
FunctionPass* createMIRProfileLoaderPass(std::string, std::string, sampleprof::FSDiscriminatorPass,
                                         IntrusiveRefCntPtr<vfs::FileSystem>) {
  left_out();
}
MachineFunctionPass* createPrintMIRPass(raw_ostream&) { left_out(); }
ModulePass* createCheckDebugMachineModulePass() { left_out(); }
ModulePass* createDebugifyMachineModulePass() { left_out(); }
ModulePass* createJMCInstrumenterPass() { left_out(); }
ModulePass* createMachineOutlinerPass(bool) { left_out(); }
ModulePass* createStripDebugMachineModulePass(bool) { left_out(); }

// --- The new pass manager's pipeline; of the class, only what is defined here is declared.
class X86TargetMachine {
 public:
  Error buildCodeGenPipeline(ModulePassManager&, raw_pwrite_stream&, raw_pwrite_stream*, CodeGenFileType,
                             const CGPassBuilderOption&, PassInstrumentationCallbacks*);
  void registerPassBuilderCallbacks(PassBuilder&);
};
Error X86TargetMachine::buildCodeGenPipeline(ModulePassManager&, raw_pwrite_stream&, raw_pwrite_stream*,
                                             CodeGenFileType, const CGPassBuilderOption&,
                                             PassInstrumentationCallbacks*) {
  left_out();
}
void X86TargetMachine::registerPassBuilderCallbacks(PassBuilder&) { left_out(); }

// --- The second instruction selector: subtargets make one and never ask it.
class InstructionSelector;
class X86RegisterBankInfo;
class X86Subtarget;
InstructionSelector* createX86InstructionSelector(const X86TargetMachine&, const X86Subtarget&,
                                                  const X86RegisterBankInfo&);
InstructionSelector* createX86InstructionSelector(const X86TargetMachine&, const X86Subtarget&,
                                                  const X86RegisterBankInfo&) {
  return nullptr;
}

// --- Assembly: none is in the code for x86; in PTX it is copied.
MCAsmParser* createMCAsmParser(SourceMgr&, MCContext&, MCStreamer&, const MCAsmInfo&, unsigned) { left_out(); }

// --- Objects of other processors and systems.
namespace jitlink {
#define MD_NOT_LOADED(format)                                                        \
  Expected<std::unique_ptr<LinkGraph>> createLinkGraphFrom##format(MemoryBufferRef); \
  Expected<std::unique_ptr<LinkGraph>> createLinkGraphFrom##format(MemoryBufferRef) { left_out(); }
#define MD_NOT_LINKED(format)                                                      \
  void link_##format(std::unique_ptr<LinkGraph>, std::unique_ptr<JITLinkContext>); \
  void link_##format(std::unique_ptr<LinkGraph>, std::unique_ptr<JITLinkContext>) { left_out(); }
MD_NOT_LOADED(COFFObject)
MD_NOT_LINKED(COFF)
MD_NOT_LOADED(MachOObject)
MD_NOT_LINKED(MachO)
#define MD_NO_ELF(processor)           \
  MD_NOT_LOADED(ELFObject_##processor) \
  MD_NOT_LINKED(ELF_##processor)
MD_NO_ELF(aarch32)
MD_NO_ELF(aarch64)
MD_NO_ELF(i386)
MD_NO_ELF(loongarch)
MD_NO_ELF(ppc64)
MD_NO_ELF(ppc64le)
MD_NO_ELF(riscv)
#undef MD_NO_ELF
#undef MD_NOT_LINKED
#undef MD_NOT_LOADED
}  // namespace jitlink

// --- Compressed sections, which objects made here do not have.
namespace compression {
const char* getReasonIfUnsupported(Format) { return "compression is not linked"; }
void compress(Params, ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&) { left_out(); }
Error decompress(DebugCompressionType, ArrayRef<uint8_t>, uint8_t*, size_t) { left_out(); }
Error decompress(Format, ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, size_t) { left_out(); }
Error decompress(DebugCompressionType, ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, size_t) { left_out(); }
namespace zlib {
bool isAvailable() { return false; }
void compress(ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, int) { left_out(); }
Error decompress(ArrayRef<uint8_t>, uint8_t*, size_t&) { left_out(); }
Error decompress(ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, size_t) { left_out(); }
}  // namespace zlib
namespace zstd {
bool isAvailable() { return false; }
void compress(ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, int, bool) { left_out(); }
Error decompress(ArrayRef<uint8_t>, uint8_t*, size_t&) { left_out(); }
Error decompress(ArrayRef<uint8_t>, SmallVectorImpl<uint8_t>&, size_t) { left_out(); }
}  // namespace zstd
}  // namespace compression

}  // namespace llvm
