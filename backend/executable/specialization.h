// An executable with all sizes known: what a call executes.
#pragma once

#include <span>

#include "backend/executable/device_launch.h"
#include "backend/executable/executable.h"
#include "ir/run/observed_parts.h"

namespace md {

struct SizedTensor {
  int slot = -1;
  DType dtype = DType::Float32;
  DimVec sizes, strides;
  std::int64_t shift = 0;  // elements beyond the slot's first
  bool whole = false;      // it is what the slot was made for
};

class Specialization {
 public:
  // `symbols` holds the value of each of the executable's symbols. The executable must outlive this.
  Specialization(const Executable& executable, std::span<const std::int64_t> symbols);

  // Throws OpError if an op fails; then no input has changed.
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const;

 private:
  struct Memory {  // of a slot
    Slot::Kind kind;
    int input = -1;
    char* constant = nullptr;
    std::size_t arena = 0;  // Temporary: the one of its device
    std::int64_t arena_offset = 0;
    int owner = -1;  // Output: the output that allocates it
    std::int64_t bytes = 0;
    Device device;
  };
  struct ArenaSize {  // what the temporaries on a device need
    Device device;
    std::int64_t bytes = 0;
  };
  struct Buffer {
    int slot;
    std::int64_t byte_shift;
  };
  enum class Split : std::uint8_t { None, Rows, Columns, Parts };
  struct SizedLaunch {
    const std::string* name = nullptr;
    NestFunction function = nullptr;
    std::shared_ptr<const DeviceLaunch> on_device;          // in its place, on a GPU
    bool is_nest() const { return function || on_device; }  // else a call
    std::vector<Buffer> buffers;
    std::vector<std::int64_t> params;
    std::int64_t rows = 1, cols = 1, grain = 0;
    Split split = Split::None;
    double nanoseconds = 0;  // expected, on one thread
    std::int64_t part = 0;
    SmallVector<Buffer, 4> part_buffers;  // index into buffers, bytes per part
    bool can_fail = false;
    bool empty = false;
    OpId op = kNoOp;
    const char* line = nullptr;  // of a call on a GPU
    std::vector<Arg> args;
    std::vector<SizedTensor> results;
    const Callee* callee = nullptr;
    RegionKind region_kind{};
    std::vector<std::shared_ptr<const Specialization>> regions;
    SiteSlot site;
  };
  struct SizedOutput {
    SizedTensor tensor;
    int input = -1;    // it is that very input
    int same_as = -1;  // it is that earlier output
    bool detached = false;
    int base = -1;  // the output, or behind them the hidden base, that it shows a part of
  };
  struct Frame;  // one run

  std::int64_t value(Size s) const;
  DimVec values(const SizeVec& s) const;
  SizedTensor sized(const Place& p) const;
  SizedLaunch sized(const Launch& s) const;
  void choose_split(const Launch& s, SizedLaunch& p) const;
  Arg sized(const Arg& a);
  void place_memory();
  void size_outputs();
  void choose_quick();
  TensorRef run_quick(std::span<TensorImpl* const> inputs) const;
  [[gnu::noinline, gnu::cold]] TensorRef run_quick_measured(std::span<TensorImpl* const> inputs) const;
  void check_inputs(std::span<TensorImpl* const> inputs) const;
  void allocate(Frame& f) const;
  void execute_all(Frame& f) const;
  void commit(Frame& f) const;
  PartName about(const SizedLaunch& s) const;
  void execute(const SizedLaunch& s, Frame& f) const;
  std::int64_t execute_parts(const SizedLaunch& s, const SmallVector<void*, 24>& buffers) const;
  void execute_call(const SizedLaunch& s, Frame& f) const;
  void call_out(const SizedLaunch& s, Frame& f) const;
  std::vector<TensorRef> run_region(const Specialization& region, std::span<const TensorRef> operands) const;
  TensorRef tensor(const SizedTensor& t, Frame& f) const;
  TensorRef output_view(const SizedOutput& o, Frame& f) const;
  Arg argument(const Arg& a, Frame& f) const;

  const Executable& executable_;
  std::vector<std::int64_t> symbols_;
  std::vector<Memory> slots_;
  std::vector<SizedTensor> inputs_;
  std::vector<SizedLaunch> launches_, commits_;
  std::vector<SizedOutput> outputs_;
  std::vector<SizedOutput> hidden_bases_;
  std::unordered_map<const Node*, SizedTensor> operands_;  // of calls
  std::vector<ArenaSize> arenas_;
  bool has_bases_ = false;   // some outputs are views of others
  bool holds_ = false;       // some slots have memory of their own
  bool takes_long_ = false;  // some launch does
  // The commonest executable: one nest on one thread from inputs and constants to one output.
  struct QuickBuffer {
    int input;       // -1: the output, or if there is one,
    char* constant;  // this
    std::int64_t byte_shift;
  };
  static constexpr std::size_t kMostQuick = 24;
  std::vector<QuickBuffer> quick_;  // its buffers; empty: it is another kind
};

}  // namespace md
