// A compiled graph as a straight line of launches over memory slots, symbolic in its sizes.
// backend/executable/specialization.h puts in numbers and runs it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/nest/lower_group.h"
#include "backend/tiers/compile_queue.h"
#include "backend/tiers/kernel_cache.h"
#include "ir/graph/region_call.h"
#include "ir/sizes/shape_env.h"

namespace md {

// Memory behind values.
struct Slot {
  enum class Kind : std::uint8_t {
    Input,
    Constant,
    Temporary,
    Output,
    Own,   // memory of its own, which code called with it may keep
    Made,  // a call brings the tensor
  };
  Kind kind = Kind::Temporary;
  int input = -1;
  TensorRef constant;
  TensorType type;      // how the value it was made for lies in it
  int last_launch = 0;  // a temporary may be reused after it
};

// A tensor within a slot.
struct Place {
  int slot = -1;
  TensorType type;
  Size shift = 0;  // elements beyond the slot's first
};

struct Executable;
struct GpuKernel;

// Of a nest on a GPU: how many elements its space has, and what the body does with each.
struct GpuWork {
  Size elements = 1;
  int instructions = 0, double_instructions = 0;  // those on float64 apart
};

struct Launch {
  std::string name;  // in profiles: the ops of the nest, or what is called
  // A loop nest, run where all of its buffers are, numbers on the CPU aside ...
  Device device;
  CompiledNest nest;
  std::shared_ptr<const GpuKernel> gpu;  // in the place of `nest`, where the executable is for a GPU
  std::string line;                      // on a GPU: where in the program it comes from, as far as that is known
  GpuWork work;
  std::vector<Place> buffers;
  bool can_fail = false;
  std::int64_t part = 0;          // run once per so many columns, each storing one element further ...
  std::vector<int> part_buffers;  // ... in these
  // ... or, without a function, a call through the engine.
  OpId op = kNoOp;
  std::vector<Arg> args;  // nodes stand for their places
  std::vector<Place> results;
  // ... or a call of something else, or of executables, the regions of an operator over such.
  std::shared_ptr<const Callee> callee;
  RegionKind region_kind{};
  std::vector<std::shared_ptr<const Executable>> regions;
};

struct SymbolSource {
  int input = -1, dim = -1;
};

struct Executable {
  std::vector<Slot> slots;
  std::vector<Launch> launches;
  std::vector<Launch> commits;  // launches that write inputs, after everything that can fail: nests, then copies
  std::vector<int> committed;   // the inputs they write, once per write
  std::unordered_map<const Node*, Place> places;
  std::vector<Place> outputs;
  // Per output: the input it is, or the earlier output; else -1. Another view of the same place is a tensor of its own.
  std::vector<int> output_inputs, output_repeats;
  // Per output that is a view: whether gradients do not follow what is written through it, and the output that it shows
  // a part of; else -1.
  std::vector<bool> output_detached;
  std::vector<int> output_bases;
  // What several outputs show parts of without being an output itself. They count behind the outputs in output_bases.
  std::vector<Place> hidden_bases;
  std::vector<Place> inputs;
  std::shared_ptr<ShapeEnv> shapes;
  std::vector<SymbolSource> symbols;  // where each symbol's value is read
  bool draws_random = false;
  Device device;  // all tensors are on it; where they are on several, the CPU

  bool is_static() const { return symbols.empty(); }
};

// The processor or GPU that code for tensors on a device is made for.
using TargetOf = std::function<const Target&(Device)>;

// Fuses, lowers and generates code. Throws InternalError for what this backend cannot run. `checkpoint` is called
// between groups of ops.
Executable build_executable(const Graph& functional, const TargetOf& target_of, const Checkpoint& checkpoint = {});
// The device that all tensors of the graph are on, numbers among its inputs aside; nothing if there are several.
std::optional<Device> device_of_graph(const Graph& g);
// A launch of the nest as code for the target; its buffers are still to be filled in.
Launch nest_launch(std::string name, const LoweredGroup& lowered, const Target& target, Device device);
// The executable's loop nests as LLVM IR and its other launches by name.
std::string print_executable(const Graph& functional, const TargetOf& target_of);
// "fused_mul_add: mul add": each launch by name, with its nodes.
std::string print_fusion(const Graph& functional);

}  // namespace md
