// The instructions of both kinds of GPUs for the same things.
#include "backend/llvm/gpu_ops.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace md {

using llvm::Value;

Value* GpuOps::thread(int axis) const {
  constexpr llvm::Intrinsic::ID kNvidia[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
                                             llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
                                             llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z};
  constexpr llvm::Intrinsic::ID kAmd[] = {llvm::Intrinsic::amdgcn_workitem_id_x, llvm::Intrinsic::amdgcn_workitem_id_y,
                                          llvm::Intrinsic::amdgcn_workitem_id_z};
  return ir_.CreateIntrinsic(nvidia_ ? kNvidia[axis] : kAmd[axis], {}, {});
}

Value* GpuOps::block(int axis) const {
  constexpr llvm::Intrinsic::ID kNvidia[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                             llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                             llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  constexpr llvm::Intrinsic::ID kAmd[] = {llvm::Intrinsic::amdgcn_workgroup_id_x,
                                          llvm::Intrinsic::amdgcn_workgroup_id_y,
                                          llvm::Intrinsic::amdgcn_workgroup_id_z};
  return ir_.CreateIntrinsic(nvidia_ ? kNvidia[axis] : kAmd[axis], {}, {});
}

void GpuOps::barrier() const {
  if (nvidia_) {
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    return;
  }
  const llvm::SyncScope::ID group = ir_.getContext().getOrInsertSyncScopeID("workgroup");
  ir_.CreateFence(llvm::AtomicOrdering::Release, group);
  ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  ir_.CreateFence(llvm::AtomicOrdering::Acquire, group);
}

Value* GpuOps::from_later(Value* v, int distance, int width) const { return exchange(v, distance, width); }
Value* GpuOps::from_first(Value* v, int width) const { return width == 1 ? v : exchange(v, -1, width); }

// Words of 32 bits are what the hardware exchanges.
Value* GpuOps::exchange(Value* v, int distance, int width) const {
  llvm::Type* const type = v->getType();
  llvm::Type* const word = ir_.getInt32Ty();
  if (type->isIntegerTy(1)) return ir_.CreateTrunc(exchange_word(ir_.CreateZExt(v, word), distance, width), type);
  if (type->getPrimitiveSizeInBits() == 32)
    return ir_.CreateBitCast(exchange_word(ir_.CreateBitCast(v, word), distance, width), type);
  Value* both = ir_.CreateBitCast(v, ir_.getInt64Ty());
  Value* low = exchange_word(ir_.CreateTrunc(both, word), distance, width);
  Value* high = exchange_word(ir_.CreateTrunc(ir_.CreateLShr(both, 32), word), distance, width);
  both = ir_.CreateOr(ir_.CreateShl(ir_.CreateZExt(high, ir_.getInt64Ty()), 32), ir_.CreateZExt(low, ir_.getInt64Ty()));
  return ir_.CreateBitCast(both, type);
}

Value* GpuOps::exchange_word(Value* v, int distance, int width) const {
  const auto last = static_cast<std::uint32_t>(width - 1);
  if (nvidia_) {
    // The upper half of the last operand says which bits of a thread's number tell groups apart.
    const std::uint32_t clamp = (kSegmentThreads - static_cast<std::uint32_t>(width)) << 8 | 31;
    const auto id = distance < 0 ? llvm::Intrinsic::nvvm_shfl_sync_idx_i32 : llvm::Intrinsic::nvvm_shfl_sync_down_i32;
    return ir_.CreateIntrinsic(
        id, {},
        {ir_.getInt32(~0u), v, ir_.getInt32(distance < 0 ? 0u : static_cast<std::uint32_t>(distance)),
         ir_.getInt32(clamp)});
  }
  Value* self = ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {ir_.getInt32(~0u), ir_.getInt32(0)});
  self = ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {}, {ir_.getInt32(~0u), self});
  Value* other = ir_.CreateAnd(self, ir_.getInt32(~last));
  if (distance > 0) {
    Value* later = ir_.CreateAdd(self, ir_.getInt32(static_cast<std::uint32_t>(distance)));
    Value* same_group = ir_.CreateICmpEQ(ir_.CreateAnd(later, ir_.getInt32(~last)), other);
    other = ir_.CreateSelect(same_group, later, self);
  }
  return ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_ds_bpermute, {}, {ir_.CreateShl(other, 2), v});
}

void GpuOps::mark_entry(llvm::Function& function, int x, int y) const {
  if (!nvidia_) {
    function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    const std::string threads = std::to_string(x * y);
    function.addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
    return;
  }
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::LLVMContext& c = ir_.getContext();
  const auto number = [&](int n) { return llvm::ConstantAsMetadata::get(ir_.getInt32(static_cast<std::uint32_t>(n))); };
  const auto name = [&](const char* n) { return llvm::MDString::get(c, n); };
  function.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(
          llvm::MDNode::get(c, {llvm::ConstantAsMetadata::get(&function), name("kernel"), number(1), name("reqntidx"),
                                number(x), name("reqntidy"), number(y), name("reqntidz"), number(1)}));
}

}  // namespace md
