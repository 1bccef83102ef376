#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backend/executable/executable.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& g, const Checkpoint& checkpoint) : graph_(g), checkpoint_(checkpoint) {
    program_.shapes = g.shapes;
  }

  Program run() {
    add_inputs();
    find_direct_writes();
    for (const FusionGroup& group : fuse(graph_)) {
      if (checkpoint_) checkpoint_();
      add_group(group);
    }
    for (const auto& n : graph_.nodes)
      if (n->kind == NodeKind::Commit) add_commit(*n);
    add_outputs();
    return std::move(program_);
  }

 private:
  void add_inputs() {
    int number = 0;
    for (const auto& n : graph_.nodes) {
      if (n->kind == NodeKind::Placeholder) {
        if (n->types.empty()) throw InternalError("input " + n->name + " is not a tensor");
        Slot s{.kind = Slot::Kind::Input, .input = number++, .type = n->type()};
        program_.inputs.push_back(define(*n, std::move(s)));
        find_symbols(program_.inputs.back());
      } else if (n->kind == NodeKind::GetAttr) {
        Slot s{.kind = Slot::Kind::Constant, .constant = n->constant, .type = n->type()};
        define(*n, std::move(s));
      }
    }
    const std::size_t known = graph_.shapes ? graph_.shapes->symbols().size() : 0;
    program_.symbols.resize(known);
  }

  Place define(const Node& n, Slot slot) {
    Place p{.slot = static_cast<int>(program_.slots.size()), .type = slot.type};
    program_.slots.push_back(std::move(slot));
    return program_.places[&n] = p;
  }

  // Sizes of inputs that are a symbol say what its value is.
  void find_symbols(const Place& p) {
    if (!graph_.shapes) return;
    program_.symbols.resize(graph_.shapes->symbols().size());
    for (int d = 0; d < p.type.dim(); ++d) {
      const auto symbol = symbol_index(p.type.sizes[static_cast<std::size_t>(d)]);
      if (!symbol) continue;
      SymbolSource& s = program_.symbols[static_cast<std::size_t>(*symbol)];
      if (s.input < 0) s = {program_.slots[static_cast<std::size_t>(p.slot)].input, d};
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
      case FusionGroup::Kind::Loops:
        for (LoweredGroup& l : lower_group(group)) {
          if (l.call)
            add_call(*l.call);
          else
            add_nest(std::move(l), group);
        }
        return;
    }
  }

  void add_nest(LoweredGroup l, const FusionGroup& group) {
    place_direct_writes(l, group);
    Step s{.nest = compile_nest(l.nest)};
    s.part = l.part;
    const std::size_t loads = l.nest.accesses.size();
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < l.buffers.size(); ++i) {
      if (!l.buffers[i]) {
        if (i >= loads) {
          scratch_.resize(scratch);
          scratch_.push_back({.slot = static_cast<int>(program_.slots.size()), .type = l.scratch[scratch]});
          program_.slots.push_back({.type = l.scratch[scratch]});
          s.part_buffers.push_back(static_cast<int>(i));
        }
        s.buffers.push_back(use(scratch_[scratch++]));
        continue;
      }
      if (i >= loads && !program_.places.contains(l.buffers[i])) define(*l.buffers[i], {.type = l.buffers[i]->type()});
      s.buffers.push_back(use(place(l.buffers[i])));
    }
    for (const NestValue& v : l.nest.values)
      s.can_fail |= v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail;
    program_.steps.push_back(std::move(s));
  }

  void add_call(const Node& n) {
    const Op& o = op(n.op);
    if (o.kind() == OpKind::Composite)
      throw InternalError(n.name + ": this backend does not run " + std::string(o.name()));
    program_.draws_random |= o.kind() == OpKind::Random;
    Step s{.op = n.op, .args = n.args};
    for_each_input(n, [&](const Node* in) { use(place(in)); });
    if (n.types.empty()) throw InternalError(n.name + " has no tensor result");
    for (std::size_t i = 0; i < n.types.size(); ++i) {
      Place p{.slot = static_cast<int>(program_.slots.size()), .type = n.types[i]};
      program_.slots.push_back({.type = n.types[i]});
      if (!n.multi) program_.places[&n] = p;
      s.results.push_back(use(p));
    }
    if (n.multi) parts_[&n] = s.results;
    program_.steps.push_back(std::move(s));
  }

  // Code outside may keep what it is given, and brings its results itself.
  void add_call_out(const Node& n) {
    Step s{.args = n.args, .callee = n.callee};
    program_.draws_random |= n.callee != nullptr;  // it may
    for (const auto& region : n.regions) {
      s.regions.push_back(std::make_shared<const Program>(build_program(*region)));
      program_.draws_random |= s.regions.back()->draws_random;
    }
    for_each_input(n, [&](const Node* in) {
      Slot& slot = program_.slots[static_cast<std::size_t>(use(place(in)).slot)];
      if (n.callee && slot.kind == Slot::Kind::Temporary) slot.kind = Slot::Kind::Own;
    });
    for (const TensorType& t : n.types) {
      Place p{.slot = static_cast<int>(program_.slots.size()), .type = t};
      program_.slots.push_back({.kind = Slot::Kind::Made, .type = t});
      s.results.push_back(use(p));
    }
    parts_[&n] = s.results;
    program_.steps.push_back(std::move(s));
  }

  // Where a value is: views are their operand's memory with other sizes and strides.
  Place place(const Node* n) {
    std::vector<const Node*> views;  // on the way down; chains may be as long as the program
    while (is_view(*n) && !program_.places.contains(n)) {
      views.push_back(n);
      n = n->args[0].get<Node*>();
    }
    Place p = computed(n);
    for (; !views.empty(); n = views.back(), views.pop_back()) {
      const Node* const view = views.back();
      p.shift = p.shift + (view->type().offset - n->type().offset);
      p.type = view->type();
      program_.places[view] = p;
    }
    return p;
  }
  Place computed(const Node* n) {
    if (const auto it = program_.places.find(n); it != program_.places.end()) return it->second;
    if (n->kind != NodeKind::GetItem) throw InternalError(n->name + " is used before it is computed");
    const auto it = parts_.find(n->args[0].get<Node*>());
    if (it == parts_.end()) throw InternalError(n->name + " takes a part of something that has none");
    return program_.places[n] = it->second.at(static_cast<std::size_t>(n->index));
  }

  const Place& use(const Place& p) {
    program_.slots[static_cast<std::size_t>(p.slot)].last_step = static_cast<int>(program_.steps.size());
    return p;
  }

  // Copying one tensor over another of the same sizes: a nest of its own.
  static Step copy_step(const Place& from, const Place& to) {
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
    return {.nest = compile_nest(nest), .buffers = {from, to}};
  }

  // The part of `whole` that a write_view or commit with these arguments writes.
  static Place part(Place whole, const Node& source, const Arg& strides, const Arg& offset) {
    whole.type.sizes = source.type().sizes;
    whole.type.strides.clear();
    for (const Arg& s : strides.get<ListArg>().items) whole.type.strides.push_back(s.get<Size>());
    whole.shift = whole.shift + offset.get<Size>();
    return whole;
  }

  void add_commit(const Node& n) {
    const Node* value = n.args[0].get<Node*>();
    const Place from = place(value);
    Place to = program_.inputs.at(static_cast<std::size_t>(n.index));
    if (n.args.size() > 1) to = part(to, *value, n.args[1], n.args[2]);
    keep(from);
    program_.commits.push_back(copy_step(from, to));
    program_.committed.push_back(n.index);
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
    while (!program_.places.contains(n)) {
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
    Step s = copy_step(from, to);
    for (const Place& p : s.buffers) use(p);
    program_.steps.push_back(std::move(s));
  }

  void add_write_view(const Node& n) {
    if (program_.places.contains(&n)) return;  // its source was stored in place
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
      program_.places[n] = to;
      const auto m = std::ranges::find(group.members, n, &FusionGroup::Member::node);
      SizeVec strides(l.nest.extents.size(), Size(0));
      for (std::size_t d = 0; d < m->axes.size(); ++d)
        if (m->axes[d] >= 0) strides[static_cast<std::size_t>(m->axes[d])] = to.type.strides[d];
      for (Store& s : l.nest.stores)
        if (s.to.buffer == static_cast<int>(i)) s.to = l.nest.access(s.to.buffer, n->type().dtype, strides);
    }
  }

  void keep(const Place& p) {
    program_.slots[static_cast<std::size_t>(p.slot)].last_step = static_cast<int>(program_.steps.size());
  }

  void add_outputs() {
    const Node* out = graph_.output();
    if (!out) throw InternalError("a graph without output");
    std::unordered_map<const Node*, int> seen;
    for (const Arg& a : out->args.at(0).get<ListArg>().items) {
      const auto* n = a.get_if<Node*>();
      if (!n) throw InternalError("an output that is no tensor");
      Place p = place(*n);
      Slot& s = program_.slots[static_cast<std::size_t>(p.slot)];
      if (s.kind == Slot::Kind::Temporary || s.kind == Slot::Kind::Own) s.kind = Slot::Kind::Output;
      const auto [first, fresh] = seen.emplace(*n, static_cast<int>(program_.outputs.size()));
      program_.output_inputs.push_back((*n)->kind == NodeKind::Placeholder ? s.input : -1);
      program_.output_repeats.push_back(fresh ? -1 : first->second);
      program_.outputs.push_back(std::move(p));
    }
  }

  const Graph& graph_;
  const Checkpoint& checkpoint_;
  Program program_;
  std::unordered_map<const Node*, std::vector<Place>> parts_;
  std::vector<Place> scratch_;                               // of the fold that was split last
  std::unordered_map<const Node*, const Node*> written_by_;  // source -> the write_view that alone reads it
};

}  // namespace

Program build_program(const Graph& functional, const Checkpoint& checkpoint) {
  return ProgramBuilder(functional, checkpoint).run();
}

std::string print_program(const Graph& functional) {
  std::string text;
  for (const FusionGroup& group : fuse(functional)) {
    const auto call = [&](const Node& n) {
      text += fmt::format("; {} = {}\n\n", n.name, n.kind == NodeKind::Call ? n.target : op(n.op).name());
      for (const auto& region : n.regions) text += fmt::format("; {}:\n{}", region->name, print_program(*region));
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
      text += "\n" + print_nest(l.nest) + "\n";
    }
  }
  return text;
}

}  // namespace md
