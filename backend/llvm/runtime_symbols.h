// What generated code may call, by symbol name: code has no address of this process in it, and an object made by
// another process of the same build can be loaded here.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/machine/target.h"
#include "registry/ops/large_angle.h"

namespace md {

struct RuntimeSymbol {
  std::string name;
  const void* address;
};
// Everything the loader resolves.
std::vector<RuntimeSymbol> runtime_symbols();

// --- Calls from the middle of a vector loop that disturb none of its registers (LlvmBuilder::call_rare)

template <class... Fn>
struct RareFunctions {
  template <class F>
  static constexpr bool kContains = (std::is_same_v<F, Fn> || ...);
};
using AllRareFunctions =
    RareFunctions<math::LargeAngle<math::AngleFunction::Sin>, math::LargeAngle<math::AngleFunction::Cos>,
                  math::LargeAngle<math::AngleFunction::Tan>>;

// Symbol of void(const T* x, T* y, std::uint64_t rare), which replaces y[i] by Fn(x[i]) wherever bit i of `rare` is
// set.
template <class Fn, class T>
std::string rare_function_name() {
  static_assert(AllRareFunctions::kContains<Fn>, "not in the table of runtime_symbols()");
  std::string name = Fn::kName;
  name += sizeof(T) == 4 ? "_f32" : "_f64";
  return name;
}
// Symbol of code that calls rdi(rsi, rdx, rcx) and changes no register at all, so that the code generator may treat the
// call as one opaque instruction and keeps everything live in registers around it.
const char* rare_call_entry(const Target& target);

}  // namespace md
