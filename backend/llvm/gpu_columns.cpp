// Folds that keep the innermost axis: neighbouring threads have neighbouring columns, and several threads share the
// folded axis of a column, each a lane of a chunk.
#include "backend/llvm/fold_tree.h"
#include "backend/llvm/gpu_emitter.h"
#include "backend/llvm/llvm_builder.h"
#include "registry/reduction_order.h"

namespace md {

namespace {
constexpr int kColumnTreeLevels = 40;
}

// What one fold needs of the block's memory: a value for each thread.
struct GpuEmitter::Fold {
  int value;
  const NestValue* reduce;
  llvm::GlobalVariable* memory;
};

void GpuEmitter::emit_columns() {
  // Blocks with neighbouring numbers have neighbouring columns of one row.
  Value* tiles = ir_.CreateUDiv(ir_.CreateAdd(cols_, i64(schedule_.x - 1)), i64(schedule_.x));
  Value *number = wide(gpu_.block(0)), *tile = ir_.CreateURem(number, tiles);
  position_rows(ir_.CreateUDiv(number, tiles));
  Value* column = ir_.CreateAdd(ir_.CreateMul(tile, i64(schedule_.x)), wide(x_));
  row_exists_ = ir_.CreateICmpSLT(column, cols_);
  begin_ = i64(0), end_ = folded_extent_;
  if (schedule_.part) position_part();
  // Threads without a column walk nothing.
  walked_end_ = ir_.CreateSelect(row_exists_, end_, begin_);
  emit_row_values(0);

  if (schedule_.again) return emit_column_stages(column);
  std::vector<int> reduces, roots, stores;
  for (std::size_t i = 0; i < nest_.values.size(); ++i) {
    const NestValue& v = nest_.values[i];
    if (v.kind == NestValue::Kind::Reduce) reduces.push_back(static_cast<int>(i)), roots.push_back(v.args[0]);
  }
  for (std::size_t i = 0; i < nest_.stores.size(); ++i) {
    const int value = nest_.stores[i].value;
    if (!(nest_.values[static_cast<std::size_t>(value)].axes & nest_.reduced)) continue;
    roots.push_back(value), stores.push_back(static_cast<int>(i));
  }
  const std::vector<Fold> folds = folds_of(reduces);
  note_results(folds, fold_groups(folds, needed(roots), stores, column));
  emit_results(column);
}

std::vector<GpuEmitter::Fold> GpuEmitter::folds_of(const std::vector<int>& reduces) {
  std::vector<Fold> folds;
  for (int i : reduces) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(i)];
    folds.push_back({i, &v, shared(element_of(v.dtype), schedule_.x * schedule_.y, "lanes")});
  }
  return folds;
}

// All of the column, as many chunks at a time as there are teams.
std::vector<llvm::Value*> GpuEmitter::fold_groups(const std::vector<Fold>& folds, const std::vector<int>& values,
                                                  const std::vector<int>& stores, Value* column) {
  const auto fold = [&](Value* group) { return fold_columns(folds, values, stores, column, group); };
  several_groups_ = !schedule_.one_chunk;
  if (!several_groups_) return fold(i64(0));
  std::vector<Value*> trees, results, none;
  for (const Fold& f : folds)
    trees.push_back(stack(register_type(ir_.getContext(), f.reduce->dtype, 1), kColumnTreeLevels));
  const std::int64_t each = schedule_.chunk * (schedule_.y / schedule_.lane_threads());
  Value* elements = ir_.CreateSub(end_, begin_);
  Value* groups = ir_.CreateUDiv(ir_.CreateAdd(elements, i64(each - 1)), i64(each));
  groups = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, groups, i64(1));
  loop(i64(0), groups, i64(1), none, [&](Value* group, std::vector<Value*>&) {
    const std::vector<Value*> folded = fold(group);
    for (std::size_t i = 0; i < folds.size(); ++i) push_into_tree(at(1), *folds[i].reduce, trees[i], folded[i], group);
  });
  for (std::size_t i = 0; i < folds.size(); ++i) {
    Value* result = result_of_tree(at(1), *folds[i].reduce, trees[i], groups);
    if (is_floating(folds[i].reduce->dtype))
      result = ir_.CreateSelect(ir_.CreateICmpEQ(elements, i64(0)), result_of_nothing(at(1), *folds[i].reduce), result);
    results.push_back(result);
  }
  return results;
}

// A walk of the column for each stage: what it folds, or stores of what earlier ones have folded. An element is always
// the same thread's, which finds there what it has kept.
void GpuEmitter::emit_column_stages(Value* column) {
  for (int stage = 0; stage <= last_stage_; ++stage) {
    if (stage > 0) emit_row_values(stage);
    const auto [reduces, stores, roots] = work_of_stage(nest_, stage, nest_.reduced);
    if (roots.empty()) continue;
    const std::vector<int> values = needed(roots);
    if (!reduces.empty()) {
      const std::vector<Fold> folds = folds_of(reduces);
      note_results(folds, fold_groups(folds, values, stores, column));
    } else {
      const std::vector<Port> at_row = ports_;
      std::vector<Value*> none;
      loop(ir_.CreateAdd(begin_, wide(y_)), walked_end_, i64(schedule_.y), none, [&](Value* k, std::vector<Value*>&) {
        move_to(k, at_row);
        emit_values(values, column, 1);
        emit_stores(stores, column, 1, nullptr);
      });
      ports_ = at_row;
    }
    for (int v : values)
      if (is_kept(v)) kept_ready_[static_cast<std::size_t>(v)] = true;
  }
  emit_results(column);
}

