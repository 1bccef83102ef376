// From a functional graph to launches over slots: groups are fused, views placed, writes stored where they belong.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/executable/direct_commits.h"
#include "backend/executable/executable.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

class ExecutableBuilder {
 public:
  ExecutableBuilder(const Graph& g, const Target& target, const Checkpoint& checkpoint)
      : graph_(g), target_(target), checkpoint_(checkpoint) {
    executable_.shapes = g.shapes;
  }

  Executable run() {
    add_inputs();
    find_direct_writes();
    const std::vector<FusionGroup> groups = fuse(graph_);
    DirectCommits direct(graph_, groups);
    direct_ = &direct;
    for (const FusionGroup& group : groups) {
      if (checkpoint_) checkpoint_();
      add_group(group);
    }
    for (const Launch& s : executable_.commits)
      for (const Place& p : s.buffers) keep(p);
    for (const auto& n : graph_.nodes)
      if (n->kind == NodeKind::Commit) add_commit(*n);
    add_outputs();
    return std::move(executable_);
  }

 private:
  void add_inputs() {
    int number = 0;
    for (const auto& n : graph_.nodes) {
      if (n->kind == NodeKind::Placeholder) {
        if (n->types.empty()) throw InternalError("input " + n->name + " is not a tensor");
        Slot s{.kind = Slot::Kind::Input, .input = number++, .type = n->type()};
        executable_.inputs.push_back(define(*n, std::move(s)));
        find_symbols(executable_.inputs.back());
      } else if (n->kind == NodeKind::GetAttr) {
        Slot s{.kind = Slot::Kind::Constant, .constant = n->constant, .type = n->type()};
        define(*n, std::move(s));
      }
    }
    const std::size_t known = graph_.shapes ? graph_.shapes->symbols().size() : 0;
    executable_.symbols.resize(known);
  }

  Place define(const Node& n, Slot slot) {
    Place p{.slot = static_cast<int>(executable_.slots.size()), .type = slot.type};
    executable_.slots.push_back(std::move(slot));
    return executable_.places[&n] = p;
  }

  // Sizes of inputs that are a symbol say what its value is.
  void find_symbols(const Place& p) {
    if (!graph_.shapes) return;
    executable_.symbols.resize(graph_.shapes->symbols().size());
    for (int d = 0; d < p.type.dim(); ++d) {
      const auto symbol = symbol_index(p.type.sizes[static_cast<std::size_t>(d)]);
      if (!symbol) continue;
      SymbolSource& s = executable_.symbols[static_cast<std::size_t>(*symbol)];
      if (s.input < 0) s = {executable_.slots[static_cast<std::size_t>(p.slot)].input, d};
    }
  }

  void add_group(const FusionGroup& group) {
    switch (group.kind) {
      case FusionGroup::Kind::View:
        for (const FusionGroup::Member& m : group.members) place(m.node);
        return;
      case FusionGroup::Kind::Call:
        for (const FusionGroup::Member& m : group.members) {
          if (m.node->kind == NodeKind::GetItem) continue;  // a part of the call before it
          if (m.node->kind == NodeKind::Call)
            add_call_out(*m.node);
          else if (m.node->op == id::WriteView)
            add_write_view(*m.node);
          else
            add_call(*m.node);
        }
        return;
      case FusionGroup::Kind::Loops: {
        std::vector<LoweredGroup> lowered = lower_group(group);
        const bool commits = store_into_inputs(lowered, group);
        for (LoweredGroup& l : lowered) {
          if (l.call)
            add_call(*l.call);
          else
            add_nest(std::move(l), group, commits);
        }
        return;
      }
    }
  }

