// A fusion group becomes nests: one if a schedule can walk it, else one per stage or member.
#include "backend/nest/lower_group.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/nest/schedule.h"
#include "backend/nest/split_fold.h"
#include "ir/compile/passes/stacks.h"
#include "ir/core/error.h"
#include "ir/core/scalar_builder.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"
#include "ir/tensor/strided.h"
#include "registry/reduction_order.h"

namespace md {
namespace {

bool is_view_member(const Node& n) { return op(n.op).kind() == OpKind::View; }
bool is_reduction(const Node& n) { return op(n.op).kind() == OpKind::Reduction; }

class GroupLowering {
 public:
  explicit GroupLowering(const FusionGroup& group) : group_(group) {
    nest_.extents = group.extents;
    nest_.reduced = group.reduced;
    if (group.reduced) {
      const std::size_t rank = group.extents.size();
      nest_.fold_lanes = rank == 0 || (group.reduced >> (rank - 1)) & 1 ? kInnerLanes : kOuterLanes;
    }
  }

  LoweredGroup run() {
    for (const FusionGroup::Member& m : group_.members) {
      const Node& n = *m.node;
      if (is_view_member(n)) {
        value_of_[&n] = operand(m, n.args[0].get<Node*>());
      } else if (n.op == id::Cat) {
        for (const Arg& a : n.args[0].get<ListArg>().items) stacked_[&n].push_back(operand(m, a.get<Node*>()));
      } else {
        value_of_[&n] = is_reduction(n) ? reduction(m) : pointwise(m);
      }
    }
    add_stores();
    nest_.buffers = static_cast<int>(buffers_.size());
    LoweredGroup result;
    result.nest = std::move(nest_);
    result.buffers = std::move(buffers_);
    result.shifts = std::move(shifts_);
    return result;
  }

 private:
  int pointwise(const FusionGroup::Member& m) {
    const Node& n = *m.node;
    const Op& o = op(n.op);
    const ComputeTypes types = compute_types(o, n.args);
    const Promote promote = o.decl->promote;
    NestValue v;
    v.kind = NestValue::Kind::Compute;
    v.op = n.op;
    v.compute = types.compute;
    v.dtype = promote == Promote::Compare ? DType::Bool : types.compute;
    for (int i = 0; i < o.operands; ++i) {
      v.args.push_back(
          converted_operand(m, n.args[static_cast<std::size_t>(i)], operand_dtype(o, n.args, i, types.compute)));
    }
    return convert(nest_.add(std::move(v)), types.result);
  }

  int reduction(const FusionGroup::Member& m) {
    const Node& n = *m.node;
    const ComputeTypes types = compute_types(op(n.op), n.args);
    FusionGroup::Member whole = m;  // the operand follows the iteration space axis by axis
    whole.axes.clear();
    for (std::size_t i = 0; i < group_.extents.size(); ++i) whole.axes.push_back(static_cast<int>(i));
    NestValue v;
    v.kind = NestValue::Kind::Reduce;
    v.op = n.op;
    v.dtype = v.compute = working(types.compute);
    const int operand = converted_operand(whole, n.args[0], types.compute);
    v.args.push_back(convert(operand, v.dtype));
    return convert(convert(nest_.add(std::move(v)), types.compute), types.result);
  }

  int converted_operand(const FusionGroup::Member& m, const Arg& a, DType to) {
    if (const auto* n = a.get_if<Node*>()) return convert(operand(m, *n), to);
    return number(a, to);
  }

  // A value computed inside, or an element of a tensor from outside, whose dimensions line up with the last ones of m.
  int operand(const FusionGroup::Member& m, const Node* n) {
    if (const auto it = value_of_.find(n); it != value_of_.end()) return it->second;
    const TensorType& t = n->type();
    SizeVec strides(group_.extents.size(), Size(0));
    const int shift = static_cast<int>(m.axes.size()) - t.dim();
    for (int d = 0; d < t.dim(); ++d) {
      const int axis = shift + d < 0 ? -1 : m.axes[static_cast<std::size_t>(shift + d)];
      if (axis < 0 || t.sizes[static_cast<std::size_t>(d)].is_const(1)) continue;
      strides[static_cast<std::size_t>(axis)] = t.strides[static_cast<std::size_t>(d)];
    }
    return load(n, t.dtype, strides);
  }

  int load(const Node* n, DType dtype, const SizeVec& strides) {
    for (const Loaded& l : loads_)
      if (l.node == n && l.strides == strides) return l.value;
    nest_.accesses.push_back(nest_.access(buffer(n), dtype, strides));
    nest_.accesses.back().by_value = !(n->type().device == group_.device);
    NestValue v;
    v.dtype = dtype;
    v.access = static_cast<int>(nest_.accesses.size()) - 1;
    loads_.push_back({n, strides, nest_.add(std::move(v))});
    return loads_.back().value;
  }

