// From a functional graph to launches over slots: groups are fused, views placed, writes stored where they belong.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "backend/executable/executable.h"
#include "backend/executable/lower_writes.h"
#include "backend/nest/body_cost.h"
#include "backend/tiers/gpu_programs.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

// "fused_mul_add": the ops of a group, each once, in their order.
std::string nest_name(const FusionGroup& group) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> names;
  for (const FusionGroup::Member& m : group.members) {
    if (m.node->kind != NodeKind::Op) continue;
    const std::string& name = op(m.node->op).public_name;
    if (std::ranges::find(names, name) != names.end()) continue;
    if (names.size() == kMost) {
      names.emplace_back("more");
      break;
    }
    names.push_back(name);
  }
  return fmt::format("fused_{}", fmt::join(names, "_"));
}

// "model.py:12"; empty: not known.
std::string user_line(const Node& n) {
  if (!n.stack || n.stack->empty()) return {};
  const UserFrame& innermost = n.stack->back();
  return fmt::format("{}:{}", innermost.file, innermost.line);
}

// Of the last of its ops.
std::string user_line(const FusionGroup& group) {
  for (auto m = group.members.rbegin(); m != group.members.rend(); ++m)
    if (std::string line = user_line(*m->node); !line.empty()) return line;
  return {};
}

SplitLimits limits_of(const Target& target) { return target.is_gpu() ? gpu_split_limits() : SplitLimits{}; }

class ExecutableBuilder {
 public:
  ExecutableBuilder(const Graph& g, const TargetOf& target_of, const Checkpoint& checkpoint)
      : graph_(g), target_of_(target_of), checkpoint_(checkpoint) {
    executable_.shapes = g.shapes;
    executable_.device = device_of_graph(g).value_or(kCpu);
  }

