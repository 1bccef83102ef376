// The kernel function: its parameters, the loop over rows, and what a row does stage by stage.
#include <algorithm>

#include "backend/llvm/llvm_builder.h"
#include "backend/llvm/nest_emitter.h"
#include "ir/core/error.h"
#include "registry/reduction_order.h"

namespace md {

StrideKind stride_kind(Size stride) {
  if (!stride.is_const() || stride.value() < 0 || stride.value() > 2) return StrideKind::Dynamic;
  constexpr StrideKind kKnown[] = {StrideKind::Zero, StrideKind::One, StrideKind::Two};
  return kKnown[stride.value()];
}

std::vector<Size> loop_params(const LoopNest& nest, const std::vector<Loop>& rows, const Loop& folded, const Loop& cols,
                              bool folded_extent) {
  std::vector<Size> params;
  for (std::size_t i = 1; i < rows.size(); ++i) params.push_back(extent(nest, rows[i]));
  if (folded_extent) params.push_back(extent(nest, folded));
  const auto add_strides = [&](const Access& a) {
    for (const Loop& row : rows)
      if (!stride(a, row).is_const(0)) params.push_back(stride(a, row));
    if (!stride(a, folded).is_const(0)) params.push_back(stride(a, folded));
    if (stride_kind(stride(a, cols)) == StrideKind::Dynamic) params.push_back(stride(a, cols));
  };
  for (const Access& a : nest.accesses) add_strides(a);
  for (const Store& s : nest.stores) add_strides(s.to);
  for (const NestValue& v : nest.values)
    if (v.kind == NestValue::Kind::Size) params.push_back(v.size);
  return params;
}

std::vector<Size> kernel_params(const LoopNest& nest, const Schedule& schedule) {
  return loop_params(nest, schedule.rows, schedule.folded, schedule.cols, schedule.shape == Schedule::Shape::Columns);
}

void emit_kernel(llvm::Module& module, const LoopNest& nest, const Schedule& schedule, const Target& target) {
  NestEmitter(module, nest, schedule, target).run();
}

NestEmitter::NestEmitter(llvm::Module& module, const LoopNest& nest, const Schedule& schedule, const Target& target)
    : module_(module), nest_(nest), schedule_(schedule), target_(target), ir_(module.getContext()) {
  for (int a : schedule.cols.axes) loop_axes_ |= AxisMask{1} << a;
  for (int a : schedule.folded.axes) loop_axes_ |= AxisMask{1} << a;
  for (const NestValue& v : nest.values) last_stage_ = std::max(last_stage_, v.stage);
  scalar_.resize(nest.values.size());
  splat_.resize(nest.values.size());
  vector_.resize(nest.values.size());
  kept_.resize(nest.values.size());
  kept_ready_.resize(nest.values.size());
}

void NestEmitter::run() {
  create_function();
  read_params();
  emit_row_values(0, true);
  if (schedule_.rows.empty()) {
    position_rows({});
    emit_row();
  } else {
    emit_rows(function_->getArg(2), function_->getArg(3));
  }
  ir_.CreateRet(status_ ? ir_.CreateLoad(ir_.getInt64Ty(), status_) : i64(0));
}

void NestEmitter::create_function() {
  llvm::Type *ptr = ir_.getPtrTy(), *word = ir_.getInt64Ty();
  function_ = llvm::Function::Create(llvm::FunctionType::get(word, {ptr, ptr, word, word, word, word}, false),
                                     llvm::Function::ExternalLinkage, kKernelName, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("prefer-vector-width", "512");
  ir_.SetInsertPoint(block("entry"));
  buffers_ = function_->getArg(0);
  params_ = function_->getArg(1);
  col_begin_ = function_->getArg(4);
  col_end_ = function_->getArg(5);
  const bool can_fail = std::any_of(nest_.values.begin(), nest_.values.end(), [](const NestValue& v) {
    return v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail;
  });
  if (can_fail) {
    status_ = stack(ir_.getInt64Ty(), 1);
    ir_.CreateStore(i64(0), status_);
  }
}

// Reads `params` in the order of kernel_params.
void NestEmitter::read_params() {
  int next = 0;
  const auto read = [&] {
    return ir_.CreateLoad(ir_.getInt64Ty(), ir_.CreateConstGEP1_64(ir_.getInt64Ty(), params_, next++));
  };
  row_extents_.resize(schedule_.rows.size());
  for (std::size_t i = 1; i < schedule_.rows.size(); ++i) row_extents_[i] = read();
  if (schedule_.shape == Schedule::Shape::Columns) folded_extent_ = read();
  const auto add_port = [&](const Access& a, bool store) {
    Port p{.access = &a, .store = store};
    p.base = ir_.CreateLoad(ir_.getPtrTy(), ir_.CreateConstGEP1_64(ir_.getPtrTy(), buffers_, a.buffer));
    for (const Loop& row : schedule_.rows) p.row_strides.push_back(stride(a, row).is_const(0) ? nullptr : read());
    if (!stride(a, schedule_.folded).is_const(0)) p.folded_stride = read();
    p.col = stride_kind(stride(a, schedule_.cols));
    if (p.col == StrideKind::Dynamic) p.col_stride = read();
    if (p.col == StrideKind::Two) p.col_stride = i64(2);
    ports_.push_back(p);
  };
  for (const Access& a : nest_.accesses) add_port(a, false);
  for (const Store& s : nest_.stores) add_port(s.to, true);
  for (std::size_t i = 0; i < nest_.values.size(); ++i)
    if (nest_.values[i].kind == NestValue::Kind::Size) scalar_[i] = read();
}

// The rows with linear numbers from `begin` to `end`. Their indices are counted up: dividing each number would take
// longer than a short row does.
void NestEmitter::emit_rows(Value* begin, Value* end) {
  const std::size_t rank = schedule_.rows.size();
  llvm::BasicBlock *before = block("first_row"), *inside = block("row"), *after = block("rows_end");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), before, after);
  ir_.SetInsertPoint(before);
  std::vector<Value*> first(rank);
  Value* rest = begin;
  for (std::size_t i = rank; i-- > 1;) {
    first[i] = ir_.CreateURem(rest, row_extents_[i]);
    rest = ir_.CreateUDiv(rest, row_extents_[i]);
  }
  first[0] = rest;
  ir_.CreateBr(inside);
  ir_.SetInsertPoint(inside);
  const auto counter = [&](Value* from) {
    auto* node = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    node->addIncoming(from, before);
    return node;
  };
  llvm::PHINode* row = counter(begin);
  std::vector<llvm::PHINode*> index;
  for (Value* i : first) index.push_back(counter(i));
  position_rows({index.begin(), index.end()});
  emit_row();

