#include <fmt/format.h>

#include <algorithm>

#include "backend/program.h"
#include "ir/error.h"
#include "ir/passes/dataflow.h"

namespace md {
namespace {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Graph& g) : graph_(g) { program_.shapes = g.shapes; }

  Program run() {
    add_inputs();
    for (const FusionGroup& group : fuse(graph_)) add_group(group);
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
      } else if (n->kind == NodeKind::Op && !n->regions.empty()) {
        throw InternalError(n->name + " owns graphs, which this backend does not run");
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
      const SizeExpr* e = p.type.sizes[static_cast<std::size_t>(d)].expr();
      if (!e || e->terms.size() != 1 || e->terms[0].coefficient != 1 || e->terms[0].factors.size() != 1) continue;
      const SizeAtom& a = *e->terms[0].factors[0];
      if (a.kind != AtomKind::Symbol) continue;
      SymbolSource& s = program_.symbols[static_cast<std::size_t>(a.symbol)];
      if (s.input < 0) s = {program_.slots[static_cast<std::size_t>(p.slot)].input, d};
    }
  }

  void add_group(const FusionGroup& group) {
    switch (group.kind) {
      case FusionGroup::Kind::View:
        for (const FusionGroup::Member& m : group.members) place(m.node);
        return;
      case FusionGroup::Kind::Call:
        for (const FusionGroup::Member& m : group.members) add_call(*m.node);
        return;
      case FusionGroup::Kind::Loops:
        for (LoweredGroup& l : lower_group(group)) {
          if (l.call)
            add_call(*l.call);
          else
            add_nest(std::move(l));
        }
        return;
    }
  }

  void add_nest(LoweredGroup l) {
    Step s{.nest = compile_nest(l.nest)};
    const std::size_t loads = l.nest.accesses.size();
    for (std::size_t i = 0; i < l.buffers.size(); ++i) {
      if (i >= loads) define(*l.buffers[i], {.type = l.buffers[i]->type()});
      s.buffers.push_back(use(place(l.buffers[i])));
    }
    for (const NestValue& v : l.nest.values)
      s.can_fail |= v.kind == NestValue::Kind::Compute && op(v.op).decl->can_fail;
    program_.steps.push_back(std::move(s));
  }

  void add_call(const Node& n) {
    const Op& o = op(n.op);
    if (o.kind() == OpKind::Extern || o.kind() == OpKind::Region || o.kind() == OpKind::Composite)
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

  // Where a value is: views are their operand's memory with other sizes and strides.
  Place place(const Node* n) {
    if (const auto it = program_.places.find(n); it != program_.places.end()) return it->second;
    Place p;
    if (n->kind == NodeKind::GetItem) {
      const auto it = parts_.find(n->args[0].get<Node*>());
      if (it == parts_.end()) throw InternalError(n->name + " takes a part of something that has none");
      p = it->second.at(static_cast<std::size_t>(n->index));
    } else if (is_view(*n)) {
      const Node* operand = n->args[0].get<Node*>();
      p = place(operand);
      p.shift = p.shift + (n->type().offset - operand->type().offset);
      p.type = n->type();
    } else {
      throw InternalError(n->name + " is used before it is computed");
    }
    return program_.places[n] = p;
  }

  const Place& use(const Place& p) {
    program_.slots[static_cast<std::size_t>(p.slot)].last_step = static_cast<int>(program_.steps.size());
    return p;
  }

  // Copying a value into an input: a nest of its own.
  void add_commit(const Node& n) {
    const Place from = place(n.args[0].get<Node*>());
    const Place& to = program_.inputs.at(static_cast<std::size_t>(n.index));
    LoopNest nest;
    nest.extents = to.type.sizes;
    nest.buffers = 2;
    if (from.type.dtype != to.type.dtype || from.type.dim() != to.type.dim())
      throw InternalError("commit of another type into input " + std::to_string(n.index));
    nest.accesses.push_back(nest.access(0, from.type.dtype, from.type.strides));
    NestValue v;
    v.dtype = from.type.dtype;
    v.access = 0;
    const int value = nest.add(std::move(v));
    nest.stores.push_back({value, nest.access(1, to.type.dtype, to.type.strides)});
    keep(from);
    program_.commits.push_back({.nest = compile_nest(nest), .buffers = {from, to}});
    program_.committed.push_back(n.index);
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
      if (s.kind == Slot::Kind::Temporary) s.kind = Slot::Kind::Output;
      const auto [first, fresh] = seen.emplace(*n, static_cast<int>(program_.outputs.size()));
      program_.output_inputs.push_back((*n)->kind == NodeKind::Placeholder ? s.input : -1);
      program_.output_repeats.push_back(fresh ? -1 : first->second);
      program_.outputs.push_back(std::move(p));
    }
  }

  const Graph& graph_;
  Program program_;
  std::unordered_map<const Node*, std::vector<Place>> parts_;
};

}  // namespace

Program build_program(const Graph& functional) { return ProgramBuilder(functional).run(); }

std::string print_program(const Graph& functional) {
  std::string text;
  for (const FusionGroup& group : fuse(functional)) {
    const auto call = [&](const Node& n) { text += fmt::format("; {} = {}\n\n", n.name, op(n.op).name()); };
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