  Executable run() {
    add_inputs();
    const std::vector<FusionGroup> groups = fuse(graph_);
    WriteLowering writes(graph_, groups, target_of_, places_, executable_);
    for (const FusionGroup& group : groups) {
      if (checkpoint_) checkpoint_();
      add_group(group, writes);
    }
    for (const Launch& s : executable_.commits)
      for (const Place& p : s.buffers) places_.use(p);
    for (const auto& n : graph_.nodes)
      if (n->kind == NodeKind::Commit) writes.add_commit(*n);
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
        executable_.inputs.push_back(places_.define(*n, std::move(s)));
        find_symbols(executable_.inputs.back());
      } else if (n->kind == NodeKind::GetAttr) {
        Slot s{.kind = Slot::Kind::Constant, .constant = n->constant, .type = n->type()};
        places_.define(*n, std::move(s));
      }
    }
    const std::size_t known = graph_.shapes ? graph_.shapes->symbols().size() : 0;
    executable_.symbols.resize(known);
  }

  // Sizes of inputs that are a symbol say what its value is.
  void find_symbols(const Place& p) {
    if (!graph_.shapes) return;
    executable_.symbols.resize(graph_.shapes->symbols().size());
    for (int d = 0; d < p.type.dim(); ++d) {
      const auto symbol = symbol_index(p.type.sizes[static_cast<std::size_t>(d)]);
      if (!symbol) continue;
      SymbolSource& s = executable_.symbols[static_cast<std::size_t>(*symbol)];
      if (s.input < 0) s = {places_.slot(p).input, d};
    }
  }

  void add_group(const FusionGroup& group, WriteLowering& writes) {
    switch (group.kind) {
      case FusionGroup::Kind::View:
        for (const FusionGroup::Member& m : group.members) places_.of(m.node);
        return;
      case FusionGroup::Kind::Call:
        for (const FusionGroup::Member& m : group.members) {
          if (m.node->kind == NodeKind::GetItem) continue;  // a part of the call before it
          if (m.node->kind == NodeKind::Call)
            add_call_out(*m.node);
          else if (m.node->op == id::WriteView)
            writes.add_write_view(*m.node);
          else
            add_call(*m.node);
        }
        return;
      case FusionGroup::Kind::Loops: {
        std::vector<LoweredGroup> lowered = lower_group(group, limits_of(target_of_(group.device)));
        const bool commits = writes.store_into_inputs(lowered, group);
        for (LoweredGroup& l : lowered) {
          if (l.call) {
            add_call(*l.call);
          } else {
            writes.store_into_writes(l, group);
            add_nest(l, group, commits);
          }
        }
        return;
      }
    }
  }

  // `commits`: it stores into inputs, hence after everything that can fail.
  void add_nest(const LoweredGroup& l, const FusionGroup& group, bool commits) {
    Launch s = nest_launch(nest_name(group), l, target_of_(group.device), group.device);
    if (s.gpu) s.line = user_line(group);
    s.part = l.part;
    const std::size_t loads = l.nest.accesses.size();
    std::size_t scratch = 0;
    for (std::size_t i = 0; i < l.buffers.size(); ++i) {
      if (!l.buffers[i]) {
        if (i >= loads) {
          scratch_.resize(scratch);
          scratch_.push_back(places_.add({.type = l.scratch[scratch]}));
          places_.slot(scratch_.back()).type.device = group.device;
          s.part_buffers.push_back(static_cast<int>(i));
        }
        s.buffers.push_back(places_.use(scratch_[scratch++]));
        continue;
      }
      const Node& n = *l.buffers[i];
      if (i >= loads && !places_.contains(n)) places_.define(n, {.type = n.type()});
      Place p = places_.use(places_.of(&n));
      if (i < l.shifts.size()) p.shift = p.shift + l.shifts[i];
      s.buffers.push_back(std::move(p));
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
    Launch s{.name = "aten::" + o.public_name, .can_fail = o.decl->can_fail, .op = n.op, .args = n.args};
    for_each_input(n, [&](const Node* in) { places_.use(places_.of(in)); });
    if (n.types.empty()) throw InternalError(n.name + " has no tensor result");
    if (!n.types[0].device.is_cpu()) s.line = user_line(n);
    for (const TensorType& t : n.types) {
      const Place p = places_.add({.type = t});
      if (!n.multi) places_.set(n, p);
      s.results.push_back(places_.use(p));
    }
    if (n.multi) places_.set_parts(n, s.results);
    executable_.launches.push_back(std::move(s));
  }

  // Code outside may keep what it is given, and brings its results itself.
  void add_call_out(const Node& n) {
    Launch s{.name = n.target, .args = n.args, .callee = n.callee};
    executable_.draws_random |= n.callee != nullptr;  // it may
    if (!n.regions.empty()) s.region_kind = region_kind(n.target);
    for (const auto& region : n.regions) {
      s.regions.push_back(std::make_shared<const Executable>(build_executable(*region, target_of_)));
      executable_.draws_random |= s.regions.back()->draws_random;
    }
    for_each_input(n, [&](const Node* in) {
      Slot& slot = places_.slot(places_.use(places_.of(in)));
      if (n.callee && slot.kind == Slot::Kind::Temporary) slot.kind = Slot::Kind::Own;
    });
    for (const TensorType& t : n.types) {
      s.results.push_back(places_.use(places_.add({.kind = Slot::Kind::Made, .type = t})));
    }
    places_.set_parts(n, s.results);
    executable_.launches.push_back(std::move(s));
  }

  void add_outputs() {
    const Node* out = graph_.output();
    if (!out) throw InternalError("a graph without output");
    std::unordered_map<const Node*, int> seen;
    std::vector<const Node*> roots;
    for (const Arg& a : out->args.at(0).get<ListArg>().items) {
      const auto* n = a.get_if<Node*>();
      if (!n) throw InternalError("an output that is no tensor");
      Place p = places_.of(*n);
      Slot& s = places_.slot(p);
      if (s.kind == Slot::Kind::Temporary || s.kind == Slot::Kind::Own) s.kind = Slot::Kind::Output;
      const auto [first, fresh] = seen.emplace(*n, static_cast<int>(executable_.outputs.size()));
      executable_.output_inputs.push_back((*n)->kind == NodeKind::Placeholder ? s.input : -1);
      executable_.output_repeats.push_back(fresh ? -1 : first->second);
      roots.push_back(*n);
      while (is_view(*roots.back()) && roots.back()->op != id::Detach)
        roots.back() = roots.back()->args[0].get<Node*>();
      executable_.output_detached.push_back(is_view(*roots.back()));
      executable_.outputs.push_back(std::move(p));
    }
    std::unordered_map<const Node*, int> showing;  // outputs of their own, by root
    for (std::size_t i = 0; i < roots.size(); ++i) showing[roots[i]] += executable_.output_repeats[i] < 0;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const bool is_part = out->args[0].get<ListArg>().items[i].get<Node*>() != roots[i];
      int base = -1;
      if (is_part && !roots[i]->type().requires_grad) {
        if (const auto whole = seen.find(roots[i]); whole != seen.end())
          base = whole->second;
        else if (showing[roots[i]] > 1)
          base = hidden_base(*roots[i], seen);
      }
      executable_.output_bases.push_back(base);
    }
  }

  int hidden_base(const Node& root, std::unordered_map<const Node*, int>& known) {
    const auto number = static_cast<int>(executable_.outputs.size() + executable_.hidden_bases.size());
    executable_.hidden_bases.push_back(places_.of(&root));
    known.emplace(&root, number);
    return number;
  }

  const Graph& graph_;
  const TargetOf& target_of_;
  const Checkpoint& checkpoint_;
  Executable executable_;
  ValuePlaces places_{executable_};
  std::vector<Place> scratch_;  // of the fold that was split last
};

}  // namespace