  // `commits`: it stores into inputs, hence after everything that can fail.
  void add_nest(LoweredGroup l, const FusionGroup& group, bool commits) {
    place_direct_writes(l, group);
    Launch s{.nest = compile_nest(l.nest, target_)};
    s.part = l.part;
    const std::size_t loads = l.nest.accesses.size();
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < l.buffers.size(); ++i) {
      if (!l.buffers[i]) {
        if (i >= loads) {
          scratch_.resize(scratch);
          scratch_.push_back({.slot = static_cast<int>(executable_.slots.size()), .type = l.scratch[scratch]});
          executable_.slots.push_back({.type = l.scratch[scratch]});
          s.part_buffers.push_back(static_cast<int>(i));
        }
        s.buffers.push_back(use(scratch_[scratch++]));
        continue;
      }
      if (i >= loads && !executable_.places.contains(l.buffers[i]))
        define(*l.buffers[i], {.type = l.buffers[i]->type()});
      s.buffers.push_back(use(place(l.buffers[i])));
    }
    for (const NestValue& v : l.nest.values)
      s.can_fail |= v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail;
    (commits ? executable_.commits : executable_.launches).push_back(std::move(s));
  }

  void add_call(const Node& n) {
    const Op& o = op(n.op);
    if (o.kind() == OpKind::Composite)
      throw InternalError(n.name + ": this backend does not run " + std::string(o.name()));
    executable_.draws_random |= o.kind() == OpKind::Random;
    Launch s{.op = n.op, .args = n.args};
    for_each_input(n, [&](const Node* in) { use(place(in)); });
    if (n.types.empty()) throw InternalError(n.name + " has no tensor result");
    for (std::size_t i = 0; i < n.types.size(); ++i) {
      Place p{.slot = static_cast<int>(executable_.slots.size()), .type = n.types[i]};
      executable_.slots.push_back({.type = n.types[i]});
      if (!n.multi) executable_.places[&n] = p;
      s.results.push_back(use(p));
    }
    if (n.multi) parts_[&n] = s.results;
    executable_.launches.push_back(std::move(s));
  }

  // Code outside may keep what it is given, and brings its results itself.
  void add_call_out(const Node& n) {
    Launch s{.args = n.args, .callee = n.callee};
    executable_.draws_random |= n.callee != nullptr;  // it may
    for (const auto& region : n.regions) {
      s.regions.push_back(std::make_shared<const Executable>(build_executable(*region, target_)));
      executable_.draws_random |= s.regions.back()->draws_random;
    }
    for_each_input(n, [&](const Node* in) {
      Slot& slot = executable_.slots[static_cast<std::size_t>(use(place(in)).slot)];
      if (n.callee && slot.kind == Slot::Kind::Temporary) slot.kind = Slot::Kind::Own;
    });
    for (const TensorType& t : n.types) {
      Place p{.slot = static_cast<int>(executable_.slots.size()), .type = t};
      executable_.slots.push_back({.kind = Slot::Kind::Made, .type = t});
      s.results.push_back(use(p));
    }
    parts_[&n] = s.results;
    executable_.launches.push_back(std::move(s));
  }

  // Where a value is: views are their operand's memory with other sizes and strides.
  Place place(const Node* n) {
    std::vector<const Node*> views;  // on the way down; chains may be as long as the program
    while (is_view(*n) && !executable_.places.contains(n)) {
      views.push_back(n);
      n = n->args[0].get<Node*>();
    }
    Place p = computed(n);
    for (; !views.empty(); n = views.back(), views.pop_back()) {
      const Node* const view = views.back();
      p.shift = p.shift + (view->type().offset - n->type().offset);
      p.type = view->type();
      executable_.places[view] = p;
    }
    return p;
  }
  Place computed(const Node* n) {
    if (const auto it = executable_.places.find(n); it != executable_.places.end()) return it->second;
    if (n->kind != NodeKind::GetItem) throw InternalError(n->name + " is used before it is computed");
    const auto it = parts_.find(n->args[0].get<Node*>());
    if (it == parts_.end()) throw InternalError(n->name + " takes a part of something that has none");
    return executable_.places[n] = it->second.at(static_cast<std::size_t>(n->index));
  }

  const Place& use(const Place& p) {
    executable_.slots[static_cast<std::size_t>(p.slot)].last_launch = static_cast<int>(executable_.launches.size());
    return p;
  }

  // Copying one tensor over another of the same sizes: a nest of its own.
  Launch copy_launch(const Place& from, const Place& to) const {
    LoopNest nest;
    nest.extents = to.type.sizes;
    nest.buffers = 2;
    if (from.type.dtype != to.type.dtype || !(from.type.sizes == to.type.sizes))
      throw InternalError("a copy between tensors of different types");
    nest.accesses.push_back(nest.access(0, from.type.dtype, from.type.strides));
    NestValue v;
    v.dtype = from.type.dtype;
    v.access = 0;
    const int value = nest.add(std::move(v));
    nest.stores.push_back({value, nest.access(1, to.type.dtype, to.type.strides)});
    return {.nest = compile_nest(nest, target_), .buffers = {from, to}};
  }

  // The part of `whole` that a write_view or commit with these arguments writes.
  static Place part(Place whole, const Node& source, const Arg& strides, const Arg& offset) {
    whole.type.sizes = source.type().sizes;
    whole.type.strides.clear();
    for (const Arg& s : strides.get<ListArg>().items) whole.type.strides.push_back(s.get<Size>());
    whole.shift = whole.shift + offset.get<Size>();
    return whole;
  }

  // The memory a commit writes.
  Place target(const Node& commit) const {
    Place to = executable_.inputs.at(static_cast<std::size_t>(commit.index));
    if (commit.args.size() > 1) to = part(to, *commit.args[0].get<Node*>(), commit.args[1], commit.args[2]);
    return to;
  }

  void add_commit(const Node& n) {
    const Node* value = n.args[0].get<Node*>();
    const Place from = place(value), to = target(n);
    if (from.slot == to.slot) {  // stored there by the nest that computed it
      executable_.committed.push_back(n.index);
      return;
    }
    keep(from);
    executable_.commits.push_back(copy_launch(from, to));
    executable_.committed.push_back(n.index);
  }

  // Where nothing stands against it, values of commits are stored by the nests that compute them. Whether any is.
  bool store_into_inputs(std::vector<LoweredGroup>& lowered, const FusionGroup& group) {
    bool any = false;
    for (const auto& [value, commit] : direct_->made_by(group, lowered)) {
      if (written_by_.contains(value)) continue;
      const Place to = target(*commit);
      for (LoweredGroup& l : lowered) any |= store_into(l, group, *value, to);
    }
    return any;
  }

  bool store_into(LoweredGroup& l, const FusionGroup& group, const Node& value, const Place& to) {
    LoopNest nest = l.nest;
    const std::size_t loads = nest.accesses.size();
    const auto at = std::find(l.buffers.begin() + static_cast<std::ptrdiff_t>(loads), l.buffers.end(), &value);
    if (at == l.buffers.end()) return false;
    const int buffer = static_cast<int>(at - l.buffers.begin());
    const auto store = std::ranges::find(nest.stores, buffer, [](const Store& s) { return s.to.buffer; });
    store->to = nest.access(buffer, to.type.dtype, strides_in(nest, group, value, to));
    bool reads = false;
    for (const Access& a : nest.accesses) {
      const Node* loaded = l.buffers[static_cast<std::size_t>(a.buffer)];
      if (!loaded || !is_known(loaded)) continue;
      const Place from = place(loaded);
      if (from.slot != to.slot) continue;
      reads = true;
      if (!(from.shift == to.shift && a.strides == store->to.strides)) return false;
    }
    if (reads &&
        !(DirectCommits::loads_before_storing(nest, *store) && compile_nest(nest, target_).schedule.pass.empty()))
      return false;
    l.nest = std::move(nest);
    executable_.places[&value] = to;
    return true;
  }

  // Strides along the axes of the nest of what is computed for `value` and stored at `to`.
  static SizeVec strides_in(const LoopNest& nest, const FusionGroup& group, const Node& value, const Place& to) {
    const auto m = std::ranges::find(group.members, &value, &FusionGroup::Member::node);
    SizeVec strides(nest.extents.size(), Size(0));
    for (std::size_t d = 0; d < m->axes.size(); ++d)
      if (m->axes[d] >= 0) strides[static_cast<std::size_t>(m->axes[d])] = to.type.strides[d];
    return strides;
  }

  // --- write_view: the base is copied, then the source over its part
  // ---------------------------------------------------

  // Sources that nothing else reads are stored into the copy by the nest that computes them.
  void find_direct_writes() {
    std::unordered_map<const Node*, int> readers;
    for (const auto& n : graph_.nodes) for_each_input(*n, [&](const Node* in) { ++readers[in]; });
    for (const auto& n : graph_.nodes) {
      if (n->kind != NodeKind::Op || n->op != id::WriteView) continue;
      const Node* source = n->args[1].get<Node*>();
      if (readers[source] == 1) written_by_[source] = n.get();
    }
  }

  bool is_known(const Node* n) const {
    while (!executable_.places.contains(n)) {
      if (n->kind == NodeKind::GetItem) return parts_.contains(n->args[0].get<Node*>());
      if (!is_view(*n)) return false;
      n = n->args[0].get<Node*>();
    }
    return true;
  }

  // The node whose memory `n` shows.
  static const Node* viewed(const Node* n) {
    while (is_view(*n)) n = n->args[0].get<Node*>();
    return n;
  }

  Place copy_base(const Node& write) {
    const Place base = place(write.args[0].get<Node*>());
    const Place whole = define(write, {.type = write.type()});
    add_copy(base, whole);
    return whole;
  }

  void add_copy(const Place& from, const Place& to) {
    Launch s = copy_launch(from, to);
    for (const Place& p : s.buffers) use(p);
    executable_.launches.push_back(std::move(s));
  }

  void add_write_view(const Node& n) {
    if (executable_.places.contains(&n)) return;  // its source was stored in place
    const Node* source = n.args[1].get<Node*>();
    add_copy(place(source), part(copy_base(n), *source, n.args[2], n.args[3]));
  }

  // Results of `l` that go straight into a write_view: their places are parts of it.
  void place_direct_writes(LoweredGroup& l, const FusionGroup& group) {
    std::unordered_set<const Node*> unfinished;  // they lack what this nest will store, so nobody copies them yet
    for (std::size_t i = l.nest.accesses.size(); i < l.buffers.size(); ++i) {
      const Node* n = l.buffers[i];
      const auto found = written_by_.find(n);
      if (found == written_by_.end() || !is_known(found->second->args[0].get<Node*>())) continue;
      const Node& write = *found->second;
      if (unfinished.contains(viewed(write.args[0].get<Node*>()))) continue;
      unfinished.insert(&write);
      const Place to = part(copy_base(write), *n, write.args[2], write.args[3]);
      executable_.places[n] = to;
      const SizeVec strides = strides_in(l.nest, group, *n, to);
      for (Store& s : l.nest.stores)
        if (s.to.buffer == static_cast<int>(i)) s.to = l.nest.access(s.to.buffer, n->type().dtype, strides);
    }
  }

  void keep(const Place& p) {
    executable_.slots[static_cast<std::size_t>(p.slot)].last_launch = static_cast<int>(executable_.launches.size());
  }

  void add_outputs() {
    const Node* out = graph_.output();
    if (!out) throw InternalError("a graph without output");
    std::unordered_map<const Node*, int> seen;
    for (const Arg& a : out->args.at(0).get<ListArg>().items) {
      const auto* n = a.get_if<Node*>();
      if (!n) throw InternalError("an output that is no tensor");
      Place p = place(*n);
      Slot& s = executable_.slots[static_cast<std::size_t>(p.slot)];
      if (s.kind == Slot::Kind::Temporary || s.kind == Slot::Kind::Own) s.kind = Slot::Kind::Output;
      const auto [first, fresh] = seen.emplace(*n, static_cast<int>(executable_.outputs.size()));
      executable_.output_inputs.push_back((*n)->kind == NodeKind::Placeholder ? s.input : -1);
      executable_.output_repeats.push_back(fresh ? -1 : first->second);
      executable_.outputs.push_back(std::move(p));
    }
  }

  const Graph& graph_;
  const Target& target_;
  const Checkpoint& checkpoint_;
  Executable executable_;
  DirectCommits* direct_ = nullptr;
  std::unordered_map<const Node*, std::vector<Place>> parts_;
  std::vector<Place> scratch_;                               // of the fold that was split last
  std::unordered_map<const Node*, const Node*> written_by_;  // source -> the write_view that alone reads it
};

}  // namespace

Executable build_executable(const Graph& functional, const Target& target, const Checkpoint& checkpoint) {
  return ExecutableBuilder(functional, target, checkpoint).run();
}

std::string print_executable(const Graph& functional, const Target& target) {
  std::string text;
  for (const FusionGroup& group : fuse(functional)) {
    const auto call = [&](const Node& n) {
      text += fmt::format("; {} = {}\n\n", n.name, n.kind == NodeKind::Call ? n.target : op(n.op).name());
      for (const auto& region : n.regions)
        text += fmt::format("; {}:\n{}", region->name, print_executable(*region, target));
    };
    if (group.kind == FusionGroup::Kind::Call) call(*group.members[0].node);
    if (group.kind != FusionGroup::Kind::Loops) continue;
    for (const LoweredGroup& l : lower_group(group)) {
      if (l.call) {
        call(*l.call);
        continue;
      }
      text += ";";
      for (const FusionGroup::Member& m : group.members) text += " " + m.node->name;
      text += "\n" + print_nest(l.nest, target) + "\n";
    }
  }
  return text;
}

}  // namespace md
