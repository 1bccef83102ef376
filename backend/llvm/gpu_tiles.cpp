// Nests whose tensors lie along two different loops: a block has a square of both, and what does not lie along the
// columns is turned around in shared memory, so that everything is read and written in whole pieces.
#include <numeric>

#include "backend/llvm/gpu_emitter.h"
#include "backend/llvm/llvm_builder.h"

namespace md {

void GpuEmitter::emit_tiles() {
  const auto tiles = [&](Value* extent) { return ir_.CreateUDiv(ir_.CreateAdd(extent, i64(kTile - 1)), i64(kTile)); };
  Value *number = wide(gpu_.block(0)), *along = tiles(cols_), *across = tiles(folded_extent_);
  Value* first_column = ir_.CreateMul(ir_.CreateURem(number, along), i64(kTile));
  number = ir_.CreateUDiv(number, along);
  Value* first_across = ir_.CreateMul(ir_.CreateURem(number, across), i64(kTile));
  position_rows(ir_.CreateUDiv(number, across));
  stage(first_column, first_across);
  gpu_.barrier();
  const std::vector<Port> at_row = ports_;
  std::vector<int> roots, stores(nest_.stores.size());
  for (const Store& s : nest_.stores) roots.push_back(s.value);
  std::iota(stores.begin(), stores.end(), 0);
  const std::vector<int> values = needed(roots);
  Value* column = ir_.CreateAdd(first_column, wide(x_));
  emit_row_values(0);
  for (int first = 0; first < kTile; first += schedule_.y) {
    Value* down = ir_.CreateAdd(y_, i32(first));
    across_ = ir_.CreateAdd(first_across, wide(down));
    Value* exists = ir_.CreateAnd(ir_.CreateICmpSLT(column, cols_), ir_.CreateICmpSLT(across_, folded_extent_));
    when(exists, [&] {
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        Port& port = ports_[i];
        if (port.folded_stride)
          port.row = element_at(port.access->dtype, at_row[i].row, ir_.CreateMul(across_, port.folded_stride));
        if (!port.tile) continue;
        Value* index = ir_.CreateAdd(ir_.CreateMul(x_, i32(kTile + 1)), down);
        port.staged = ir_.CreateGEP(element_of(port.access->dtype), port.tile, index);
      }
      emit_values(values, column, 1);
      emit_stores(stores, column, 1, nullptr);
    });
  }
}

// The tile's elements of tensors that lie across, side by side, each column of the tile behind the other. The place
// between two columns keeps threads that read along the columns apart in the memory's banks.
void GpuEmitter::stage(Value* first_column, Value* first_across) {
  Value* element = ir_.CreateAdd(first_across, wide(x_));
  for (std::size_t a = 0; a < schedule_.staged.size(); ++a) {
    if (!schedule_.staged[a]) continue;
    Port& port = ports_[a];
    llvm::Type* const type = element_of(port.access->dtype);
    port.tile = shared(type, (kTile - 1) * (kTile + 1) + kTile, "tile");
    Value* row = element_at(port.access->dtype, port.row, element);
    for (int first = 0; first < kTile; first += schedule_.y) {
      Value* down = ir_.CreateAdd(y_, i32(first));
      Value* column = ir_.CreateAdd(first_column, wide(down));
      Value* exists = ir_.CreateAnd(ir_.CreateICmpSLT(column, cols_), ir_.CreateICmpSLT(element, folded_extent_));
      when(exists, [&] {
        const llvm::Align align(item_size(port.access->dtype));
        Value* v = ir_.CreateAlignedLoad(
            type, element_at(port.access->dtype, row, ir_.CreateMul(column, port.col_stride)), align);
        Value* index = ir_.CreateAdd(ir_.CreateMul(down, i32(kTile + 1)), x_);
        ir_.CreateAlignedStore(v, ir_.CreateGEP(type, port.tile, index), align);
      });
    }
  }
}

}  // namespace md
