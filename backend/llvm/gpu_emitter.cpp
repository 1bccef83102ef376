// The entry of a GPU kernel: its parameters, where tensors are, and the values of the body.
#include "backend/llvm/gpu_emitter.h"

#include <algorithm>

#include "backend/llvm/llvm_builder.h"
#include "ir/core/error.h"

namespace md {

std::vector<Size> gpu_params(const LoopNest& nest, const GpuSchedule& schedule) {
  return loop_params(nest, schedule.rows, schedule.folded, schedule.cols, !schedule.folded.axes.empty());
}

GpuEmitter::GpuEmitter(llvm::Module& module, const LoopNest& nest, const GpuSchedule& schedule, const Target& target)
    : module_(module), nest_(nest), schedule_(schedule), target_(target), ir_(module.getContext()), gpu_(ir_, target) {
  for (int a : schedule.cols.axes) loop_axes_ |= AxisMask{1} << a;
  for (int a : schedule.folded.axes) loop_axes_ |= AxisMask{1} << a;
  for (const NestValue& v : nest.values) last_stage_ = std::max(last_stage_, v.stage);
  scalar_.resize(nest.values.size());
  column_.resize(nest.values.size());
  kept_.resize(nest.values.size());
  kept_ready_.resize(nest.values.size());
}

void GpuEmitter::run(const std::string& entry) {
  create_function(entry);
  read_params();
  x_ = gpu_.thread(0);
  y_ = schedule_.y > 1 ? gpu_.thread(1) : i32(0);
  switch (schedule_.shape) {
    case GpuSchedule::Shape::Elements:
      emit_elements();
      break;
    case GpuSchedule::Shape::Tiles:
      emit_tiles();
      break;
    case GpuSchedule::Shape::Rows:
      emit_rows();
      break;
    case GpuSchedule::Shape::Columns:
      emit_columns();
      break;
  }
  ir_.CreateRetVoid();
}

void GpuEmitter::create_function(const std::string& entry) {
  llvm::Type* const word = ir_.getInt64Ty();
  std::vector<llvm::Type*> types(static_cast<std::size_t>(nest_.buffers), ir_.getPtrTy(kGlobalSpace));
  for (const Access& a : nest_.accesses)
    if (a.by_value) types[static_cast<std::size_t>(a.buffer)] = word;
  types.resize(types.size() + gpu_params(nest_, schedule_).size() + 2, word);
  types.push_back(ir_.getPtrTy(kGlobalSpace));
  function_ = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false),
                                     llvm::Function::ExternalLinkage, entry, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  gpu_.mark_entry(*function_, schedule_.x, schedule_.y);
  ir_.SetInsertPoint(block("entry"));
}

// In the order of gpu_params.
void GpuEmitter::read_params() {
  auto next = static_cast<unsigned>(nest_.buffers);
  const auto read = [&] { return function_->getArg(next++); };
  row_extents_.resize(schedule_.rows.size());
  for (std::size_t i = 1; i < schedule_.rows.size(); ++i) row_extents_[i] = read();
  folded_extent_ = schedule_.folded.axes.empty() ? i64(1) : read();
  const auto add_port = [&](const Access& a) {
    Port p{.access = &a};
    p.base = function_->getArg(static_cast<unsigned>(a.buffer));
    for (const Loop& row : schedule_.rows) p.row_strides.push_back(stride(a, row).is_const(0) ? nullptr : read());
    if (!stride(a, schedule_.folded).is_const(0)) p.folded_stride = read();
    p.col = stride_kind(stride(a, schedule_.cols));
    if (p.col == StrideKind::Dynamic) p.col_stride = read();
    if (p.col == StrideKind::Two) p.col_stride = i64(2);
    ports_.push_back(std::move(p));
  };
  for (const Access& a : nest_.accesses) add_port(a);
  for (const Store& s : nest_.stores) add_port(s.to);
  for (std::size_t i = 0; i < nest_.values.size(); ++i)
    if (nest_.values[i].kind == NestValue::Kind::Size) scalar_[i] = read();
  rows_ = read();
  cols_ = read();
  status_ = read();
}

// Of the row loops, slowest first, from the row's linear number.
std::vector<llvm::Value*> GpuEmitter::row_indices(Value* row) {
  const std::size_t rank = schedule_.rows.size();
  std::vector<Value*> index(rank);
  llvm::Type* const type = schedule_.short_index ? ir_.getInt32Ty() : ir_.getInt64Ty();
  Value* rest = ir_.CreateTrunc(row, type);
  for (std::size_t i = rank; i-- > 1;) {
    Value* extent = ir_.CreateTrunc(row_extents_[i], type);
    index[i] = ir_.CreateZExt(ir_.CreateURem(rest, extent), ir_.getInt64Ty());
    rest = ir_.CreateUDiv(rest, extent);
  }
  if (rank > 0) index[0] = ir_.CreateZExt(rest, ir_.getInt64Ty());
  return index;
}

