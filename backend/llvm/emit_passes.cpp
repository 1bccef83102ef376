// A long body walks a block of columns several times, each pass computing a part of it and leaving what later passes
// need in L1. A pass is short enough for the processor to overlap many of its iterations, which one long dependent
// chain is not.
#include <algorithm>

#include "backend/llvm/llvm_builder.h"
#include "backend/llvm/nest_emitter.h"

namespace md {

void NestEmitter::emit_passes(const std::vector<int>& values, const std::vector<int>& stores) {
  int last = 0;
  for (int v : values) last = std::max(last, pass_of(v));
  Strip strip{.ports = ports_of(values, stores),
              .start = col_begin_,
              .count = ir_.CreateSub(col_end_, col_begin_),
              .masks = status_ != nullptr,
              .passes = last + 1};
  spill_.assign(nest_.values.size(), nullptr);
  for (int v : values)
    for (int a : nest_.values[static_cast<std::size_t>(v)].args)
      if (crosses(a, pass_of(v)) && !spill_[static_cast<std::size_t>(a)])
        spill_[static_cast<std::size_t>(a)] =
            stack(element_of(nest_.values[static_cast<std::size_t>(a)].dtype), schedule_.block);
  strip.body = [&](const VectorStep& step, std::vector<Value*>&) {
    std::vector<int> own, own_stores;
    for (int v : values)
      if (pass_of(v) == step.pass) own.push_back(v);
    for (int s : stores)
      if (std::max(0, pass_of(nest_.stores[static_cast<std::size_t>(s)].value)) == step.pass) own_stores.push_back(s);
    fetch(own, own_stores, strip, step);
    emit_loop_values(own, strip, step);
    emit_loop_stores(own_stores, strip, step);
    for (int v : own)
      if (Value* memory = spill_[static_cast<std::size_t>(v)]) {
        const DType t = nest_.values[static_cast<std::size_t>(v)].dtype;
        emit_store(at(schedule_.lanes), t, vector_[static_cast<std::size_t>(v)], element_at(t, memory, step.in_block),
                   nullptr);
      }
  };
  emit_strip(strip);
}

// Loads belong to no pass: they are repeated wherever they are used.
int NestEmitter::pass_of(int value) const { return schedule_.pass[static_cast<std::size_t>(value)]; }

// Whether `value` is handed on to pass `to` through memory.
bool NestEmitter::crosses(int value, int to) const {
  const NestValue& v = nest_.values[static_cast<std::size_t>(value)];
  return in_loop(v) && pass_of(value) >= 0 && pass_of(value) < to;
}

// Operands of this pass that other passes computed, and loads.
void NestEmitter::fetch(const std::vector<int>& own, const std::vector<int>& stores, const Strip& strip,
                        const VectorStep& step) {
  std::vector<int> wanted, loads;
  for (int v : own)
    for (int a : nest_.values[static_cast<std::size_t>(v)].args) wanted.push_back(a);
  for (int s : stores) wanted.push_back(nest_.stores[static_cast<std::size_t>(s)].value);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (int a : wanted) {
    const NestValue& v = nest_.values[static_cast<std::size_t>(a)];
    if (v.kind == NestValue::Kind::Load && in_loop(v)) loads.push_back(a);
    if (!crosses(a, step.pass)) continue;
    Value* memory = spill_[static_cast<std::size_t>(a)];
    vector_[static_cast<std::size_t>(a)] =
        emit_load(at(schedule_.lanes), v.dtype, element_at(v.dtype, memory, step.in_block), nullptr);
  }
  emit_loop_values(loads, strip, step);
}

// The loops of one phase: blocks, passes over a block, vectors.
void NestEmitter::walk_passes(Strip& strip, Value* count, const std::function<void(VectorStep&, Value*)>& position) {
  loop(i64(0), count, schedule_.block, false, [&](Value* begin) {
    Value* width = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateSub(count, begin), i64(schedule_.block));
    for (int pass = 0; pass < strip.passes; ++pass)
      loop(i64(0), width, schedule_.lanes, true, [&](Value* k) {
        VectorStep step{.in_block = k, .pass = pass};
        position(step, ir_.CreateAdd(begin, k));
        std::vector<Value*> none;
        strip.body(step, none);
      });
  });
}

}  // namespace md
