// A graph as a program for a processor that need not be here: its launches in order, what each is handed, and the
// memory they share. Sizes are numbers: those the graph was traced with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// A tensor as it lies in memory. Memories are named "input 0", "output 0", "constant 0", "temporary 0".
struct TargetTensor {
  std::string name, memory;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t shift = 0;   // elements beyond the memory's first
  std::int64_t bytes = 0;   // of the memory, where it is this tensor's own
  bool is_size = false;     // an input that is no tensor but a number, sizes[0]
  TensorRef constant = {};  // what a constant holds
};

struct TargetArgument {
  enum class Kind : std::uint8_t {
    Buffer,  // an address
    Value,   // the bits of an element on the CPU, when it is launched
    Param,
    Rows,
    Cols,
    Status,
  };
  Kind kind = Kind::Buffer;
  std::string memory;  // Buffer, Value
  DType dtype = DType::Float32;
  std::int64_t value = 0;  // Buffer, Value: its shift, in elements; Param, Rows, Cols: the number
  std::string size;        // what the number is made of, where it is symbolic
};

struct TargetLaunch {
  std::string name;         // "fused_mul_add", "aten::mm"
  std::string code, entry;  // PTX, LLVM IR for AMD's. Empty: it has no kernel there,
  std::string why;          // for this reason
  std::string call;         // of a single op: "aten::cat([mul, l_y_], 0)" of these tensors, which gives those
  std::vector<TargetTensor> operands, results;
  std::vector<TargetArgument> arguments;
  std::array<unsigned, 3> grid{}, block{};
  std::int64_t shared_bytes = 0;
  std::int64_t bytes = 0;                                  // that it reads and writes, each element of its tensors once
  std::int64_t instructions = 0, double_instructions = 0;  // of all threads; those on float64 apart
};

struct TargetProgram {
  std::string target;
  std::string why;  // there is none, for this reason
  std::vector<TargetTensor> inputs, outputs, constants;
  std::vector<std::int64_t> temporaries;  // bytes of each
  std::vector<TargetLaunch> launches;
};

// The functional graph as a program for another processor ("sm_90"). Throws InternalError for a target that there is no
// code for, and where no code generator is installed.
TargetProgram target_program(const Graph& functional, const std::string& target);
// Installs the code generator.
void make_target_programs_by(TargetProgram (*maker)(const Graph&, const std::string&));

}  // namespace md
