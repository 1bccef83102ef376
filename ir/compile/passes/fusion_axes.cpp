// How the dimensions of nodes lie along the axes of a group.
#include "ir/compile/passes/fusion_axes.h"

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"

namespace md {

AxisMap own_axes(const SizeVec& sizes) {
  AxisMap m(sizes.size(), -1);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (!sizes[d].is_const(1)) m[d] = static_cast<int>(d);
  return m;
}

std::uint32_t reduced_dims(const Node& n, int rank) {
  const Op& o = op(n.op);
  const std::uint32_t all = rank >= 32 ? 0 : (1u << rank) - 1;
  if (o.dim < 0) return all;
  const Arg& dim = n.args[static_cast<std::size_t>(o.dim)];
  const auto bit = [&](const Arg& a) {
    const std::int64_t d = a.get<Size>().value();
    return 1u << (d < 0 ? d + rank : d);
  };
  if (dim.is<Size>()) return bit(dim);
  const auto* list = dim.get_if<ListArg>();
  if (!list || list->items.empty()) return all;
  std::uint32_t bits = 0;
  for (const Arg& a : list->items) bits |= bit(a);
  return bits;
}

bool is_one_run(std::uint32_t reduced, const SizeVec& extents) {
  int runs = 0;
  bool inside = false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d].is_const(1)) continue;
    const bool folded = reduced >> d & 1;
    runs += folded && !inside;
    inside = folded;
  }
  return runs <= 1;
}

std::optional<AxisMap> renamed_axes(const Node& view, const Node& operand, const AxisMap& from) {
  if (view.op == id::AsStrided) return {};  // its strides are the memory's, not the operand's
  // Seen on a row-major tensor every dimension of the operand has a stride of its own.
  Node row_major{.kind = NodeKind::Op, .types = {operand.type()}};
  TensorType& t = row_major.types[0];
  t.offset = 0;
  Size step = 1;
  for (std::size_t i = t.sizes.size(); i-- > 0; step = step * max(t.sizes[i], 1)) t.strides[i] = step;
  BoundArgs args = view.args;
  args[0] = &row_major;
  TensorType seen;
  try {
    seen = infer(op(view.op), args).at(0);
  } catch (const OpError&) {
    return {};  // possible on the operand's layout only
  }
  std::size_t found = 0, wanted = 0;
  AxisMap axes(seen.sizes.size(), -1);
  for (std::size_t i = 0; i < t.sizes.size(); ++i) wanted += !t.sizes[i].is_const(1);
  for (std::size_t d = 0; d < seen.sizes.size(); ++d) {
    if (seen.sizes[d].is_const(1)) continue;
    for (std::size_t i = 0; i < t.sizes.size(); ++i) {
      if (t.sizes[i].is_const(1) || !(t.strides[i] == seen.strides[d]) || !(t.sizes[i] == seen.sizes[d])) continue;
      axes[d] = from[i];
      ++found;
      break;
    }
    if (axes[d] < 0) return {};
  }
  if (found != wanted || !seen.offset.is_const(0)) return {};
  return axes;
}

std::optional<AxisMap> completed_axes(const SizeVec& extents, const SizeVec& sizes, AxisMap axes) {
  std::uint32_t used = 0;
  for (int a : axes) {
    if (a < 0) continue;
    if (used >> a & 1) return {};
    used |= 1u << a;
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (axes[d] >= 0 || sizes[d].is_const(1)) continue;
    if (sizes.size() != extents.size() || !(extents[d] == sizes[d]) || (used >> d & 1)) return {};
    axes[d] = static_cast<int>(d);
    used |= 1u << d;
  }
  return axes;
}

}  // namespace md