void GpuEmitter::position_rows(Value* row) {
  row_index_ = row_indices(row);
  for (Port& p : ports_) {
    p.row = p.base;
    for (std::size_t i = 0; i < row_index_.size(); ++i)
      if (p.row_strides[i]) p.row = element_at(p.access->dtype, p.row, ir_.CreateMul(row_index_[i], p.row_strides[i]));
  }
}

// Values that are the same along the columns.
void GpuEmitter::emit_row_values(int stage) {
  for (std::size_t i = 0; i < nest_.values.size(); ++i) {
    const NestValue& v = nest_.values[i];
    if (in_loop(v) || v.stage != stage) continue;
    if (v.kind == NestValue::Kind::Constant || v.kind == NestValue::Kind::Size || v.kind == NestValue::Kind::Reduce)
      continue;
    if (v.kind == NestValue::Kind::Load)
      scalar_[i] = load_of_row(v);
    else
      scalar_[i] = compute(v, 1);
  }
}

// Threads without a row load nothing: others may write it meanwhile.
llvm::Value* GpuEmitter::load_of_row(const NestValue& v) {
  const Port& port = ports_[static_cast<std::size_t>(v.access)];
  if (port.access->by_value) return emit_from_word(at(1), v.dtype, port.base);
  const auto load = [&] { return emit_load(at(1), v.dtype, port.row, nullptr); };
  if (!row_exists_ || schedule_.shape != GpuSchedule::Shape::Rows) return load();
  std::vector<Value*> value = {llvm::Constant::getNullValue(register_type(ir_.getContext(), v.dtype, 1))};
  when_carrying(row_exists_, value, [&](std::vector<Value*>& then) { then[0] = load(); });
  return value[0];
}

// The values along the columns that `roots` depend on, in order.
std::vector<int> GpuEmitter::needed(const std::vector<int>& roots) const {
  std::vector<char> wanted(nest_.values.size());
  for (int r : roots) wanted[static_cast<std::size_t>(r)] = 1;
  std::vector<int> result;
  for (std::size_t i = nest_.values.size(); i-- > 0;) {
    const NestValue& v = nest_.values[i];
    if (!wanted[i] || !in_loop(v) || v.kind == NestValue::Kind::Reduce) continue;
    result.push_back(static_cast<int>(i));
    if (kept_ready_[i]) continue;
    for (int a : v.args) wanted[static_cast<std::size_t>(a)] = 1;
  }
  std::ranges::reverse(result);
  return result;
}

llvm::Value* GpuEmitter::address(const Port& port, Value* col) {
  if (port.col == StrideKind::Zero) return port.row;
  return element_at(port.access->dtype, port.row, port.col_stride ? ir_.CreateMul(col, port.col_stride) : col);
}

void GpuEmitter::emit_values(const std::vector<int>& values, Value* col, int lanes) {
  for (int i : values) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(i)];
    Value*& result = column_[static_cast<std::size_t>(i)];
    if (kept_ready_[static_cast<std::size_t>(i)]) {
      result = emit_load(at(1), v.dtype, kept_element(i, col), nullptr);
      continue;
    }
    if (v.kind == NestValue::Kind::Load) {
      const Port& port = ports_[static_cast<std::size_t>(v.access)];
      const int each = port.col == StrideKind::Zero ? 1 : lanes;
      const auto bytes = static_cast<std::uint64_t>(each) * item_size(v.dtype);
      result = emit_load(at(each), v.dtype, port.staged ? port.staged : address(port, col), nullptr, bytes);
      if (each < lanes) result = ir_.CreateVectorSplat(static_cast<unsigned>(lanes), result);
    } else {
      result = compute(v, lanes);
    }
    if (is_kept(i)) emit_store(at(1), v.dtype, result, kept_element(i, col), nullptr);
  }
}

// Where a tensor does not move along a loop of rows, one row of them stores for all: they store the same.
llvm::Value* GpuEmitter::first_of_idle_rows(const Port& port) {
  Value* first = nullptr;
  for (std::size_t i = 0; i < row_index_.size(); ++i) {
    if (port.row_strides[i]) continue;
    Value* here = ir_.CreateICmpEQ(row_index_[i], i64(0));
    first = first ? ir_.CreateAnd(first, here) : here;
  }
  return first;
}

