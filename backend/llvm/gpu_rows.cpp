// Folds along the columns: the threads of a row hold the lanes of a chunk between them, teams of threads fold chunks
// side by side. The order is that of emit_reduce.cpp.
#include "backend/llvm/fold_tree.h"
#include "backend/llvm/gpu_emitter.h"
#include "backend/llvm/llvm_builder.h"
#include "registry/reduction_order.h"

namespace md {

namespace {
constexpr int kGpuTreeLevels = 40;
}

void GpuEmitter::emit_rows() {
  Value* row = wide(gpu_.block(0));
  begin_ = i64(0), end_ = cols_;
  if (schedule_.y > 1) {
    // Threads without a row walk none, but are there where values are exchanged.
    row = ir_.CreateAdd(ir_.CreateMul(row, i64(schedule_.y)), wide(y_));
    row_exists_ = ir_.CreateICmpSLT(row, rows_);
    end_ = ir_.CreateSelect(row_exists_, cols_, i64(0));
  }
  Value* part = nullptr;
  if (schedule_.part) {
    part = wide(gpu_.block(1));
    begin_ = ir_.CreateMul(part, i64(schedule_.part));
    end_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, cols_, ir_.CreateAdd(begin_, i64(schedule_.part)));
  }
  position_rows(row);
  for (std::size_t s = 0; s < schedule_.of_part.size(); ++s)
    if (Port& port = port_of_store(static_cast<int>(s)); schedule_.of_part[s])
      port.row = element_at(port.access->dtype, port.row, part);
  for (int stage = 0; stage <= last_stage_; ++stage) {
    emit_row_values(stage);
    emit_stage(stage);
  }
  for (std::size_t i = 0; i < nest_.stores.size(); ++i) {
    const Store& s = nest_.stores[i];
    if (in_loop(nest_.values[static_cast<std::size_t>(s.value)])) continue;
    const std::vector<int> one = {static_cast<int>(i)};
    if (port_of_store(one[0]).col == StrideKind::Zero) {
      Value* first = ir_.CreateICmpEQ(x_, i32(0));
      if (row_exists_) first = ir_.CreateAnd(first, row_exists_);
      emit_stores(one, i64(0), 1, first);
    } else {  // the same in every column
      walk([&](Value* col) { emit_stores(one, col, 1, nullptr); });
    }
  }
}

void GpuEmitter::emit_stage(int stage) {
  const auto [reduces, stores, roots] = work_of_stage(nest_, stage, loop_axes_);
  if (roots.empty()) return;
  const std::vector<int> values = needed(roots);
  if (reduces.empty()) {
    walk([&](Value* col) {
      emit_values(values, col, 1);
      emit_stores(stores, col, 1, nullptr);
    });
  } else {
    emit_reductions(reduces, stores, values);
  }
  for (int v : values)
    if (is_kept(v)) kept_ready_[static_cast<std::size_t>(v)] = true;
}

// Every column of the row by the thread that folds it.
void GpuEmitter::walk(const std::function<void(Value*)>& body) {
  std::vector<Value*> none;
  Value* lane = wide(ir_.CreateAnd(x_, i32(schedule_.team() - 1)));
  const auto columns = [&](Value* from, Value* to) {
    loop(ir_.CreateAdd(from, lane), to, i64(schedule_.team()), none,
         [&](Value* col, std::vector<Value*>&) { body(col); });
  };
  if (schedule_.teams() == 1) return columns(begin_, end_);
  Value* team = wide(ir_.CreateLShr(x_, i32(5)));
  Value* first = ir_.CreateAdd(begin_, ir_.CreateMul(team, i64(schedule_.chunk)));
  loop(first, end_, i64(schedule_.chunk * schedule_.teams()), none, [&](Value* start, std::vector<Value*>&) {
    columns(start, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end_, ir_.CreateAdd(start, i64(schedule_.chunk))));
  });
}