  int buffer(const Node* n) {
    buffers_.push_back(n);
    return static_cast<int>(buffers_.size()) - 1;
  }

  int number(const Arg& a, DType to) {
    NestValue v;
    v.kind = NestValue::Kind::Constant;
    v.dtype = to;
    const auto* size = a.get_if<Size>();
    if (size && !size->is_const()) {
      v.kind = NestValue::Kind::Size;
      v.dtype = DType::Int64;
      v.size = *size;
      return convert(nest_.add(std::move(v)), to);
    }
    visit_dtype(to, [&](auto element) {
      using T = decltype(element);
      const auto* real = a.get_if<double>();
      const std::int64_t whole = size ? size->value() : a.is<bool>() ? a.get<bool>() : 0;
      const auto value = widen(real ? convert_value<T>(*real) : convert_value<T>(whole));
      if (is_floating(to)) {
        v.number = static_cast<double>(value);
      } else {
        v.integer = static_cast<std::int64_t>(value);
      }
    });
    return nest_.add(std::move(v));
  }

  int convert(int value, DType to) {
    if (nest_.values[static_cast<std::size_t>(value)].dtype == to) return value;
    const auto [it, fresh] =
        converted_.try_emplace(static_cast<std::int64_t>(value) * kDTypeCount + static_cast<int>(to), 0);
    if (!fresh) return it->second;
    NestValue v;
    v.kind = NestValue::Kind::Convert;
    v.dtype = to;
    v.args.push_back(value);
    const int result = nest_.add(std::move(v));
    return converted_[static_cast<std::int64_t>(value) * kDTypeCount + static_cast<int>(to)] = result;
  }

  // A view needed outside is a view of its base, which is what gets stored.
  void add_stores() {
    std::unordered_set<const Node*> stored;
    for (const Node* out : group_.outputs) {
      while (value_of_.contains(out) && is_view_member(*out) && value_of_.contains(out->args[0].get<Node*>()))
        out = out->args[0].get<Node*>();
      if (is_view_member(*out) || !stored.insert(out).second) continue;
      const auto m =
          std::find_if(group_.members.begin(), group_.members.end(), [&](const auto& x) { return x.node == out; });
      if (m == group_.members.end())
        throw InternalError("fusion: " + out->name + " is an output but no member of its group");
      const TensorType& t = out->type();
      if (out->op == id::Cat) {
        add_stack(*out, *m);
        continue;
      }
      nest_.store(value_of_.at(out), nest_.access(buffer(out), t.dtype, along_axes(group_, *m, t.strides)));
    }
  }

  // Each value into its place in the stack.
  void add_stack(const Node& n, const FusionGroup::Member& m) {
    const TensorType& t = n.type();
    const Size step = t.strides[static_cast<std::size_t>(stacked_dim(n))];
    const bool pairs = step.is_const(1) && stacked_.at(&n).size() == 2;
    Size shift = 0;
    for (const int value : stacked_.at(&n)) {
      nest_.store(value, nest_.access(buffer(&n), t.dtype, along_axes(group_, m, t.strides)));
      shifts_.resize(buffers_.size(), Size(0));
      shifts_.back() = shift;
      nest_.stores.back().second_of_pair = pairs && !shift.is_const(0);
      shift = shift + step;
    }
  }

  struct Loaded {
    const Node* node;
    SizeVec strides;
    int value;
  };

