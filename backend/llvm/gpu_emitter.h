// State shared by the files that emit a nest for a GPU: gpu_emitter.cpp (entry, tensors, values), gpu_elements.cpp,
// gpu_tiles.cpp, gpu_rows.cpp and gpu_columns.cpp (the shapes of a GpuSchedule).
#pragma once

#include <functional>

#include "backend/llvm/emit.h"
#include "backend/llvm/gpu_ops.h"
#include "backend/nest/gpu_schedule.h"

namespace md {

// What `params` holds, in order: extents of the inner row loops, of the folded loop, then each stride that is neither 0
// nor, along the columns, 1; sizes that bodies use.
std::vector<Size> gpu_params(const LoopNest& nest, const GpuSchedule& schedule);

class GpuEmitter {
 public:
  GpuEmitter(llvm::Module& module, const LoopNest& nest, const GpuSchedule& schedule, const Target& target);
  void run(const std::string& entry);

 private:
  using Value = llvm::Value;
  struct Port {  // a tensor the kernel reads or writes
    const Access* access = nullptr;
    Value* base = nullptr;
    std::vector<Value*> row_strides{};  // null: does not move
    Value* folded_stride = nullptr;
    Value* col_stride = nullptr;  // null: does not move, or by one element
    StrideKind col = StrideKind::Zero;
    Value* row = nullptr;     // first element of the thread's row
    Value* staged = nullptr;  // Tiles: where the element is in shared memory
    llvm::GlobalVariable* tile = nullptr;
  };
  struct Fold;  // gpu_columns.cpp

  // gpu_emitter.cpp
  void create_function(const std::string& entry);
  void read_params();
  void position_rows(Value* row);
  std::vector<Value*> row_indices(Value* row);
  void emit_row_values(int stage);
  Value* load_of_row(const NestValue& v);
  std::vector<int> needed(const std::vector<int>& roots) const;
  // Values along the columns (and the folded axis), in order, `lanes` neighbouring ones at a time.
  void emit_values(const std::vector<int>& values, Value* col, int lanes);
  // `chosen`: the thread is to store; null: it is.
  void emit_stores(const std::vector<int>& stores, Value* col, int lanes, Value* chosen);
  Value* address(const Port& port, Value* col);
  Value* operand(int value, int lanes);
  Value* compute(const NestValue& v, int lanes);
  void note_failure(Value* failed);
  Value* first_of_idle_rows(const Port& port);
  bool in_loop(const NestValue& v) const { return (v.axes & loop_axes_) != 0; }
  Port& port_of_store(int store) { return ports_[nest_.accesses.size() + static_cast<std::size_t>(store)]; }
  bool is_kept(int value) const { return !schedule_.kept.empty() && schedule_.kept[static_cast<std::size_t>(value)]; }

  // gpu_elements.cpp
  void emit_elements();
  void emit_group(Value* col, int lanes);
  Value* all_aligned();

  // gpu_rows.cpp
  void emit_rows();
  void emit_stage(int stage);
  void emit_reductions(const std::vector<int>& reduces, const std::vector<int>& stores, const std::vector<int>& values);
  std::vector<Value*> fold_chunk(const std::vector<int>& reduces, const std::vector<int>& stores,
                                 const std::vector<int>& values, Value* start);
  void fold_rounds(Value* first, Value* end, int team, int slots, std::vector<Value*>& carried,
                   const std::function<void(Value*, int, std::vector<Value*>&)>& fold_slot);
  std::vector<Value*> fold_chunk_value(const std::vector<int>& reduces, const std::vector<int>& stores,
                                       const std::vector<int>& values, Value* start);
  Value* halve(const NestValue& reduce, std::vector<Value*> lanes);
  Value* halve_slots(const NestValue& reduce, std::vector<Value*> lanes);
  Value* join_neighbours(const NestValue& reduce, Value* v, int count);
  Value* join_teams(const NestValue& reduce, Value* v);
  void walk(const std::function<void(Value*)>& body);
  Value* kept_element(int value, Value* col);  // Columns: of the folded element at hand

  // gpu_tiles.cpp
  void emit_tiles();
  void stage(Value* first_column, Value* first_across);

  // gpu_columns.cpp
  void emit_columns();
  void position_part();
  std::vector<Fold> folds_of(const std::vector<int>& reduces);
  std::vector<Value*> fold_groups(const std::vector<Fold>& folds, const std::vector<int>& values,
                                  const std::vector<int>& stores, Value* column);
  void emit_column_stages(Value* column);
  void move_to(Value* folded, const std::vector<Port>& at_row);
  std::vector<Value*> fold_columns(const std::vector<Fold>& folds, const std::vector<int>& values,
                                   const std::vector<int>& stores, Value* column, Value* group);
  void join_threads(const std::vector<Fold>& folds, std::vector<Value*>& results);
  void note_results(const std::vector<Fold>& folds, const std::vector<Value*>& results);
  void emit_results(Value* column);

  Emit at(int lanes) { return {ir_, target_, lanes}; }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(ir_.getContext(), name, function_); }
  Value* i32(int v) { return ir_.getInt32(static_cast<std::uint32_t>(v)); }
  Value* i64(std::int64_t v) { return ir_.getInt64(static_cast<std::uint64_t>(v)); }
  Value* wide(Value* v) { return ir_.CreateZExt(v, ir_.getInt64Ty()); }
  llvm::Type* element_of(DType t);
  Value* element_at(DType t, Value* base, Value* index) { return ir_.CreateGEP(element_of(t), base, index); }
  llvm::GlobalVariable* shared(llvm::Type* type, std::int64_t count, const char* name);
  Value* stack(llvm::Type* type, int count);  // of the thread
  void when(Value* condition, const std::function<void()>& body);
  // The same where `body` changes values that are carried on.
  void when_carrying(Value* condition, std::vector<Value*>& carried,
                     const std::function<void(std::vector<Value*>&)>& body);
  // for (i = begin; i < end; i += step), carrying values.
  void loop(Value* begin, Value* end, Value* step, std::vector<Value*>& carried,
            const std::function<void(Value*, std::vector<Value*>&)>& body);

  llvm::Module& module_;
  const LoopNest& nest_;
  const GpuSchedule& schedule_;
  const Target& target_;
  llvm::IRBuilder<> ir_;
  GpuOps gpu_;
  llvm::Function* function_ = nullptr;
  Value *rows_ = nullptr, *cols_ = nullptr, *status_ = nullptr;
  Value *begin_ = nullptr, *end_ = nullptr;  // columns (Columns: folded elements) this block walks
  Value* walked_end_ = nullptr;              // Columns: end_, or begin_ for threads without a column
  Value *x_ = nullptr, *y_ = nullptr;        // the thread, as i32
  Value* row_exists_ = nullptr;  // null, or whether the thread's row (Columns: its column) is none beyond the last
  std::vector<Value*> row_index_;
  Value* folded_element_ = nullptr;  // Columns: the one at hand
  Value* across_ = nullptr;          // Tiles: the thread's element along the loop across
  AxisMask loop_axes_ = 0;
  int last_stage_ = 0;
  bool several_groups_ = false;  // what teams exchange their results through is used again
  std::vector<Port> ports_;
  std::vector<Value*> row_extents_;  // [0] unused
  Value* folded_extent_ = nullptr;
  std::vector<Value*> scalar_;  // per nest value, the same along the columns
  std::vector<Value*> column_;  // per nest value, at the current column
  std::vector<Value*> kept_;    // per nest value, its rows in shared memory
  std::vector<bool> kept_ready_;
};

}  // namespace md
