// Copies as nests of their own, and stores of other nests turned to where a write would copy to.
#include "backend/executable/lower_writes.h"

#include <algorithm>
#include <unordered_set>

#include "backend/nest/schedule.h"
#include "ir/compile/passes/stacks.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

// Strides along the axes of the group of what is computed for `value` and stored with `strides`.
SizeVec strides_in(const FusionGroup& group, const Node& value, const SizeVec& strides) {
  return along_axes(group, *std::ranges::find(group.members, &value, &FusionGroup::Member::node), strides);
}

SizeVec strides_of(const Arg& list) {
  SizeVec strides;
  for (const Arg& s : list.get<ListArg>().items) strides.push_back(s.get<Size>());
  return strides;
}

// A place of complex numbers as that of their parts.
Place of_parts(Place p) {
  p.type.dtype = to_real(p.type.dtype);
  for (Size& s : p.type.strides) s = s * 2;
  p.type.sizes.push_back(2), p.type.strides.push_back(1);
  p.type.offset = p.type.offset * 2, p.shift = p.shift * 2;
  return p;
}

// The part of `whole` that a write_view or commit with these arguments writes.
Place part(Place whole, const Node& source, const Arg& strides, const Arg& offset) {
  whole.type.sizes = source.type().sizes;
  whole.type.strides = strides_of(strides);
  whole.shift = whole.shift + offset.get<Size>();
  return whole;
}

}  // namespace

WriteLowering::WriteLowering(const Graph& functional, const std::vector<FusionGroup>& groups, const TargetOf& target_of,
                             ValuePlaces& places, Executable& executable)
    : target_of_(target_of), places_(places), executable_(executable), direct_(functional, groups) {
  std::unordered_map<const Node*, int> readers;
  for (const auto& n : functional.nodes) for_each_input(*n, [&](const Node* in) { ++readers[in]; });
  for (const auto& n : functional.nodes) {
    if (n->kind != NodeKind::Op || n->op != id::WriteView) continue;
    const Node* source = n->args[1].get<Node*>();
    if (readers[source] == 1 && stacked_dim(*source) < 0) written_by_[source] = n.get();
  }
}

// --- Commits ----------------------------------------------------------------------------------------------------

bool WriteLowering::store_into_inputs(std::vector<LoweredGroup>& lowered, const FusionGroup& group) {
  bool any = false;
  for (const auto& [value, commit] : direct_.made_by(group, lowered)) {
    if (written_by_.contains(value)) continue;
    const Place to = target_of(*commit);
    for (LoweredGroup& l : lowered) any |= store_into(l, group, *value, to);
  }
  return any;
}

bool WriteLowering::store_into(LoweredGroup& l, const FusionGroup& group, const Node& value, const Place& to) {
  LoopNest nest = l.nest;
  const std::size_t loads = nest.accesses.size();
  const auto at = std::find(l.buffers.begin() + static_cast<std::ptrdiff_t>(loads), l.buffers.end(), &value);
  if (at == l.buffers.end()) return false;
  const int buffer = static_cast<int>(at - l.buffers.begin());
  const auto store = std::ranges::find(nest.stores, buffer, [](const Store& s) { return s.to.buffer; });
  store->to = nest.access(buffer, to.type.dtype, strides_in(group, value, to.type.strides));
  if (!can_schedule(nest)) return false;
  bool reads = false;
  for (const Access& a : nest.accesses) {
    const Node* loaded = l.buffers[static_cast<std::size_t>(a.buffer)];
    if (!loaded || !places_.is_known(loaded)) continue;
    const Place from = places_.of(loaded);
    if (from.slot != to.slot) continue;
    reads = true;
    if (!(from.shift == to.shift && a.strides == store->to.strides)) return false;
  }
  const Target& target = target_of_(group.device);
  if (reads && !(DirectCommits::loads_before_storing(nest, *store) &&
                 (target.is_gpu() || compile_nest(nest, target).schedule.pass.empty())))
    return false;
  l.nest = std::move(nest);
  places_.set(value, to);
  return true;
}

// The memory a commit writes.
Place WriteLowering::target_of(const Node& commit) const {
  Place to = executable_.inputs.at(static_cast<std::size_t>(commit.index));
  if (commit.args.size() > 1) to = part(to, *commit.args[0].get<Node*>(), commit.args[1], commit.args[2]);
  return to;
}

void WriteLowering::add_commit(const Node& n) {
  const Place from = places_.of(n.args[0].get<Node*>()), to = target_of(n);
  executable_.committed.push_back(n.index);
  if (from.slot == to.slot) return;  // stored there by the nest that computed it
  places_.use(from);
  executable_.commits.push_back(copy_launch(from, to));
}

// --- write_view -------------------------------------------------------------------------------------------------

void WriteLowering::store_into_writes(LoweredGroup& l, const FusionGroup& group) {
  std::unordered_set<const Node*> unfinished;  // they lack what this nest will store, so nobody copies them yet
  for (std::size_t i = l.nest.accesses.size(); i < l.buffers.size(); ++i) {
    const Node* n = l.buffers[i];
    const auto found = written_by_.find(n);
    if (found == written_by_.end() || !places_.is_known(found->second->args[0].get<Node*>())) continue;
    const Node& write = *found->second;
    if (unfinished.contains(memory_root(write.args[0].get<Node*>()))) continue;
    LoopNest nest = l.nest;
    const SizeVec strides = strides_in(group, *n, strides_of(write.args[2]));
    for (Store& s : nest.stores)
      if (s.to.buffer == static_cast<int>(i)) s.to = nest.access(s.to.buffer, n->type().dtype, strides);
    if (!can_schedule(nest)) continue;
    l.nest = std::move(nest);
    unfinished.insert(&write);
    places_.set(*n, part(copy_base(write), *n, write.args[2], write.args[3]));
  }
}

void WriteLowering::add_write_view(const Node& n) {
  if (places_.contains(n)) return;  // its source was stored in place
  const Node* source = n.args[1].get<Node*>();
  add_copy(places_.of(source), part(copy_base(n), *source, n.args[2], n.args[3]));
}

Place WriteLowering::copy_base(const Node& write) {
  const Place base = places_.of(write.args[0].get<Node*>());
  const Place whole = places_.define(write, {.type = write.type()});
  add_copy(base, whole);
  return whole;
}

void WriteLowering::add_copy(const Place& from, const Place& to) {
  Launch s = copy_launch(from, to);
  for (const Place& p : s.buffers) places_.use(p);
  executable_.launches.push_back(std::move(s));
}

// Copying one tensor over another of the same sizes: a nest of its own.
Launch WriteLowering::copy_launch(const Place& from, const Place& to) const {
  if (is_complex(from.type.dtype) && is_complex(to.type.dtype)) return copy_launch(of_parts(from), of_parts(to));
  LoopNest nest;
  nest.extents = to.type.sizes;
  nest.buffers = 2;
  if (from.type.dtype != to.type.dtype || !(from.type.sizes == to.type.sizes) || !(from.type.device == to.type.device))
    throw InternalError("a copy between tensors of different types");
  nest.accesses.push_back(nest.access(0, from.type.dtype, from.type.strides));
  NestValue v;
  v.dtype = from.type.dtype;
  v.access = 0;
  const int value = nest.add(std::move(v));
  nest.stores.push_back({value, nest.access(1, to.type.dtype, to.type.strides)});
  const Device device = to.type.device;
  Launch s = nest_launch("copy", {.nest = std::move(nest)}, target_of_(device), device);
  s.buffers = {from, to};
  return s;
}

}  // namespace md