  std::vector<Value*> next(rank);
  Value* carry = i64(1);
  for (std::size_t i = rank; i-- > 0;) {
    next[i] = ir_.CreateAdd(index[i], carry);
    if (i == 0) break;
    Value* full = ir_.CreateICmpEQ(next[i], row_extents_[i]);
    next[i] = ir_.CreateSelect(full, i64(0), next[i]);
    carry = ir_.CreateZExt(full, ir_.getInt64Ty());
  }
  Value* next_row = ir_.CreateAdd(row, i64(1));
  for (std::size_t i = 0; i < rank; ++i) index[i]->addIncoming(next[i], ir_.GetInsertBlock());
  row->addIncoming(next_row, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpSLT(next_row, end), inside, after);
  ir_.SetInsertPoint(after);
}

// Points every port at the row with these indices.
void NestEmitter::position_rows(const std::vector<Value*>& index) {
  for (Port& p : ports_) {
    p.row = p.base;
    for (std::size_t i = 0; i < index.size(); ++i)
      if (p.row_strides[i]) p.row = element_at(p.access->dtype, p.row, ir_.CreateMul(index[i], p.row_strides[i]));
  }
}

void NestEmitter::emit_row() {
  if (schedule_.shape == Schedule::Shape::Columns) {
    emit_row_values(0, false);
    emit_columns();
    emit_row_stores();
    return;
  }
  for (int stage = 0; stage <= last_stage_; ++stage) {
    emit_row_values(stage, false);
    emit_stage(stage);
  }
  emit_row_stores();
}

// Values that do not vary along the columns: once per kernel if they depend on nothing, else once per row.
void NestEmitter::emit_row_values(int stage, bool whole_kernel) {
  for (std::size_t i = 0; i < nest_.values.size(); ++i) {
    const NestValue& v = nest_.values[i];
    const bool once = v.axes == 0 && v.stage == 0;
    if (in_loop(v) || v.stage != stage || once != whole_kernel) continue;
    if (v.kind == NestValue::Kind::Constant || v.kind == NestValue::Kind::Size || v.kind == NestValue::Kind::Reduce)
      continue;
    if (v.kind == NestValue::Kind::Load) {
      const Port& p = ports_[static_cast<std::size_t>(v.access)];
      scalar_[i] = emit_load(at(1), v.dtype, whole_kernel ? p.base : p.row, nullptr);
    } else {
      scalar_[i] = compute(v, 1, nullptr, [&](int a) { return operand(a, 1); });
    }
  }
}