void GpuEmitter::emit_stores(const std::vector<int>& stores, Value* col, int lanes, Value* chosen) {
  for (int s : stores) {
    const Port& port = port_of_store(s);
    const DType t = port.access->dtype;
    Value* stored = chosen;
    const auto only = [&](Value* condition) {
      if (condition) stored = stored ? ir_.CreateAnd(stored, condition) : condition;
    };
    only(first_of_idle_rows(port));
    if (across_ && !port.folded_stride) only(ir_.CreateICmpEQ(across_, i64(0)));
    const int each = port.col == StrideKind::Zero ? 1 : lanes;
    if (port.col == StrideKind::Zero) only(ir_.CreateICmpEQ(col, i64(0)));
    when(stored, [&] {
      Value* v = operand(nest_.stores[static_cast<std::size_t>(s)].value, lanes);
      if (each < lanes) v = ir_.CreateExtractElement(v, std::uint64_t{0});
      emit_store(at(each), t, v, address(port, col), nullptr, static_cast<std::uint64_t>(each) * item_size(t));
    });
  }
}

llvm::Value* GpuEmitter::operand(int value, int lanes) {
  const auto i = static_cast<std::size_t>(value);
  const NestValue& v = nest_.values[i];
  if (v.kind == NestValue::Kind::Constant) return emit_constant(at(lanes), v);
  if (in_loop(v)) return column_[i];
  return lanes == 1 ? scalar_[i] : ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar_[i]);
}

llvm::Value* GpuEmitter::compute(const NestValue& v, int lanes) {
  if (v.kind == NestValue::Kind::Convert) {
    const NestValue& from = nest_.values[static_cast<std::size_t>(v.args[0])];
    return emit_convert(at(lanes), operand(v.args[0], lanes), from.dtype, v.dtype);
  }
  SmallVector<Value*, 4> args;
  for (int a : v.args) args.push_back(operand(a, lanes));
  Value* failed = nullptr;
  Value* result = emit_compute(at(lanes), v, {args.data(), args.size()}, &failed);
  if (failed) note_failure(failed);
  return result;
}

void GpuEmitter::note_failure(Value* failed) {
  if (failed->getType()->isVectorTy()) failed = ir_.CreateOrReduce(failed);
  if (row_exists_) failed = ir_.CreateAnd(failed, row_exists_);
  when(failed, [&] {
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, status_, i32(1), llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  });
}

llvm::Type* GpuEmitter::element_of(DType t) { return element_type(ir_.getContext(), t); }

llvm::GlobalVariable* GpuEmitter::shared(llvm::Type* type, std::int64_t count, const char* name) {
  auto* array = llvm::ArrayType::get(type, static_cast<std::uint64_t>(count));
  auto* memory =
      new llvm::GlobalVariable(module_, array, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(array),
                               name, nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(16));
  return memory;
}

llvm::Value* GpuEmitter::stack(llvm::Type* type, int count) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(llvm::ArrayType::get(type, static_cast<std::uint64_t>(count)));
}

void GpuEmitter::when(Value* condition, const std::function<void()>& body) {
  if (!condition) return body();
  llvm::BasicBlock *inside = block("when"), *after = block("after");
  ir_.CreateCondBr(condition, inside, after);
  ir_.SetInsertPoint(inside);
  body();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

void GpuEmitter::when_carrying(Value* condition, std::vector<Value*>& carried,
                               const std::function<void(std::vector<Value*>&)>& body) {
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *inside = block("lane"), *after = block("lanes");
  ir_.CreateCondBr(condition, inside, after);
  ir_.SetInsertPoint(inside);
  std::vector<Value*> then = carried;
  body(then);
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (then[i] == carried[i]) continue;
    auto* node = ir_.CreatePHI(carried[i]->getType(), 2);
    node->addIncoming(carried[i], before), node->addIncoming(then[i], last);
    carried[i] = node;
  }
}

void GpuEmitter::loop(Value* begin, Value* end, Value* step, std::vector<Value*>& carried,
                      const std::function<void(Value*, std::vector<Value*>&)>& body) {
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *inside = block("loop"), *after = block("after");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), inside, after);
  ir_.SetInsertPoint(inside);
  auto* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  std::vector<Value*> now;
  std::vector<llvm::PHINode*> nodes;
  for (Value* v : carried) {
    nodes.push_back(ir_.CreatePHI(v->getType(), 2));
    nodes.back()->addIncoming(v, before);
    now.push_back(nodes.back());
  }
  body(i, now);
  Value* next = ir_.CreateAdd(i, step);
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  i->addIncoming(next, last);
  for (std::size_t k = 0; k < nodes.size(); ++k) nodes[k]->addIncoming(now[k], last);
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), inside, after);
  ir_.SetInsertPoint(after);
  for (std::size_t k = 0; k < carried.size(); ++k) {
    auto* result = ir_.CreatePHI(carried[k]->getType(), 2);
    result->addIncoming(carried[k], before);
    result->addIncoming(now[k], last);
    carried[k] = result;
  }
}

}  // namespace md
