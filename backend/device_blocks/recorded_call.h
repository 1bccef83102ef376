// A call of an op on a GPU that need not be there: what would be launched, and with which parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/nest/launch_shape.h"
#include "ir/graph/graph.h"

namespace md::device_blocks {

// A parameter, 64 bits.
struct RecordedWord {
  enum class Kind : std::uint8_t { Number, Address, Status };
  Kind kind = Kind::Number;
  int memory = -1;         // Address: which memory,
  std::int64_t value = 0;  // and how many bytes beyond its first; Number: itself
};
struct RecordedLaunch {
  std::string entry;
  LaunchShape shape;
  std::vector<RecordedWord> words;  // one behind the other, they are the kernel's one parameter
};
struct RecordedCall {
  std::string why;                        // nothing is recorded, for this reason
  std::vector<std::int64_t> temporaries;  // bytes of memories that follow those of the call
  std::vector<RecordedLaunch> launches;
};

struct CallOperands {
  std::vector<Arg> args;
  std::vector<TensorRef> out;
};
// `lay` makes the call's operands, on a CUDA device of a compute capability (80 for 8.0), over memories of so many
// bytes.
RecordedCall record_call(const Op& op, int capability, std::span<const std::int64_t> memories,
                         const std::function<CallOperands(std::span<const Ref<Storage>>)>& lay);

// The module of an entry.
std::string kernel_text(const std::string& entry);

}  // namespace md::device_blocks