std::optional<Device> device_of_graph(const Graph& g) {
  std::optional<Device> device;
  bool one = true;
  for (const auto& n : g.nodes) {
    if (n->is_size) continue;
    for (const TensorType& t : n->types) {
      one &= !device || *device == t.device;
      device = t.device;
    }
    for (const auto& region : n->regions) {
      const std::optional<Device> inside = device_of_graph(*region);
      one &= inside.has_value() && (!device || *device == *inside);
    }
  }
  if (!device) return kCpu;
  return one ? device : std::nullopt;
}

Launch nest_launch(std::string name, const LoweredGroup& lowered, const Target& target, Device device) {
  Launch s;
  s.device = device;
  s.name = std::move(name);
  if (!target.is_gpu()) {
    s.nest = compile_nest(lowered.nest, target);
    return s;
  }
  s.gpu = gpu_program(lowered, target, s.name);
  for (const Size& extent : lowered.nest.extents) s.work.elements = s.work.elements * extent;
  for (const NestValue& v : lowered.nest.values)
    (v.compute == DType::Float64 ? s.work.double_instructions : s.work.instructions) += body_cost(v).instructions;
  return s;
}

Executable build_executable(const Graph& functional, const TargetOf& target_of, const Checkpoint& checkpoint) {
  return ExecutableBuilder(functional, target_of, checkpoint).run();
}

std::string print_fusion(const Graph& functional) {
  std::string text;
  for (const FusionGroup& group : fuse(functional)) {
    if (group.kind == FusionGroup::Kind::View) continue;
    const Node& first = *group.members[0].node;
    if (group.kind == FusionGroup::Kind::Loops)
      text += nest_name(group) + ":";
    else
      text += (first.kind == NodeKind::Op ? "aten::" + op(first.op).public_name : first.target) + ":";
    for (const FusionGroup::Member& m : group.members) text += " " + m.node->name;
    text += "\n";
  }
  return text;
}

std::string print_executable(const Graph& functional, const TargetOf& target_of) {
  std::string text;
  for (const FusionGroup& group : fuse(functional)) {
    const auto call = [&](const Node& n) {
      text += fmt::format("; {} = {}\n\n", n.name, n.kind == NodeKind::Call ? n.target : op(n.op).name());
      for (const auto& region : n.regions)
        text += fmt::format("; {}:\n{}", region->name, print_executable(*region, target_of));
    };
    if (group.kind == FusionGroup::Kind::Call) call(*group.members[0].node);
    if (group.kind != FusionGroup::Kind::Loops) continue;
    const Target& target = target_of(group.device);
    for (const LoweredGroup& l : lower_group(group, limits_of(target))) {
      if (l.call) {
        call(*l.call);
        continue;
      }
      text += ";";
      for (const FusionGroup::Member& m : group.members) text += " " + m.node->name;
      const std::string code =
          target.is_gpu() ? gpu_program(l, target, nest_name(group))->code : print_nest(l.nest, target);
      text += "\n" + code + "\n";
    }
  }
  return text;
}

}  // namespace md
