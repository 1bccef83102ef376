// A fold of few long rows becomes two nests: partial results of pieces, then the fold of those.
#include "backend/nest/split_fold.h"

#include "registry/reduction_order.h"

namespace md {
namespace {

class Splitter {
 public:
  Splitter(const LoweredGroup& group, const SplitLimits& limits) : whole_(group), nest_(group.nest), limits_(limits) {
    for (std::size_t i = 0; i < nest_.extents.size(); ++i) {
      if ((nest_.reduced >> i) & 1) {
        folded_ = folded_ * nest_.extents[i];
        if (!nest_.extents[i].is_const(1)) part_axis_ = i;
      } else {
        kept_ = kept_ * nest_.extents[i];
      }
    }
  }

  bool few_long_rows() const {
    if (likely(folded_) < 2 * limits_.part) return false;
    if (nest_.fold_lanes == kInnerLanes) return likely(kept_) <= limits_.most_blocks;
    constexpr std::int64_t kColumnsOfBlock = 32;
    return limits_.columns && nest_.fold_lanes == kOuterLanes && likely(kept_) <= limits_.most_blocks * kColumnsOfBlock;
  }
  bool walked_once() const {
    for (const NestValue& v : nest_.values)
      if (v.stage > 1 || (v.stage == 1 && varies(v))) return false;
    return true;
  }

  SplitFold run() {
    count_ = floordiv(folded_ + Size(limits_.part - 1), Size(limits_.part));
    SplitFold s;
    build_parts(s.parts);
    build_rest(s.rest);
    return s;
  }

 private:
  bool is_fold(const NestValue& v) const { return v.kind == NestValue::Kind::Reduce; }
  bool varies(const NestValue& v) const { return (v.axes & nest_.reduced) != 0; }

  // Everything up to the folds, and results that vary along the folded axes.
  void build_parts(LoweredGroup& out) {
    out.nest.extents = nest_.extents, out.nest.reduced = nest_.reduced, out.nest.fold_lanes = nest_.fold_lanes;
    out.part = limits_.part;
    std::vector<int> to(nest_.values.size(), -1), folds;
    for (std::size_t i = 0; i < nest_.values.size(); ++i) {
      const NestValue& v = nest_.values[i];
      if (v.stage > 0 && !is_fold(v)) continue;
      to[i] = copy(out, v, to);
      if (is_fold(v)) folds.push_back(to[i]);
    }
    for (const Store& s : nest_.stores)
      if (varies(nest_.values[static_cast<std::size_t>(s.value)])) add_store(out, s, to);
    for (int f : folds) {
      const DType t = out.nest.values[static_cast<std::size_t>(f)].dtype;
      out.nest.stores.push_back({f, out.nest.access(add_scratch(out), t, scratch_strides(false))});
      out.scratch.push_back(scratch_type(t));
    }
    out.nest.buffers = static_cast<int>(out.buffers.size());
  }

  void build_rest(LoweredGroup& out) {
    out.nest.extents = nest_.extents, out.nest.reduced = nest_.reduced;
    for (std::size_t i = 0; i < nest_.extents.size(); ++i)
      if ((nest_.reduced >> i) & 1) out.nest.extents[i] = i == part_axis_ ? count_ : Size(1);
    out.nest.fold_lanes = 1;
    std::vector<int> to(nest_.values.size(), -1);
    for (std::size_t i = 0; i < nest_.values.size(); ++i) {
      NestValue v = nest_.values[i];
      if (!is_fold(v)) {
        if (!varies(v)) to[i] = copy(out, v, to);
        continue;
      }
      NestValue load;
      load.dtype = v.dtype;
      load.access = static_cast<int>(out.nest.accesses.size());
      out.nest.accesses.push_back(out.nest.access(add_scratch(out), v.dtype, scratch_strides(true)));
      v.args = {out.nest.add(std::move(load))};
      to[i] = out.nest.add(std::move(v));
    }
    for (const Store& s : nest_.stores)
      if (!varies(nest_.values[static_cast<std::size_t>(s.value)])) add_store(out, s, to);
    out.nest.buffers = static_cast<int>(out.buffers.size());
  }

  int copy(LoweredGroup& out, NestValue v, const std::vector<int>& to) {
    for (int& a : v.args) a = to[static_cast<std::size_t>(a)];
    if (v.kind == NestValue::Kind::Load) {
      Access a = nest_.accesses[static_cast<std::size_t>(v.access)];
      a.buffer = add_buffer(out, a.buffer);
      v.access = static_cast<int>(out.nest.accesses.size());
      out.nest.accesses.push_back(std::move(a));
    }
    return out.nest.add(std::move(v));
  }

  void add_store(LoweredGroup& out, Store s, const std::vector<int>& to) {
    s.second_of_pair = false;  // the other one may go elsewhere
    s.value = to[static_cast<std::size_t>(s.value)];
    s.to.buffer = add_buffer(out, s.to.buffer);
    out.nest.stores.push_back(std::move(s));
  }

  // Buffer `i` of the whole.
  int add_buffer(LoweredGroup& out, int i) const {
    const auto at = static_cast<std::size_t>(i);
    out.buffers.push_back(whole_.buffers[at]);
    if (at < whole_.shifts.size()) {
      out.shifts.resize(out.buffers.size(), Size(0));
      out.shifts.back() = whole_.shifts[at];
    }
    return static_cast<int>(out.buffers.size()) - 1;
  }
  static int add_scratch(LoweredGroup& out) {
    out.buffers.push_back(nullptr);
    return static_cast<int>(out.buffers.size()) - 1;
  }

  bool keeps_last() const { return nest_.fold_lanes == kOuterLanes; }

  // Row-major over the kept axes; parts innermost, or outermost where neighbouring columns are folded side by side.
  SizeVec scratch_strides(bool walk_parts) const {
    SizeVec strides(nest_.extents.size(), Size(0));
    Size step = keeps_last() ? Size(1) : count_;
    for (std::size_t i = nest_.extents.size(); i-- > 0;) {
      if ((nest_.reduced >> i) & 1) continue;
      strides[i] = step;
      step = step * nest_.extents[i];
    }
    if (walk_parts) strides[part_axis_] = keeps_last() ? kept_ : Size(1);
    return strides;
  }

  TensorType scratch_type(DType t) const {
    TensorType type;
    type.dtype = t;
    type.sizes = {kept_, count_};
    type.strides = {count_, Size(1)};
    if (keeps_last()) type.strides = {Size(1), kept_};
    return type;
  }

  const LoweredGroup& whole_;
  const LoopNest& nest_;
  const SplitLimits& limits_;
  Size kept_ = 1, folded_ = 1, count_ = 1;
  std::size_t part_axis_ = 0;
};

}  // namespace

FoldShape fold_shape(const LoweredGroup& group, const SplitLimits& limits) {
  if (group.call || !group.nest.reduced) return FoldShape::Plain;
  const Splitter splitter(group, limits);
  if (!splitter.few_long_rows()) return FoldShape::Plain;
  return splitter.walked_once() ? FoldShape::Splits : FoldShape::WalkedAgain;
}

SplitFold split_fold(const LoweredGroup& group, const SplitLimits& limits) { return Splitter(group, limits).run(); }

}  // namespace md
