// Opcode numbers to names and back for the running version.
#include "frontend/bytecode/raw_opcodes.h"

#include <array>

#include "frontend/bytecode/instruction.h"

namespace md {
namespace {

static_assert(kMinor >= 11 && kMinor <= 13, "no opcode table for this version");

constexpr int by_version(int v311, int v312, int v313) { return kMinor == 11 ? v311 : kMinor == 12 ? v312 : v313; }

#define SAME(op) static_cast<std::int16_t>(Opcode::op)
#define OWN -1
#define MD_RAW(name, n311, c311, n312, c312, n313, c313, arg, canonical) \
  RawInfo{#name, by_version(n311, n312, n313), by_version(c311, c312, c313), RawArg::arg, canonical},
constexpr RawInfo kInfo[] = {
    RawInfo{"<unknown>", 0, 0, RawArg::None, -1},
#include "frontend/bytecode/raw_opcodes.inc"
};
#undef MD_RAW
#undef OWN
#undef SAME

constexpr int kCount = sizeof(kInfo) / sizeof(kInfo[0]);

constexpr std::array<RawOp, 256> by_number() {
  std::array<RawOp, 256> table{};
  for (int i = 1; i < kCount; ++i) {
    if (kInfo[i].number != 0) table[kInfo[i].number] = static_cast<RawOp>(i);
  }
  return table;
}
constexpr std::array<RawOp, 256> kByNumber = by_number();

}  // namespace

const RawInfo& raw_info(RawOp op) { return kInfo[static_cast<int>(op)]; }
RawOp raw_op(std::uint8_t number) { return kByNumber[number]; }
int raw_op_count() { return kCount; }

}  // namespace md