  const FusionGroup& group_;
  LoopNest nest_;
  std::vector<const Node*> buffers_;
  std::vector<Size> shifts_;
  std::vector<Loaded> loads_;
  std::unordered_map<const Node*, int> value_of_;
  std::unordered_map<const Node*, std::vector<int>> stacked_;  // values by the stack they go into
  std::unordered_map<std::int64_t, int> converted_;
};

// A nest without a fold walks no element at all if one of its axes is empty. Where a folded axis may be, members that
// do not span the folded axes get a piece of their own before those that do. Returns the last piece's number.
int part_from_empty_axes(const FusionGroup& group, std::unordered_map<const Node*, int>& stage, int last) {
  bool may_be_empty = false;
  for (std::size_t i = 0; i < group.extents.size(); ++i) {
    const Size& n = group.extents[i];
    may_be_empty |= (group.reduced >> i & 1) && n.is_const(0);  // symbols are at least 2
  }
  if (!may_be_empty) return last;
  std::unordered_set<int> folding;
  for (const FusionGroup::Member& m : group.members)
    if (is_reduction(*m.node)) folding.insert(stage[m.node]);
  for (const FusionGroup::Member& m : group.members) {
    int& s = stage[m.node];
    const bool spans =
        std::any_of(m.axes.begin(), m.axes.end(), [&](int a) { return a >= 0 && group.reduced >> a & 1; });
    s = 2 * s + (spans && !folding.contains(s) ? 1 : 0);
  }
  return 2 * last + 1;
}

// One group per number of reductions behind a member: each piece folds at most once, and what follows reads its results
// from memory.
std::vector<FusionGroup> split_by_stage(const FusionGroup& group) {
  std::unordered_map<const Node*, int> stage;
  int last = 0;
  for (const FusionGroup::Member& m : group.members) {
    int s = 0;
    for_each_input(*m.node, [&](const Node* in) {
      if (const auto it = stage.find(in); it != stage.end()) s = std::max(s, it->second + (is_reduction(*in) ? 1 : 0));
    });
    stage[m.node] = s;
    last = std::max(last, s);
  }
  last = part_from_empty_axes(group, stage, last);
  std::unordered_set<const Node*> needed(group.outputs.begin(), group.outputs.end());
  for (const FusionGroup::Member& m : group.members)
    for_each_input(*m.node, [&](const Node* in) {
      if (const auto it = stage.find(in); it != stage.end() && it->second != stage[m.node]) needed.insert(in);
    });
  // A view of what another piece has stored is read as any tensor is.
  const auto views_elsewhere = [&](const FusionGroup::Member& m) {
    if (!is_view_member(*m.node)) return false;
    const auto base = stage.find(m.node->args[0].get<Node*>());
    return base == stage.end() || base->second != stage[m.node];
  };
  std::vector<FusionGroup> pieces(static_cast<std::size_t>(last) + 1);
  for (const FusionGroup::Member& m : group.members) {
    if (views_elsewhere(m)) continue;
    FusionGroup& piece = pieces[static_cast<std::size_t>(stage[m.node])];
    piece.extents = group.extents;
    piece.device = group.device;
    piece.members.push_back(m);
    if (needed.contains(m.node)) piece.outputs.push_back(m.node);
    if (is_reduction(*m.node)) piece.reduced = group.reduced;
  }
  std::erase_if(pieces, [](const FusionGroup& piece) { return piece.members.empty(); });
  return pieces;
}

std::vector<FusionGroup> split_by_member(const FusionGroup& group) {
  std::vector<FusionGroup> pieces;
  for (const FusionGroup::Member& m : group.members) {
    if (is_view_member(*m.node)) continue;
    FusionGroup piece;
    piece.extents = group.extents;
    piece.device = group.device;
    piece.members = {m};
    piece.outputs = {m.node};
    piece.reduced = is_reduction(*m.node) ? group.reduced : 0;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// Without a reduction, an axis no member varies along is not walked.
void drop_idle_axes(FusionGroup& piece) {
  if (piece.reduced) return;
  for (std::size_t i = 0; i < piece.extents.size(); ++i) {
    const bool used = std::any_of(piece.members.begin(), piece.members.end(), [&](const FusionGroup::Member& m) {
      return std::find(m.axes.begin(), m.axes.end(), static_cast<int>(i)) != m.axes.end();
    });
    if (!used) piece.extents[i] = 1;
  }
}

}  // namespace

bool walks_columns_again(const LoopNest& nest, const SplitLimits& limits) {
  if (nest.fold_lanes != kOuterLanes || kept_loops(nest).empty() || can_schedule(nest)) return false;
  const std::vector<Loop> folded = folded_loops(nest);
  if (folded.size() != 1) return false;
  const Size count = extent(nest, folded[0]);
  return count.is_const() && count.value() > 0 && count.value() <= limits.walked_again;
}

std::vector<LoweredGroup> lower_group(const FusionGroup& group, const SplitLimits& limits) {
  std::vector<LoweredGroup> result;
  const auto lower = [&](FusionGroup piece) {
    drop_idle_axes(piece);
    LoweredGroup lowered = GroupLowering(piece).run();
    if (!can_schedule(lowered.nest) && !walks_columns_again(lowered.nest, limits)) return false;
    if (lowered.nest.stores.empty()) return true;
    const FoldShape shape = fold_shape(lowered, limits);
    if (shape == FoldShape::WalkedAgain) return false;
    if (shape == FoldShape::Splits) {
      SplitFold split = split_fold(lowered, limits);
      result.push_back(std::move(split.parts));
      result.push_back(std::move(split.rest));
    } else {
      result.push_back(std::move(lowered));
    }
    return true;
  };
  if (lower(group)) return result;
  for (const FusionGroup& piece : split_by_stage(group)) {
    if (lower(piece)) continue;
    for (const FusionGroup& single : split_by_member(piece))
      if (!lower(single)) {
        LoweredGroup call;
        call.call = single.members[0].node;
        result.push_back(std::move(call));
      }
  }
  return result;
}

}  // namespace md
