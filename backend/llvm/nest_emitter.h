// State shared by the files that emit a nest: emit_rows.cpp (kernel, rows, stages), emit_strip.cpp (the vector loop),
// emit_reduce.cpp (lanes, chunks and tree of a reduction), emit_columns.cpp (reductions that keep the innermost axis).
#pragma once

#include "backend/llvm/emit.h"

namespace md {

class NestEmitter {
 public:
  NestEmitter(llvm::Module& module, const LoopNest& nest, const Schedule& schedule, const Target& target);
  void run();

 private:
  using Value = llvm::Value;

  // A tensor the kernel reads or writes.
  struct Port {
    const Access* access = nullptr;
    bool store = false;
    Value* base = nullptr;              // element 0 of the iteration space
    std::vector<Value*> row_strides{};  // null: does not move
    Value* folded_stride = nullptr;
    Value* col_stride = nullptr;  // dynamic strides only
    StrideKind col = StrideKind::Zero;
    Value* row = nullptr;   // first element of the current row
    Value* tail = nullptr;  // where the columns that fill no whole vector are worked on
  };
  // One iteration of a vector loop, or one of its vectors. A port that does not move along the columns keeps its
  // pointer.
  struct VectorStep {
    std::vector<Value*> pointers{};  // per port of the strip: this vector's first element
    std::vector<Value*> strides{};   // null: 1
    Value* position = nullptr;       // columns since the strip's start
    Value* mask = nullptr;           // lanes that exist; null: all
    Value* in_block = nullptr;       // passes: columns since the block's start
    int pass = 0;
    int vector = 0;  // which vector of the iteration
  };
  // A run of columns: whole vectors in place, the rest once more through tail buffers, so that the body exists once.
  struct Strip {
    std::vector<int> ports;
    Value* start = nullptr;  // column
    Value* count = nullptr;
    int vectors = 1;  // per iteration
    bool masks = false;
    int passes = 1;
    std::vector<Value*> carried{};  // loop-carried values: initial, afterwards final
    std::function<void(const VectorStep&, std::vector<Value*>& carried)> body{};
  };
  struct Phase;       // emit_strip.cpp
  struct ColumnFold;  // emit_columns.cpp

  // emit_rows.cpp
  void create_function();
  void read_params();
  void add_port(const Access& access, bool store);
  void emit_rows(Value* begin, Value* end);
  void position_rows(const std::vector<Value*>& index);
  void emit_row();
  void emit_row_values(int stage, bool whole_kernel);
  void emit_stage(int stage);
  void emit_walk(const std::vector<int>& reduces, const std::vector<int>& stores, const std::vector<int>& values);
  void emit_row_stores();
  std::vector<int> needed_in_loop(const std::vector<int>& roots) const;
  std::vector<int> ports_of(const std::vector<int>& values, const std::vector<int>& stores) const;
  void make_splats(const std::vector<int>& values);
  void emit_loop_values(const std::vector<int>& values, const Strip& strip, const VectorStep& step);
  Value* kept_element(int value, const VectorStep& step);
  bool is_kept(int value) const { return !schedule_.kept.empty() && schedule_.kept[static_cast<std::size_t>(value)]; }
  void emit_loop_stores(const std::vector<int>& stores, const Strip& strip, const VectorStep& step);
  Value* load_column(int port, DType t, Value* pointer, Value* stride);
  Value* compute(const NestValue& v, int lanes, Value* mask, const std::function<Value*(int)>& operand);
  Value* operand(int value, int lanes);
  void note_failure(Value* failed, Value* mask);
  bool in_loop(const NestValue& v) const {
    return (v.axes & loop_axes_) != 0 || (schedule_.shape == Schedule::Shape::Columns && v.stage > 0);
  }
  int port_of_store(int store) const { return static_cast<int>(nest_.accesses.size()) + store; }
  bool is_first_of_pair(int store) const {
    const auto next = static_cast<std::size_t>(store) + 1;
    return next < nest_.stores.size() && nest_.stores[next].second_of_pair;
  }
  // Whether the second store of a pair writes every other element along the columns.
  bool in_pairs(int second) const {
    return schedule_.lanes > 1 && ports_[static_cast<std::size_t>(port_of_store(second))].col == StrideKind::Two;
  }