// Leaves the result of each fold in scalar_, for all threads of the row.
void GpuEmitter::emit_reductions(const std::vector<int>& reduces, const std::vector<int>& stores,
                                 const std::vector<int>& values) {
  const auto reduce_at = [&](std::size_t i) -> const NestValue& {
    return nest_.values[static_cast<std::size_t>(reduces[i])];
  };
  const int teams = schedule_.teams();
  const std::int64_t each = schedule_.chunk == 1 ? kSegmentThreads : schedule_.chunk * teams;
  Value* team = teams > 1 ? wide(ir_.CreateLShr(x_, i32(5))) : nullptr;
  // The fold of `each` columns from `start` on.
  const auto fold = [&](Value* start) {
    std::vector<Value*> results;
    if (schedule_.chunk == 1) {
      results = fold_chunk_value(reduces, stores, values, start);
    } else {
      if (team) start = ir_.CreateAdd(start, ir_.CreateMul(team, i64(schedule_.chunk)));
      results = fold_chunk(reduces, stores, values, start);
    }
    for (std::size_t i = 0; i < reduces.size(); ++i)
      results[i] = teams > 1 ? join_teams(reduce_at(i), results[i]) : gpu_.from_first(results[i], schedule_.team());
    return results;
  };
  std::vector<Value*> results;
  const Size count = extent(nest_, schedule_.cols);
  several_groups_ =
      !schedule_.one_chunk && (schedule_.part || !count.is_const() || count.value() == 0 || count.value() > each);
  if (!several_groups_) {
    results = fold(begin_);
  } else {
    std::vector<Value*> trees;
    for (std::size_t i = 0; i < reduces.size(); ++i)
      trees.push_back(stack(register_type(ir_.getContext(), reduce_at(i).dtype, 1), kGpuTreeLevels));
    Value* columns = ir_.CreateSub(end_, begin_);
    Value* groups = ir_.CreateUDiv(ir_.CreateAdd(columns, i64(each - 1)), i64(each));
    groups = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, groups, i64(1));
    std::vector<Value*> none;
    loop(i64(0), groups, i64(1), none, [&](Value* group, std::vector<Value*>&) {
      const std::vector<Value*> folded = fold(ir_.CreateAdd(begin_, ir_.CreateMul(group, i64(each))));
      for (std::size_t i = 0; i < reduces.size(); ++i) push_into_tree(at(1), reduce_at(i), trees[i], folded[i], group);
    });
    for (std::size_t i = 0; i < reduces.size(); ++i) {
      Value* result = result_of_tree(at(1), reduce_at(i), trees[i], groups);
      if (is_floating(reduce_at(i).dtype))
        result = ir_.CreateSelect(ir_.CreateICmpEQ(columns, i64(0)), result_of_nothing(at(1), reduce_at(i)), result);
      results.push_back(result);
    }
  }
  for (std::size_t i = 0; i < reduces.size(); ++i) scalar_[static_cast<std::size_t>(reduces[i])] = results[i];
}

// One chunk, by one team: element k goes to lane k mod fold_lanes, which is the thread with that number modulo the
// team's size. The result is the first thread's.
std::vector<llvm::Value*> GpuEmitter::fold_chunk(const std::vector<int>& reduces, const std::vector<int>& stores,
                                                 const std::vector<int>& values, Value* start) {
  const int team = schedule_.team(), slots = schedule_.fold_lanes / team;
  std::vector<Value*> carried;
  for (int r : reduces)
    for (int slot = 0; slot < slots; ++slot)
      carried.push_back(emit_identity(at(1), nest_.values[static_cast<std::size_t>(r)]));
  Value* end = schedule_.one_chunk
                   ? end_
                   : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end_, ir_.CreateAdd(start, i64(schedule_.chunk)));
  Value* first = ir_.CreateAdd(start, wide(ir_.CreateAnd(x_, i32(team - 1))));
  const auto fold_slot = [&](Value* col, int slot, std::vector<Value*>& now) {
    emit_values(values, col, 1);
    emit_stores(stores, col, 1, nullptr);
    for (std::size_t i = 0; i < reduces.size(); ++i) {
      const NestValue& reduce = nest_.values[static_cast<std::size_t>(reduces[i])];
      Value*& old = now[i * static_cast<std::size_t>(slots) + static_cast<std::size_t>(slot)];
      old = emit_combine(at(1), reduce, old, operand(reduce.args[0], 1));
    }
  };
  fold_rounds(first, end, team, slots, carried, fold_slot);
  std::vector<Value*> results;
  for (std::size_t i = 0; i < reduces.size(); ++i) {
    const auto from = carried.begin() + static_cast<std::ptrdiff_t>(i) * slots;
    results.push_back(halve(nest_.values[static_cast<std::size_t>(reduces[i])], {from, from + slots}));
  }
  return results;
}

// Elements from `first` on, `team` apart, each into the next slot. Several rounds are folded at a time while there are
// as many, so that their loads are under way together.
void GpuEmitter::fold_rounds(Value* first, Value* end, int team, int slots, std::vector<Value*>& carried,
                             const std::function<void(Value*, int, std::vector<Value*>&)>& fold_slot) {
  const int round = team * slots, times = schedule_.unroll;
  if (schedule_.rounds) {
    carried.push_back(first);
    Value* last = ir_.CreateSub(end, i64((times * slots - 1) * team));
    loop(first, last, i64(times * round), carried, [&](Value* k, std::vector<Value*>& now) {
      for (int i = 0; i < times * slots; ++i) fold_slot(ir_.CreateAdd(k, i64(i * team)), i % slots, now);
      now.back() = ir_.CreateAdd(k, i64(times * round));
    });
    first = carried.back();
    carried.pop_back();
  }
  if (!schedule_.rest) return;
  loop(first, end, i64(round), carried, [&](Value* k, std::vector<Value*>& now) {
    fold_slot(k, 0, now);
    for (int slot = 1; slot < slots; ++slot) {
      Value* next = ir_.CreateAdd(k, i64(slot * team));
      when_carrying(ir_.CreateICmpSLT(next, end), now, [&](std::vector<Value*>& then) { fold_slot(next, slot, then); });
    }
  });
}