// Tensors from where they are in the column to one of its elements.
void GpuEmitter::move_to(Value* folded, const std::vector<Port>& at_row) {
  folded_element_ = folded;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (ports_[i].folded_stride)
      ports_[i].row =
          element_at(ports_[i].access->dtype, at_row[i].row, ir_.CreateMul(folded, ports_[i].folded_stride));
}

// The block's own elements of the folded axis, and its place in what is of one element for each part: those of all
// columns follow each other.
void GpuEmitter::position_part() {
  Value* part = wide(gpu_.block(1));
  begin_ = ir_.CreateMul(part, i64(schedule_.part));
  end_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, folded_extent_, ir_.CreateAdd(begin_, i64(schedule_.part)));
  Value* before = ir_.CreateMul(part, ir_.CreateMul(rows_, cols_));
  for (std::size_t s = 0; s < schedule_.of_part.size(); ++s)
    if (Port& port = port_of_store(static_cast<int>(s)); schedule_.of_part[s])
      port.row = element_at(port.access->dtype, port.row, before);
}

// The next chunks, one for each team of threads; their results joined, for all threads of the column. Of a chunk's
// lanes a thread has those with its own number modulo the team's size, in `slots`.
std::vector<llvm::Value*> GpuEmitter::fold_columns(const std::vector<Fold>& folds, const std::vector<int>& values,
                                                   const std::vector<int>& stores, Value* column, Value* group) {
  const int team = schedule_.lane_threads(), slots = schedule_.slots, teams = schedule_.y / team;
  Value* lane = wide(ir_.CreateAnd(y_, i32(team - 1)));
  Value* chunk = ir_.CreateAdd(ir_.CreateMul(group, i64(teams)), wide(ir_.CreateUDiv(y_, i32(team))));
  Value* start = ir_.CreateAdd(begin_, ir_.CreateMul(chunk, i64(schedule_.chunk)));
  Value* end =
      ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, walked_end_, ir_.CreateAdd(start, i64(schedule_.chunk)));
  const std::vector<Port> at_row = ports_;
  std::vector<Value*> results;
  for (const Fold& f : folds)
    for (int slot = 0; slot < slots; ++slot) results.push_back(emit_identity(at(1), *f.reduce));
  const auto fold_slot = [&](Value* k, int slot, std::vector<Value*>& now) {
    move_to(k, at_row);
    emit_values(values, column, 1);
    emit_stores(stores, column, 1, nullptr);
    for (std::size_t i = 0; i < folds.size(); ++i) {
      Value*& old = now[i * static_cast<std::size_t>(slots) + static_cast<std::size_t>(slot)];
      old = emit_combine(at(1), *folds[i].reduce, old, operand(folds[i].reduce->args[0], 1));
    }
  };
  fold_rounds(ir_.CreateAdd(start, lane), end, team, slots, results, fold_slot);
  ports_ = at_row;
  std::vector<Value*> joined;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const auto from = results.begin() + static_cast<std::ptrdiff_t>(i) * slots;
    joined.push_back(halve_slots(*folds[i].reduce, {from, from + slots}));
  }
  if (schedule_.y > 1) join_threads(folds, joined);
  return joined;
}

// Lanes by halving, then the tree of the chunks. Every thread of a column does it: none has to be told.
void GpuEmitter::join_threads(const std::vector<Fold>& folds, std::vector<Value*>& results) {
  const auto place = [&](const Fold& f, Value* y) {
    Value* index = ir_.CreateAdd(ir_.CreateMul(y, i32(schedule_.x)), x_);
    return ir_.CreateGEP(element_of(f.reduce->dtype), f.memory, index);
  };
  for (std::size_t i = 0; i < folds.size(); ++i)
    emit_store(at(1), folds[i].reduce->dtype, results[i], place(folds[i], y_), nullptr);
  gpu_.barrier();
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const Fold& f = folds[i];
    std::vector<Value*> all;
    for (int y = 0; y < schedule_.y; ++y) all.push_back(emit_load(at(1), f.reduce->dtype, place(f, i32(y)), nullptr));
    const auto join = [&](std::size_t a, std::size_t b) { all[a] = emit_combine(at(1), *f.reduce, all[a], all[b]); };
    const auto count = all.size(), team = static_cast<std::size_t>(schedule_.lane_threads());
    for (std::size_t first = 0; first < count; first += team)
      for (std::size_t half = team / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) join(first + lane, first + lane + half);
    for (std::size_t step = team; step < count; step *= 2)
      for (std::size_t first = 0; first < count; first += 2 * step) join(first, first + step);
    results[i] = all[0];
  }
  if (several_groups_) gpu_.barrier();  // before the next ones are put there
}

void GpuEmitter::note_results(const std::vector<Fold>& folds, const std::vector<Value*>& results) {
  for (std::size_t i = 0; i < folds.size(); ++i) {
    column_[static_cast<std::size_t>(folds[i].value)] = results[i];
    scalar_[static_cast<std::size_t>(folds[i].value)] = results[i];
  }
}

// What comes after the folds: one thread of each column.
void GpuEmitter::emit_results(Value* column) {
  std::vector<int> roots, stores;
  for (std::size_t i = 0; i < nest_.stores.size(); ++i) {
    const int value = nest_.stores[i].value;
    if (nest_.values[static_cast<std::size_t>(value)].axes & nest_.reduced) continue;
    roots.push_back(value), stores.push_back(static_cast<int>(i));
  }
  Value* chosen = row_exists_;
  if (schedule_.y > 1) chosen = ir_.CreateAnd(chosen, ir_.CreateICmpEQ(y_, i32(0)));
  when(chosen, [&] {
    for (int stage = 1; stage <= last_stage_ && !schedule_.again; ++stage) emit_row_values(stage);
    emit_values(needed(roots), column, 1);
    emit_stores(stores, column, 1, nullptr);
  });
}

}  // namespace md