  // emit_strip.cpp
  void emit_strip(Strip& strip);
  void begin_phase(Strip& strip, Phase& p);
  void emit_vector_loop(Strip& strip, Phase& p);
  Value* tail_of(int port_index);
  void copy_in(const Strip& strip, Phase& p);
  void copy_out(const Strip& strip, Phase& p);
  void copy_tail(const Strip& strip, Phase& p, bool stores);
  Value* tail_mask(Value* rest, int vector);

  void position_step(const Strip& strip, const Phase& p, Value* column, VectorStep& step);

  // emit_passes.cpp
  void emit_passes(const std::vector<int>& values, const std::vector<int>& stores);
  int pass_of(int value) const;
  bool crosses(int value, int to) const;
  void fetch(const std::vector<int>& own, const std::vector<int>& stores, const Strip& strip, const VectorStep& step);
  void walk_passes(Strip& strip, Value* count, const std::function<void(VectorStep&, Value*)>& position);

  // emit_reduce.cpp
  void emit_reduction_stage(const std::vector<int>& reduces, const std::vector<int>& stores,
                            const std::vector<int>& values);
  void fold_strip(const std::vector<int>& reduces, const std::vector<int>& stores, const std::vector<int>& values,
                  Value* start, Value* count);
  Value* accumulate(const NestValue& reduce, Value* old, Value* v, Value* mask);
  Value* halve(const NestValue& reduce, std::vector<Value*> vectors);

  // emit_columns.cpp
  void emit_columns();
  void fold_columns(const std::vector<ColumnFold>& folds, const std::vector<int>& values,
                    const std::vector<int>& stores, Value* column, Value* width);
  void prefetch_rows(const Strip& strip, const VectorStep& step);
  void finish_chunk(const ColumnFold& f, Value* width, Value* index);
  void join_level(const ColumnFold& f, Value* width, Value* row);
  void finish_tree(const ColumnFold& f, Value* width, Value* chunks, Value* folded);
  void each_vector(Value* width, const std::function<void(Value*)>& body);
  Value* load_vector(const ColumnFold& f, Value* base, Value* index);
  void store_vector(const ColumnFold& f, Value* v, Value* base, Value* index);

  // Small conveniences.
  Emit at(int lanes) { return {ir_, target_, lanes}; }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(ir_.getContext(), name, function_); }
  llvm::AllocaInst* stack(llvm::Type* type, int count);
  Value* i64(std::int64_t v) { return ir_.getInt64(static_cast<std::uint64_t>(v)); }
  llvm::Type* element_of(DType t);
  Value* element_at(DType t, Value* base, Value* index) { return ir_.CreateGEP(element_of(t), base, index); }
  // for (i = begin; i < end; i += step) body(i), at least once if `once`.
  void loop(Value* begin, Value* end, std::int64_t step, bool once, const std::function<void(Value*)>& body);

  llvm::Module& module_;
  const LoopNest& nest_;
  const Schedule& schedule_;
  const Target& target_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  Value* buffers_ = nullptr;
  Value* params_ = nullptr;
  Value* col_begin_ = nullptr;
  Value* col_end_ = nullptr;
  Value* status_ = nullptr;  // i64 on the stack; null if nothing in the body can fail
  AxisMask loop_axes_ = 0;   // values that vary over these are computed in the vector loop
  int last_stage_ = 0;
  std::vector<Port> ports_;
  std::vector<Value*> row_extents_;  // [0] unused
  Value* folded_extent_ = nullptr;
  std::vector<Value*> scalar_;    // per nest value, outside the vector loop
  std::vector<Value*> splat_;     // the same, broadcast to a vector in front of the loop
  std::vector<Value*> vector_;    // per nest value, inside
  std::vector<Value*> spill_;     // passes: per nest value, its block in L1 or null
  std::vector<Value*> kept_;      // Rows: per nest value, its row in L1 or null
  std::vector<bool> kept_ready_;  // the row has been written: later stages read it
  std::vector<int> fold_of_;      // Columns: per nest value, its fold or -1
};

}  // namespace md