// Where the elements are chunks, folded already: a segment's worth of them, a binary tree by index.
std::vector<llvm::Value*> GpuEmitter::fold_chunk_value(const std::vector<int>& reduces, const std::vector<int>& stores,
                                                       const std::vector<int>& values, Value* start) {
  std::vector<Value*> results, none;
  for (int r : reduces) results.push_back(emit_identity(at(1), nest_.values[static_cast<std::size_t>(r)]));
  Value* col = ir_.CreateAdd(start, wide(x_));
  loop(col, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end_, ir_.CreateAdd(start, i64(kSegmentThreads))),
       i64(kSegmentThreads), results, [&](Value* here, std::vector<Value*>& now) {
         emit_values(values, here, 1);
         emit_stores(stores, here, 1, nullptr);
         for (std::size_t i = 0; i < reduces.size(); ++i)
           now[i] = operand(nest_.values[static_cast<std::size_t>(reduces[i])].args[0], 1);
       });
  for (std::size_t i = 0; i < reduces.size(); ++i)
    results[i] = join_neighbours(nest_.values[static_cast<std::size_t>(reduces[i])], results[i], kSegmentThreads);
  return results;
}

// Lane i with lane i + 32, then 16, ... 1: first those of one thread, then those of two.
llvm::Value* GpuEmitter::halve(const NestValue& reduce, std::vector<Value*> lanes) {
  Value* v = halve_slots(reduce, std::move(lanes));
  for (int distance = schedule_.team() / 2; distance > 0; distance /= 2)
    v = emit_combine(at(1), reduce, v, gpu_.from_later(v, distance, schedule_.team()));
  return v;
}

llvm::Value* GpuEmitter::halve_slots(const NestValue& reduce, std::vector<Value*> lanes) {
  while (lanes.size() > 1) {
    const std::size_t half = lanes.size() / 2;
    for (std::size_t i = 0; i < half; ++i) lanes[i] = emit_combine(at(1), reduce, lanes[i], lanes[i + half]);
    lanes.resize(half);
  }
  return lanes[0];
}

// The tree over `count` neighbouring threads; those without a result hold the identity, which changes nothing.
llvm::Value* GpuEmitter::join_neighbours(const NestValue& reduce, Value* v, int count) {
  for (int distance = 1; distance < count; distance *= 2)
    v = emit_combine(at(1), reduce, v, gpu_.from_later(v, distance, count));
  return v;
}

// The tree over the teams' results, for all threads.
llvm::Value* GpuEmitter::join_teams(const NestValue& reduce, Value* v) {
  const int teams = schedule_.teams();
  llvm::Type* const type = element_of(reduce.dtype);
  Value* memory = shared(type, teams, "teams");
  Value* lane = ir_.CreateAnd(x_, i32(kSegmentThreads - 1));
  when(ir_.CreateICmpEQ(lane, i32(0)),
       [&] { emit_store(at(1), reduce.dtype, v, ir_.CreateGEP(type, memory, ir_.CreateLShr(x_, i32(5))), nullptr); });
  gpu_.barrier();
  Value* other =
      emit_load(at(1), reduce.dtype, ir_.CreateGEP(type, memory, ir_.CreateAnd(lane, i32(teams - 1))), nullptr);
  if (several_groups_) gpu_.barrier();  // before the next ones are put there
  return gpu_.from_first(join_neighbours(reduce, other, teams), teams);
}

// Where this thread's element of a kept value lies.
llvm::Value* GpuEmitter::kept_element(int value, Value* col) {
  const DType t = nest_.values[static_cast<std::size_t>(value)].dtype;
  Value*& memory = kept_[static_cast<std::size_t>(value)];
  if (schedule_.shape == GpuSchedule::Shape::Columns) {
    const std::int64_t elements = extent(nest_, schedule_.folded).value();
    if (!memory) memory = shared(element_of(t), elements * schedule_.x, "column");
    return element_at(t, memory, ir_.CreateAdd(ir_.CreateMul(folded_element_, i64(schedule_.x)), wide(x_)));
  }
  const std::int64_t columns = extent(nest_, schedule_.cols).value();
  if (!memory) memory = shared(element_of(t), columns * schedule_.y, "row");
  Value* at_row = schedule_.y > 1 ? ir_.CreateAdd(ir_.CreateMul(wide(y_), i64(columns)), col) : col;
  return element_at(t, memory, at_row);
}

}  // namespace md
