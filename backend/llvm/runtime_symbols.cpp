// The functions of this process that loaded code finds by name, and the entry to rare ones.
#include "backend/llvm/runtime_symbols.h"

#include <cmath>
#include <cstring>
#include <iterator>

// An ordinary call may change every vector register, which would make the code generator spill a whole loop's constants
// for a call that practically never happens. These save what the calling convention does not.
#define MD_PUSH_GENERAL                                                                                                \
  "pushq %rbp\n movq %rsp, %rbp\n pushq %rax\n pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n pushq %r8\n pushq " \
  "%r9\n"                                                                                                              \
  "pushq %r10\n pushq %r11\n pushfq\n"
#define MD_POP_GENERAL                                                                                                \
  "leaq -80(%rbp), %rsp\n popfq\n popq %r11\n popq %r10\n popq %r9\n popq %r8\n popq %rdi\n popq %rsi\n popq %rdx\n " \
  "popq %rcx\n"                                                                                                       \
  "popq %rax\n popq %rbp\n ret\n"
#define MD_CALL "movq %rdi, %rax\n movq %rsi, %rdi\n movq %rdx, %rsi\n movq %rcx, %rdx\n call *%rax\n"

// clang-format off
asm(R"(
  .text
  .p2align 4
  .type md_rare_call_sse, @function
md_rare_call_sse:
)" MD_PUSH_GENERAL R"(
  andq $-64, %rsp
  subq $256, %rsp
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movups %xmm\n, (16*\n)(%rsp)
  .endr
)" MD_CALL R"(
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movups (16*\n)(%rsp), %xmm\n
  .endr
)" MD_POP_GENERAL R"(
  .size md_rare_call_sse, .-md_rare_call_sse

  .p2align 4
  .type md_rare_call_avx, @function
md_rare_call_avx:
)" MD_PUSH_GENERAL R"(
  andq $-64, %rsp
  subq $512, %rsp
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovups %ymm\n, (32*\n)(%rsp)
  .endr
  vzeroupper
)" MD_CALL R"(
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  vmovups (32*\n)(%rsp), %ymm\n
  .endr
)" MD_POP_GENERAL R"(
  .size md_rare_call_avx, .-md_rare_call_avx

  .p2align 4
  .type md_rare_call_avx512, @function
md_rare_call_avx512:
)" MD_PUSH_GENERAL R"(
  andq $-64, %rsp
  subq $2112, %rsp
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  vmovups %zmm\n, (64*\n)(%rsp)
  .endr
  .irp n, 0,1,2,3,4,5,6,7
  kmovq %k\n, (2048+8*\n)(%rsp)
  .endr
  vzeroupper
)" MD_CALL R"(
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  vmovups (64*\n)(%rsp), %zmm\n
  .endr
  .irp n, 0,1,2,3,4,5,6,7
  kmovq (2048+8*\n)(%rsp), %k\n
  .endr
)" MD_POP_GENERAL R"(
  .size md_rare_call_avx512, .-md_rare_call_avx512
)");
// clang-format on

extern "C" {
void md_rare_call_sse();
void md_rare_call_avx();
void md_rare_call_avx512();
}

namespace md {
namespace {

// Tells the instantiations of this file from those of files compiled for other processors.
struct LoadedCodeTag;

template <class Fn, class T>
void rare_lanes(const void* from, void* to, std::uint64_t rare) {
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  for (int i = 0; rare != 0; ++i, rare >>= 1)
    if (rare & 1) y[i] = Fn::template eval<LoadedCodeTag>(x[i]);
}

template <class F>
RuntimeSymbol symbol(std::string name, F* function) {
  return {std::move(name), reinterpret_cast<const void*>(function)};
}

template <class... Fn>
void add_rare_functions(std::vector<RuntimeSymbol>& table, RareFunctions<Fn...>) {
  (table.push_back(symbol(rare_function_name<Fn, float>(), &rare_lanes<Fn, float>)), ...);
  (table.push_back(symbol(rare_function_name<Fn, double>(), &rare_lanes<Fn, double>)), ...);
}

}  // namespace

std::vector<RuntimeSymbol> runtime_symbols() {
  // What the code generator falls back to: for fmod, where the processor lacks fma or rounding (SSE4.1), for larger
  // moves.
  std::vector<RuntimeSymbol> table = {
      symbol("fmaf", static_cast<float (*)(float, float, float)>(&std::fma)),
      symbol("fma", static_cast<double (*)(double, double, double)>(&std::fma)),
      symbol("fmodf", static_cast<float (*)(float, float)>(&std::fmod)),
      symbol("fmod", static_cast<double (*)(double, double)>(&std::fmod)),
      symbol("floorf", static_cast<float (*)(float)>(&std::floor)),
      symbol("floor", static_cast<double (*)(double)>(&std::floor)),
      symbol("ceilf", static_cast<float (*)(float)>(&std::ceil)),
      symbol("ceil", static_cast<double (*)(double)>(&std::ceil)),
      symbol("truncf", static_cast<float (*)(float)>(&std::trunc)),
      symbol("trunc", static_cast<double (*)(double)>(&std::trunc)),
      symbol("rintf", static_cast<float (*)(float)>(&std::rint)),
      symbol("rint", static_cast<double (*)(double)>(&std::rint)),
      symbol("memcpy", &std::memcpy),
      symbol("memset", &std::memset),
      symbol("md_rare_call_sse", &md_rare_call_sse),
      symbol("md_rare_call_avx", &md_rare_call_avx),
      symbol("md_rare_call_avx512", &md_rare_call_avx512),
  };
  add_rare_functions(table, AllRareFunctions{});
  return table;
}

const char* rare_call_entry(const Target& target) {
  return target.masked_moves         ? "md_rare_call_avx512"
         : target.vector_bytes == 32 ? "md_rare_call_avx"
                                     : "md_rare_call_sse";
}

}  // namespace md
