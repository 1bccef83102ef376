// Special functions of floats, by the formulas of the reference.
#include <algorithm>

#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"

namespace md::device_blocks {
namespace {

struct SpecialOp {
  OpId op;
  std::string_view name;
};
constexpr SpecialOp kSpecialOps[] = {
#define MD_OP(S) {id::S, #S},
#include "registry/special_functions.inc"
    MD_OP(ErfInv) MD_OP(LGamma) MD_OP(Digamma)
#undef MD_OP
};

// An operand in the dtype of the result; false if no kernel brings it there.
bool set_formula_operand(const Arg& a, int k, const TensorImpl& out, PointwiseParams& p, DimVec& strides,
                         TensorRef& kept) {
  strides = DimVec(out.sizes.size());
  p.in_dtype[k] = -1;
  const auto* t = a.get_if<TensorRef>();
  if (!t) {
    const Number n = number_as(a, out.dtype);
    p.real[k] = n.real;
    return true;
  }
  kept = converted(*t, out.dtype);
  if (!kept || kept->is_readable()) return false;
  p.in_dtype[k] = static_cast<Word>(out.dtype), p.in[k].data = address_of(*kept);
  strides = spread(*kept, out.sizes);
  return true;
}

}  // namespace

bool run_special(const DeviceCall& c) {
  const SpecialOp* found = std::ranges::find(kSpecialOps, c.op.id, &SpecialOp::op);
  const TensorImpl& out = *c.out[0];
  if (found == std::end(kSpecialOps) || !is_floating(out.dtype) || is_storage_only(out.dtype)) return false;
  PointwiseParams p{};
  DimVec strides[2] = {DimVec(out.sizes.size()), DimVec(out.sizes.size())};
  TensorRef kept[2];
  if (!set_formula_operand(c.args[0], 0, out, p, strides[0], kept[0])) return false;
  if (c.op.id == id::Polygamma)
    p.whole[1] = c.whole(1);
  else if (c.args.size() > 1 && !set_formula_operand(c.args[1], 1, out, p, strides[1], kept[1]))
    return false;
  if (!lay_out(out.sizes, p.space,
               {{out.strides, p.out.strides}, {strides[0], p.in[0].strides}, {strides[1], p.in[1].strides}}))
    return false;
  p.out.data = address_of(out), p.out_dtype = static_cast<Word>(out.dtype);
  std::string entry = "special_";
  entry += found->name;
  launch(by_dtype(entry, working(out.dtype)), out.device(), p.space.total, p);
  return true;
}

}  // namespace md::device_blocks