void NestEmitter::emit_row_stores() {
  for (std::size_t i = 0; i < nest_.stores.size(); ++i) {
    const Store& s = nest_.stores[i];
    if (in_loop(nest_.values[static_cast<std::size_t>(s.value)])) continue;
    const Port& p = ports_[static_cast<std::size_t>(port_of_store(static_cast<int>(i)))];
    if (p.col == StrideKind::Zero) {
      emit_store(at(1), s.to.dtype, operand(s.value, 1), p.row, nullptr);
      continue;
    }
    // A value that is the same in every column, written to all of them.
    Strip strip{.ports = {port_of_store(static_cast<int>(i))},
                .start = col_begin_,
                .count = ir_.CreateSub(col_end_, col_begin_)};
    make_splats({s.value});
    strip.body = [&](const VectorStep& step, std::vector<Value*>&) {
      emit_store(at(schedule_.lanes), s.to.dtype, operand(s.value, schedule_.lanes), step.pointers[0], step.strides[0]);
    };
    emit_strip(strip);
  }
}

void NestEmitter::emit_stage(int stage) {
  const auto [reduces, stores, roots] = work_of_stage(nest_, stage, loop_axes_);
  if (roots.empty()) return;
  const std::vector<int> values = needed_in_loop(roots);
  make_splats(values);
  make_splats(roots);
  emit_walk(reduces, stores, values);
  for (int v : values)
    if (is_kept(v)) kept_ready_[static_cast<std::size_t>(v)] = true;
}

// One walk along the columns.
void NestEmitter::emit_walk(const std::vector<int>& reduces, const std::vector<int>& stores,
                            const std::vector<int>& values) {
  if (!reduces.empty()) {
    emit_reduction_stage(reduces, stores, values);
    return;
  }
  if (!schedule_.pass.empty()) {
    emit_passes(values, stores);
    return;
  }
  Strip strip{.ports = ports_of(values, stores),
              .start = col_begin_,
              .count = ir_.CreateSub(col_end_, col_begin_),
              .masks = status_ != nullptr};
  strip.body = [&](const VectorStep& step, std::vector<Value*>&) {
    emit_loop_values(values, strip, step);
    emit_loop_stores(stores, strip, step);
  };
  emit_strip(strip);
}

// The values inside the vector loop that `roots` depend on, in order.
std::vector<int> NestEmitter::needed_in_loop(const std::vector<int>& roots) const {
  std::vector<char> needed(nest_.values.size());
  for (int r : roots) needed[static_cast<std::size_t>(r)] = 1;
  std::vector<int> result;
  for (std::size_t i = nest_.values.size(); i-- > 0;) {
    if (!needed[i] || !in_loop(nest_.values[i])) continue;
    if (nest_.values[i].kind == NestValue::Kind::Reduce) continue;
    result.push_back(static_cast<int>(i));
    if (kept_ready_[i]) continue;
    for (int a : nest_.values[i].args) needed[static_cast<std::size_t>(a)] = 1;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<int> NestEmitter::ports_of(const std::vector<int>& values, const std::vector<int>& stores) const {
  std::vector<int> ports;
  for (int i : values) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(i)];
    if (v.kind == NestValue::Kind::Load && std::find(ports.begin(), ports.end(), v.access) == ports.end())
      ports.push_back(v.access);
  }
  for (int s : stores) ports.push_back(port_of_store(s));
  return ports;
}

// Broadcasts what the loop takes from outside, in front of the loop.
void NestEmitter::make_splats(const std::vector<int>& values) {
  if (schedule_.lanes == 1) return;
  const auto splat = [&](int i) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(i)];
    if (in_loop(v) || v.kind == NestValue::Kind::Constant) return;
    splat_[static_cast<std::size_t>(i)] =
        ir_.CreateVectorSplat(static_cast<unsigned>(schedule_.lanes), scalar_[static_cast<std::size_t>(i)]);
  };
  for (int i : values) {
    splat(i);
    for (int a : nest_.values[static_cast<std::size_t>(i)].args)
      if (in_loop(nest_.values[static_cast<std::size_t>(i)])) splat(a);
  }
}

NestEmitter::Value* NestEmitter::operand(int value, int lanes) {
  const auto i = static_cast<std::size_t>(value);
  const NestValue& v = nest_.values[i];
  if (v.kind == NestValue::Kind::Constant) return emit_constant(at(lanes), v);
  if (in_loop(v)) return vector_[i];
  return lanes == 1 ? scalar_[i] : splat_[i];
}

NestEmitter::Value* NestEmitter::compute(const NestValue& v, int lanes, Value* mask,
                                         const std::function<Value*(int)>& operand) {
  if (v.kind == NestValue::Kind::Convert) {
    const NestValue& from = nest_.values[static_cast<std::size_t>(v.args[0])];
    return emit_convert(at(lanes), operand(v.args[0]), from.dtype, v.dtype);
  }
  SmallVector<Value*, 4> args;
  for (int a : v.args) args.push_back(operand(a));
  Value* failed = nullptr;
  Value* result = emit_compute(at(lanes), v, {args.data(), args.size()}, &failed);
  if (failed) note_failure(failed, mask);
  return result;
}

