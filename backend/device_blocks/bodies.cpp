// Pointwise ops and reductions: kernels made of the ops' bodies, one for each working dtype.
#include <algorithm>
#include <optional>

#include "backend/device_blocks/device_call.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/reference.h"
#include "ir/tensor/strided.h"
#include "registry/reduction_order.h"

namespace md::device_blocks {
namespace {

constexpr std::string_view kStructs[] = {
#define MD_OP(S) #S,
#include "registry/ops.inc"
#undef MD_OP
};

std::string entry_of(OpId id, std::string_view part, DType compute) {
  std::string name(kStructs[id]);
  name += part;
  return by_dtype(name, working(compute));
}

// Loading widens such elements into the wanted values, exactly.
bool loads_as(DType stored, DType wanted) {
  return !is_storage_only(stored) && !is_complex(stored) && (stored == wanted || working(stored) == wanted);
}
// A value of `computed` is narrowed into such elements once.
bool stores_into(DType computed, DType stored) { return loads_as(stored, computed); }

Number element_as(const TensorImpl& t, DType wanted) {
  Number n;
  visit_dtype(working(wanted), [&](auto v) {
    ElementCursor at(t, t.sizes);
    gather(t, at, 1, wanted, &v);
    n.real = static_cast<double>(widen(v));
    if (!is_floating(wanted)) n.whole = static_cast<std::int64_t>(widen(v));
  });
  return n;
}

// Moves and conversions: the operand that is copied.
const TensorRef* copied_operand(const DeviceCall& c) {
  const OpId id = c.op.id;
  if (id == id::Copy) return c.args[1].get_if<TensorRef>();
  if (id == id::Clone || id == id::Compact || id == id::Convert || id == id::CopyToDevice)
    return c.args[0].get_if<TensorRef>();
  return nullptr;
}

// The operands of a call, and what has been made of them for it.
struct Operands {
  PointwiseParams params{};
  DimVec strides[kMostOperands];
  TensorRef kept[kMostOperands];
};

bool set_operand(const DeviceCall& c, int i, DType wanted, Operands& o) {
  const auto k = static_cast<std::size_t>(i);
  const DimVec& sizes = c.out[0]->sizes;
  const auto* t = c.args[k].get_if<TensorRef>();
  o.strides[k] = DimVec(sizes.size());
  if (!t || (*t)->is_readable()) {
    if (t && (*t)->numel() != 1) return false;
    const Number n = t ? element_as(**t, wanted) : number_as(c.args[k], wanted);
    o.params.in_dtype[k] = -1, o.params.real[k] = n.real, o.params.whole[k] = n.whole;
    return true;
  }
  o.kept[k] = *t;
  if (!loads_as((*t)->dtype, wanted)) o.kept[k] = converted(*t, wanted);
  if (!o.kept[k]) return false;
  o.params.in_dtype[k] = static_cast<Word>(o.kept[k]->dtype);
  o.params.in[k].data = address_of(*o.kept[k]);
  o.strides[k] = spread(*o.kept[k], sizes);
  return true;
}

}  // namespace

bool run_pointwise(const DeviceCall& c) {
  if (const TensorRef* from = copied_operand(c)) return !(*from)->is_readable() && copy_elements(**from, *c.out[0]);
  const TensorImpl& out = *c.out[0];
  const ComputeTypes types = compute_types(c.op, c.args);
  const std::string entry = entry_of(c.op.id, "", types.compute);
  if (c.op.operands > kMostOperands || !has_kernel(entry) || is_storage_only(types.compute)) return false;
  Operands o;
  for (int i = 0; i < c.op.operands; ++i)
    if (!set_operand(c, i, operand_dtype(c.op, c.args, i, types.compute), o)) return false;
  const DType yields = types.result == DType::Bool ? DType::Bool : types.compute;
  // Elsewhere first where a dtype lies between the value and the result.
  TensorRef between;
  if (out.dtype != yields && !stores_into(yields, out.dtype)) {
    between = empty_tensor(out.sizes, yields, out.device());
    if (is_storage_only(out.dtype)) return false;
  }
  const TensorImpl& to = between ? *between : out;
  PointwiseParams& p = o.params;
  if (!lay_out(out.sizes, p.space,
               {{to.strides, p.out.strides},
                {o.strides[0], p.in[0].strides},
                {c.op.operands > 1 ? o.strides[1] : o.strides[0], p.in[1].strides},
                {c.op.operands > 2 ? o.strides[2] : o.strides[0], p.in[2].strides}}))
    return false;
  p.out.data = address_of(to), p.out_dtype = static_cast<Word>(to.dtype);
  launch(entry, out.device(), p.space.total, p);
  return !between || copy_elements(to, out);
}

namespace {

// The operand with its kept dimensions apart from the reduced ones, and the result's strides of the kept ones.
struct Split {
  DimVec kept_sizes, kept_strides, out_strides, sizes, strides;
  bool last_is_reduced = true;
  int only = -1;  // the one reduced dimension
};

Split split(const DeviceCall& c, const TensorImpl& x, const TensorImpl& out) {
  const Arg none;
  const Arg& dim = c.op.dim < 0 ? none : c.args[static_cast<std::size_t>(c.op.dim)];
  const ListArg* list = dim.get_if<ListArg>();
  const bool all = dim.is_none() || (list && list->items.empty());
  SmallVector<bool, 8> reduced(x.sizes.size(), all);
  const std::span<const Arg> dims = list ? std::span<const Arg>(list->items) : std::span<const Arg>(&dim, 1);
  for (std::size_t i = 0; !all && i < dims.size(); ++i) {
    const std::int64_t d = dims[i].get<Size>().value();
    if (x.dim() > 0) reduced[static_cast<std::size_t>(d < 0 ? d + x.dim() : d)] = true;
  }
  Split s;
  std::size_t at = 0;
  const bool keeps = out.dim() == x.dim();
  int count = 0;
  for (int i = 0; i < x.dim(); ++i) {
    if (reduced[i]) {
      s.sizes.push_back(x.sizes[i]), s.strides.push_back(x.strides[i]);
      s.only = i, ++count;
    } else {
      s.kept_sizes.push_back(x.sizes[i]), s.kept_strides.push_back(x.strides[i]);
      s.out_strides.push_back(out.strides[keeps ? static_cast<std::size_t>(i) : at]);
      ++at;
    }
    s.last_is_reduced = reduced[i];
  }
  if (count != 1) s.only = -1;
  return s;
}

// argmax and its kin: the results are the value, the position or both.
bool find_positions(const DeviceCall& c) {
  const bool largest = c.op.id == id::ArgMax || c.op.id == id::MaxDim;
  if (!largest && c.op.id != id::ArgMin && c.op.id != id::MinDim) return false;
  TensorRef x = c.args[0].get<TensorRef>();
  if (is_storage_only(x->dtype) || x->numel() == 0) return false;
  Split s = split(c, *x, *c.out[0]);
  if (s.only < 0) {  // over all elements, in row-major order
    x = contiguous(x);
    if (!x) return false;
    s = split(c, *x, *c.out[0]);
  }
  LineParams p{};
  const bool both = c.out.size() > 1;
  const DimVec places = both ? split(c, *x, *c.out[1]).out_strides : s.out_strides;
  if (!lay_out(s.kept_sizes, p.lines,
               {{s.kept_strides, p.from.strides}, {s.out_strides, p.to.strides}, {places, p.positions.strides}}))
    return false;
  p.size = s.only < 0 ? x->numel() : x->sizes[static_cast<std::size_t>(s.only)];
  p.from_step = s.only < 0 ? 1 : x->strides[static_cast<std::size_t>(s.only)];
  if (s.only < 0) p.lines = {1, 0, {}};
  p.from.data = address_of(*x), p.flag = largest;
  if (both) p.to.data = address_of(*c.out[0]);
  p.positions.data = address_of(*c.out.back());
  if (p.size >= 2 * kLineThreads)
    launch(by_dtype("extreme_together", x->dtype), x->device(), p.lines.total * kLineThreads, p, kLineThreads);
  else
    launch(by_dtype("extreme", x->dtype), x->device(), p.lines.total, p);
  return true;
}

// Pairs of neighbouring parts are joined until one is left.
void join_parts(const DeviceCall& c, DType compute, const FoldParams& fold, TensorRef parts, const TensorImpl& out) {
  FoldPartsParams p{};
  p.kept = fold.kept, p.out = fold.out;
  p.compute = fold.compute, p.out_dtype = fold.out_dtype;
  for (p.count = fold.chunks; p.count > 1; p.count = (p.count + 1) / 2) {
    const std::int64_t left = (p.count + 1) / 2;
    TensorRef to = left > 1 ? empty_tensor({p.kept.total * left}, parts->dtype, out.device()) : nullptr;
    p.parts = address_of(*parts), p.to_parts = to ? address_of(*to) : 0;
    launch(entry_of(c.op.id, "_parts", compute), out.device(), p.kept.total * left, p);
    if (to) parts = std::move(to);
  }
}

}  // namespace

bool run_reduction(const DeviceCall& c) {
  if (c.op.traits.finds_position) return find_positions(c);
  const ComputeTypes types = compute_types(c.op, c.args);
  TensorRef x = c.args[0].get<TensorRef>();
  const TensorImpl& out = *c.out[0];
  const bool inner = split(c, *x, out).last_is_reduced;
  const std::string entry = entry_of(c.op.id, inner ? "_rows" : "_columns", types.compute);
  if (x->numel() == 0 || !has_kernel(entry) || is_storage_only(types.compute) || is_storage_only(out.dtype))
    return false;
  if (!loads_as(x->dtype, types.compute)) x = converted(x, types.compute);
  if (!x) return false;
  TensorRef between;
  if (!stores_into(working(types.compute), out.dtype)) between = empty_tensor(out.sizes, types.compute, out.device());
  const TensorImpl& to = between ? *between : out;
  const Split s = split(c, *x, to);
  FoldParams p{};
  if (!lay_out(s.kept_sizes, p.kept, {{s.kept_strides, p.in.strides}, {s.out_strides, p.out.strides}}) ||
      !lay_out(s.sizes, p.folded, {{s.strides, p.along}}))
    return false;
  p.in.data = address_of(*x), p.out.data = address_of(to);
  p.in_dtype = static_cast<Word>(x->dtype), p.out_dtype = static_cast<Word>(to.dtype);
  p.compute = static_cast<Word>(types.compute);
  p.chunks = (p.folded.total + kReductionChunk - 1) / kReductionChunk;
  TensorRef parts;
  if (p.chunks > 1) parts = empty_tensor({p.kept.total * p.chunks}, working(types.compute), out.device());
  if (parts) p.parts = address_of(*parts);
  const std::int64_t folds = p.kept.total * p.chunks;
  if (inner)
    launch(entry, out.device(), folds * kInnerLanes, p, kInnerLanes);
  else
    launch(entry, out.device(), folds, p);
  if (parts) join_parts(c, types.compute, p, std::move(parts), to);
  return !between || copy_elements(to, out);
}

}  // namespace md::device_blocks
