// PTX made ready to run: instructions with the function that runs each and the places of its operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor.h"
#include "ptx_syntax.h"

namespace emulated {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffffu;

struct Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

// Where an operand's values lie, one for each lane: in the frame of the function, among the constants, or among the
// special registers. A predicate is one word with a bit for each lane.
using Row = std::uint32_t;
enum RowBase : Row { kFrameRow = 0u << 30, kConstantRow = 1u << 30, kSpecialRow = 2u << 30 };
inline constexpr Row kRowOffset = (1u << 30) - 1;
inline constexpr Row kNoRow = 0;  // nothing is kept there: results that nobody wants go there

enum InstructionFlag : std::uint16_t {
  kFlushDenormals = 1,
  kSaturate = 2,
  kNegatedC = 4,       // the predicate that is the third operand
  kNarrowAddress = 8,  // an address in a register of 32 bits
  kStrong = 16,        // orders or may race: volatile, relaxed, acquire, release
  kSignedValue = 32,
  kNonCoherent = 64,
  kRelease = 128,
  kOfFrame = 256,  // an address relative to the local variables of the call
};
enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp, kNearestAway, kNone };

struct Instruction {
  Handler run = nullptr;
  Row to = kNoRow, a = kNoRow, b = kNoRow, c = kNoRow, d = kNoRow;
  Row guard = kNoRow;
  bool guard_negated = false;
  Space space = Space::kGeneric;
  Type type = Type::kNone, from = Type::kNone;
  std::uint8_t bytes = 0, lanes = 1;       // of one element in memory; how many an access has
  std::uint8_t to_bytes = 0, a_bytes = 0;  // of registers
  Rounding rounding = Rounding::kNone;
  std::uint8_t kind = 0;  // what else tells forms apart, as each handler has it
  std::uint16_t flags = 0;
  std::uint32_t target = 0;                // an instruction, a function
  std::uint32_t more = 0, more_count = 0;  // further rows: Program::rows
  std::int64_t offset = 0;
  std::int32_t line = 0, source_line = 0, source_file = 0;
};

struct Placed {
  std::uint32_t offset = 0, bytes = 0;
};

struct Function {
  std::string name;
  bool is_entry = false, has_body = false;
  std::uint32_t begin = 0, end = 0;  // instructions
  std::uint32_t frame_bytes = 0;     // of registers
  std::uint32_t local_used = 0;      // bytes of each thread: variables, and parameters of functions
  std::uint32_t local_bytes = 0;     // the same in sixteens
  std::uint32_t shared_bytes = 0;    // of kernels: where their static variables end
  unsigned max_threads = 0;
  std::vector<Placed> parameters, results;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Row> rows;
  std::vector<Function> functions;
  std::map<std::string, std::uint32_t> by_name;
  std::vector<std::byte> constants;
  std::vector<std::uint32_t> branch_targets;  // of brx.idx
  std::map<int, std::string> files;
  std::vector<std::string> opcodes;  // of each instruction, for messages
  std::uint32_t static_shared = 0;   // while variables are placed: where the next one goes
  std::uint32_t dynamic_shared = 0;  // where the launch's own bytes begin
  bool recursive = false;
};

// Windows of generic addresses onto memory that is not the device's.
inline constexpr Address kSharedWindow = 0x0100'0000'0000;
inline constexpr Address kLocalWindow = 0x0200'0000'0000;
inline constexpr Address kParameterWindow = 0x0300'0000'0000;
inline constexpr Address kWindowBytes = 0x0001'0000'0000;
inline constexpr Address kFunctionWindow = 0x0400'0000'0000;  // where addresses of functions point

}  // namespace emulated