void NestEmitter::note_failure(Value* failed, Value* mask) {
  if (mask) failed = ir_.CreateAnd(failed, mask);
  if (failed->getType()->isVectorTy()) failed = ir_.CreateOrReduce(failed);
  Value* old = ir_.CreateLoad(ir_.getInt64Ty(), status_);
  ir_.CreateStore(ir_.CreateOr(old, ir_.CreateZExt(failed, ir_.getInt64Ty())), status_);
}

void NestEmitter::emit_loop_values(const std::vector<int>& values, const Strip& strip, const VectorStep& step) {
  for (int i : values) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(i)];
    Value*& result = vector_[static_cast<std::size_t>(i)];
    if (kept_ready_[static_cast<std::size_t>(i)]) {
      result = emit_load(at(schedule_.lanes), v.dtype, kept_element(i, step), nullptr);
      continue;
    }
    if (v.kind == NestValue::Kind::Load) {
      const auto port =
          static_cast<std::size_t>(std::find(strip.ports.begin(), strip.ports.end(), v.access) - strip.ports.begin());
      result = load_column(strip.ports[port], v.dtype, step.pointers[port], step.strides[port]);
    } else {
      result = compute(v, schedule_.lanes, step.mask, [&](int a) { return operand(a, schedule_.lanes); });
    }
    if (is_kept(i)) emit_store(at(schedule_.lanes), v.dtype, result, kept_element(i, step), nullptr);
  }
}

// Where this vector of a kept value lies.
NestEmitter::Value* NestEmitter::kept_element(int value, const VectorStep& step) {
  const DType t = nest_.values[static_cast<std::size_t>(value)].dtype;
  Value*& row = kept_[static_cast<std::size_t>(value)];
  if (!row) {
    // A reduction's last step may reach beyond the row.
    const std::int64_t columns = extent(nest_, schedule_.cols).value() + kInnerLanes;
    row = stack(element_of(t), static_cast<int>(columns));
  }
  return element_at(t, row, step.position);
}

void NestEmitter::emit_loop_stores(const std::vector<int>& stores, const Strip& strip, const VectorStep& step) {
  for (int s : stores) {
    const Store& store = nest_.stores[static_cast<std::size_t>(s)];
    const auto port = static_cast<std::size_t>(std::find(strip.ports.begin(), strip.ports.end(), port_of_store(s)) -
                                               strip.ports.begin());
    Value* v = operand(store.value, schedule_.lanes);
    const auto paired = [&](int other) { return std::ranges::find(stores, other) != stores.end(); };
    if (store.second_of_pair && paired(s - 1) && in_pairs(s)) continue;  // stored with the first
    if (is_first_of_pair(s) && paired(s + 1) && in_pairs(s + 1)) {
      Value* second = operand(nest_.stores[static_cast<std::size_t>(s + 1)].value, schedule_.lanes);
      emit_store_pairs(at(schedule_.lanes), store.to.dtype, v, second, step.pointers[port]);
      continue;
    }
    if (ports_[static_cast<std::size_t>(strip.ports[port])].col == StrideKind::Zero) {
      if (schedule_.lanes > 1) v = ir_.CreateExtractElement(v, std::uint64_t{0});
      emit_store(at(1), store.to.dtype, v, step.pointers[port], nullptr);
    } else {
      emit_store(at(schedule_.lanes), store.to.dtype, v, step.pointers[port], step.strides[port]);
    }
  }
}

NestEmitter::Value* NestEmitter::load_column(int port, DType t, Value* pointer, Value* stride) {
  if (ports_[static_cast<std::size_t>(port)].col != StrideKind::Zero || schedule_.lanes == 1)
    return emit_load(at(schedule_.lanes), t, pointer, stride);
  return ir_.CreateVectorSplat(static_cast<unsigned>(schedule_.lanes), emit_load(at(1), t, pointer, nullptr));
}

llvm::AllocaInst* NestEmitter::stack(llvm::Type* type, int count) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* memory = at_entry.CreateAlloca(llvm::ArrayType::get(type, static_cast<std::uint64_t>(count)));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

llvm::Type* NestEmitter::element_of(DType t) { return element_type(ir_.getContext(), t); }

void NestEmitter::loop(Value* begin, Value* end, std::int64_t step, bool once,
                       const std::function<void(Value*)>& body) {
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *inside = block("loop"), *after = block("after");
  if (once)
    ir_.CreateBr(inside);
  else
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), inside, after);
  ir_.SetInsertPoint(inside);
  auto* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  Value* next = ir_.CreateAdd(i, i64(step));
  i->addIncoming(next, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), inside, after);
  ir_.SetInsertPoint(after);
}

}  // namespace md
