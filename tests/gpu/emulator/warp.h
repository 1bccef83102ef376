// 32 threads that run together, and the block they are of.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "stream_order.h"

namespace emulated {

// Ends a launch.
struct Fault {
  int code;
  std::string kind, text;
  int lane;  // -1: of no single thread
};

// What all blocks of a launch share.
struct Launch {
  const Program& program;
  const Function& function;
  DeviceMemory& memory;
  Checks checks;
  Extent grid, block;
  std::vector<std::byte> parameters;
  std::size_t shared_bytes = 0, dynamic_shared_bytes = 0;
  std::size_t local_bytes = 0;  // of each thread
  std::size_t local_end = 0;    // what it may use of them
  bool calls = false;           // functions, whose registers need room
  std::uint64_t instruction_limit = 0;
  std::uint64_t tag = 0;  // of its accesses
  const StreamOrder* order = nullptr;
  bool alone = true;        // as it began: all that other streams had begun comes before it
  std::uint64_t crowd = 0;  // CellPages::crowd() then
  std::atomic<bool> stop{false};
  std::mutex mutex;  // of what follows
  std::string printed;
  std::vector<std::atomic<std::uint8_t>> released;  // blocks that have published what they wrote
};

struct Frame {
  std::byte* registers = nullptr;
  const Function* function = nullptr;
  const Instruction* call = nullptr;
  std::uint32_t return_pc = 0, local_base = 0;
  std::size_t register_mark = 0;
  int parent = -1;
  std::uint32_t lanes = 0;  // that have not returned
};

// Lanes of one warp that stand at the same place.
struct Group {
  enum State { kReady, kParked, kAtBarrier };
  std::uint32_t pc = 0, lanes = 0;
  int frame = 0;
  State state = kReady;
  std::uint32_t barrier = 0;
};

// The special registers, a row each.
struct SpecialRows {
  using Words = std::uint32_t[kLanes];
  alignas(64) Words sink;
  Words tid[3], ntid[3], ctaid[3], nctaid[3];
  Words laneid, warpid, nwarpid, smid, nsmid, mask_eq, mask_lt, mask_le, mask_gt, mask_ge, dynamic_shared, total_shared;
  Words zero;
  std::uint64_t gridid[kLanes];
};

// Bytes of a space of their own, and which were written.
struct SmallMemory {
  std::vector<std::byte> data;
  std::vector<std::uint8_t> written;
  void reset(std::size_t bytes) {
    data.resize(bytes);
    written.assign(bytes, 0);
  }
};

struct Block;
class CellPages;

struct Warp {
  enum State { kRunning, kBlocked, kYielded, kFinished };

  std::byte* base[3] = {};   // of rows
  std::uint32_t mask = 0;    // lanes that take part in this instruction
  std::uint32_t active = 0;  // lanes of the group that runs
  std::uint32_t pc = 0;
  std::uint32_t merge_pc = ~0u;  // the next place where another group waits or has to run first
  State state = kRunning;
  const Instruction* code = nullptr;
  Block* block = nullptr;
  Launch* launch = nullptr;
  const Launch* prepared = nullptr;          // whose constant special registers are there
  Address cached_begin = 1, cached_end = 0;  // of the allocation used last
  std::uint64_t cached_generation = 0;
  std::uint64_t tag = 0;  // of accesses by lane 0 now
  Counters counters;
  std::uint32_t live = 0;
  int frame = 0;
  std::uint32_t index = 0;  // in the block
  std::uint64_t executed = 0, since_switch = 0;
  std::vector<Frame> frames;
  std::vector<Group> groups;  // but the one that runs
  std::vector<std::byte> registers;
  std::size_t registers_used = 0;
  SmallMemory local;  // of all lanes, one after the other
  std::size_t local_stride = 0;
  SpecialRows special;
  struct AsyncCopy {
    Address from;
    std::uint32_t to, bytes, kept, lane;  // kept: bytes that are copied; zeros follow
    std::uint32_t issue;                  // number of the instruction among those of the warp
  };
  std::vector<std::vector<AsyncCopy>> async_copies;  // groups, the last not closed
  std::uint32_t async_issues = 0;

  template <class T>
  T* at(Row row) {
    return reinterpret_cast<T*>(base[row >> 30] + (row & kRowOffset));
  }
  bool runs(int lane) const { return mask >> lane & 1; }
  bool full() const { return mask == kAllLanes; }
  std::uint32_t thread_of(int lane) const { return index * kLanes + static_cast<std::uint32_t>(lane); }

  void begin(Block& of, std::uint32_t number);
  void execute(std::uint64_t budget);
  void regroup();
  void branch(std::uint32_t target, std::uint32_t taken);
  void end_lanes(std::uint32_t lanes);
  void enter(const Function& callee, const Instruction& call, std::uint32_t lanes);
  void leave(std::uint32_t lanes);
  // Whether all these lanes, unless gone, are here together; if not, the ones that are wait for the others.
  bool converged(std::uint32_t wanted);
  void run_only(std::uint32_t lanes);  // the others of the group run the instruction again
  void synced();                       // accesses before and after are ordered within the warp
  [[noreturn]] void fail(int code, std::string kind, std::string text, int lane = -1) const;
};

// values[lane] for the lanes that run.
template <class T>
inline void put(Warp& warp, Row to, const T (&values)[kLanes]) {
  T* kept = warp.at<T>(to);
  if (warp.full()) {
    std::memcpy(kept, values, sizeof values);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) kept[lane] = warp.mask >> lane & 1 ? values[lane] : kept[lane];
}

inline void put_bits(Warp& warp, Row to, std::uint32_t bits) {
  auto* kept = warp.at<std::uint32_t>(to);
  *kept = (*kept & ~warp.mask) | (bits & warp.mask);
}

// A bit for each lane out of a byte for each that is 0 or 1.
inline std::uint32_t packed(const std::uint8_t (&bytes)[kLanes]) {
  std::uint32_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes + part * 8, 8);
    bits |= static_cast<std::uint32_t>((eight * 0x0102'0408'1020'4080u) >> 56) << (part * 8);
  }
  return bits;
}

struct Barrier {
  std::uint32_t arrived = 0, expected = 0;
  std::uint32_t count = 0, any = 0, all = 1;  // of predicates
  struct Waiting {
    Warp* warp;
    Row to;
    int frame;
    std::uint32_t lanes;
    std::uint8_t kind;
  };
  std::vector<Waiting> waiting;
};

struct Block {
  Launch* launch = nullptr;
  Extent id{0, 0, 0};
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  std::uint32_t threads = 0;
  SmallMemory shared;
  std::unique_ptr<CellPages> shared_cells;
  std::uint64_t shared_tag = 0;           // of accesses to it
  bool fenced = false, acquired = false;  // of what blocks publish to each other
  std::array<Barrier, 16> barriers;
  bool wrapped = false;  // a count of barriers began again
  Warp* running = nullptr;

  Block();
  ~Block();
  void begin(Launch& of, std::uint64_t which);
  void run();
  void arrive(Warp& warp, std::uint32_t number, std::uint32_t expected, const Instruction& i);
  void release(std::uint32_t barrier);
  [[noreturn]] void deadlock();
};

}  // namespace emulated
