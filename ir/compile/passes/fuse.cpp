// One pass over the nodes: each joins the last group it depends on, one beside it over the same space, or a new one.
#include "ir/compile/passes/fuse.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/compile/passes/crossings.h"
#include "ir/compile/passes/fusion_axes.h"
#include "ir/compile/passes/stacks.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

// Beyond these a loop body outgrows registers and the code generator's patience.
constexpr std::size_t kMaxMembers = 128;
constexpr std::size_t kMaxInputs = 32;

bool may_fail(const Node& n) {
  if (!op(n.op).decl->can_fail) return false;
  // Of the pointwise ops only integer arithmetic fails, and then the result is an integer.
  return !is_floating(n.type().dtype);
}

bool folds(const Node& n) {
  const TensorType& x = n.args[0].get<Node*>()->type();
  const bool one_value = !n.multi && !op(n.op).traits.finds_position;
  return one_value && x.dim() > 0 && x.dim() < 32 && is_one_run(reduced_dims(n, x.dim()), x.sizes);
}

// Of a space on a device.
std::string key(const SizeVec& sizes, Device device) {
  std::string out = device.is_cpu() ? "" : to_string(device) + ":";
  for (const Size& s : sizes) out += to_string(s) + ",";
  return out;
}

// What a graph with tensors elsewhere computes of its inputs' numbers on the CPU. It comes first, so that no kernel
// of the other device is cut in two by it.
std::unordered_set<const Node*> numbers_on_cpu(const Graph& graph) {
  std::unordered_set<const Node*> found;
  const auto elsewhere = [](const auto& n) { return !n->types.empty() && !n->types[0].device.is_cpu(); };
  if (std::ranges::none_of(graph.nodes, elsewhere)) return found;
  for (const auto& n : graph.nodes) {
    if (n->kind != NodeKind::Op || n->multi || !n->types[0].device.is_cpu()) continue;
    const bool number = op(n->op).kind() == OpKind::Pointwise && n->type().dim() == 0 && !may_fail(*n);
    bool ready = number || is_view(*n);
    for_each_input(*n, [&](const Node* in) {
      const bool given = in->kind == NodeKind::Placeholder || in->kind == NodeKind::GetAttr;
      ready &= in->type().device.is_cpu() && (given || found.contains(in));
    });
    if (ready) found.insert(n.get());
  }
  return found;
}

// A group while it grows.
struct Group {
  FusionGroup result;
  std::unordered_map<const Node*, std::optional<AxisMap>> axes;  // of members and views of them; nothing: no such view
  std::unordered_set<const Node*> inputs, views;                 // views: those that are members
  std::vector<const Node*> ready;                                // values of this rank
};

// Every op node with the group it has found.
struct Assignment {
  std::vector<Group> groups;
  std::vector<const Node*> views, first;      // views; creations, which come before everything
  std::unordered_map<const Node*, int> rank;  // index of the group a value is ready after; -1: from the start
};

// Walks the nodes once; each finds its group.
class Fuser {
 public:
  explicit Fuser(const Graph& g) : graph_(g) {}

  Assignment run() {
    const std::unordered_set<const Node*> first = numbers_on_cpu(graph_);
    for (const auto& n : graph_.nodes)
      if (first.contains(n.get())) add(*n);
    for (const auto& n : graph_.nodes) {
      if (n->kind == NodeKind::Op && !first.contains(n.get())) add(*n);
      if (n->kind == NodeKind::Call) open(FusionGroup::Kind::Call, *n, {});
      if (n->kind == NodeKind::GetItem) add_item(*n);
    }
    return std::move(out_);
  }

 private:
  // --- Which group ----------------------------------------------------------------------------------------------

  void add(const Node& n) {
    const OpKind kind = op(n.op).kind();
    int after = -1;  // the last group this node must come after
    for_each_input(n, [&](const Node* in) { after = std::max(after, rank(in)); });
    if (kind == OpKind::View) {
      // A view costs nothing: it stands right behind its operand, so that it holds no user back.
      set_rank(n, after);
      out_.views.push_back(&n);
    } else if (kind == OpKind::Pointwise && !may_fail(n) && !crosses_devices(n)) {
      add_pointwise(n, after);
    } else if (kind == OpKind::Reduction && folds(n)) {
      add_reduction(n, after);
    } else if (const int d = stacked_dim(n); d >= 0 && add_stack(n, d, after)) {
      return;
    } else if (kind == OpKind::Create && after < 0) {
      out_.first.push_back(&n);  // before everything
      out_.rank[&n] = -1;
    } else {
      open(FusionGroup::Kind::Call, n, {});
    }
  }

  void add_item(const Node& n) {
    const int of = rank(n.args[0].get<Node*>());
    out_.groups[static_cast<std::size_t>(of)].result.members.push_back({&n, {}});
    set_rank(n, of);
  }

  void set_rank(const Node& n, int index) {
    out_.rank[&n] = index;
    if (index >= 0) out_.groups[static_cast<std::size_t>(index)].ready.push_back(&n);
  }

  int rank(const Node* n) const {
    const auto found = out_.rank.find(n);
    return found == out_.rank.end() ? -1 : found->second;
  }

  int open(FusionGroup::Kind kind, const Node& n, AxisMap axes) {
    const int index = static_cast<int>(out_.groups.size());
    FusionGroup& made = out_.groups.emplace_back().result;
    made.kind = kind;
    if (!n.types.empty()) made.device = n.types[0].device;
    join(index, n, std::move(axes));
    return index;
  }

  void join(int index, const Node& n, AxisMap axes) {
    Group& g = out_.groups[static_cast<std::size_t>(index)];
    for_each_input(n, [&](const Node* in) {
      if (!bring_in(g, in)) g.inputs.insert(in);
    });
    set_rank(n, index);
    g.axes[&n] = axes;
    g.result.members.push_back({&n, std::move(axes)});
  }

  // Whether `n` is computed inside; a view of such a value becomes a member now that it has a user.
  bool bring_in(Group& g, const Node* n) {
    if (g.result.kind != FusionGroup::Kind::Loops || !inside(g, n)) return false;
    if (!is_view(*n) || !g.views.insert(n).second) return true;
    bring_in(g, n->args[0].get<Node*>());
    g.result.members.push_back({n, *g.axes.at(n)});
    return true;
  }

  // The axes of `n` if it is a member or a dimension-renaming view of one. The bytes of a value as another dtype are
  // there only once it is stored.
  const AxisMap* inside(Group& g, const Node* n) {
    if (rank(n) != static_cast<int>(&g - out_.groups.data())) return nullptr;
    const auto [known, fresh] = g.axes.emplace(n, std::nullopt);
    if (fresh && is_view(*n)) {
      const Node* operand = n->args[0].get<Node*>();
      const bool same = n->type().dtype == operand->type().dtype;
      if (const AxisMap* from = same ? inside(g, operand) : nullptr) g.axes[n] = renamed_axes(*n, *operand, *from);
    }
    const auto& axes = g.axes.at(n);
    return axes ? &*axes : nullptr;
  }

  // --- Pointwise ops and reductions -----------------------------------------------------------------------------

  bool has_room(const Group& g, const Node& n) const {
    return g.result.kind == FusionGroup::Kind::Loops && g.result.device == n.type().device &&
           g.result.members.size() < kMaxMembers && g.inputs.size() < kMaxInputs;
  }

  // No operand is a view (a slice, say) of a value inside: that is there only once the group has stored it.
  bool reads_nothing_stored(Group& g, const Node& n) {
    bool holds = true;
    for_each_input(n, [&](const Node* in) {
      holds &= rank(in) != static_cast<int>(&g - out_.groups.data()) || inside(g, in) != nullptr;
    });
    return holds;
  }

  void add_pointwise(const Node& n, int after) {
    const SizeVec& sizes = n.type().sizes;
    if (after >= 0) {
      gather(n, sizes, after);
      Group& g = out_.groups[static_cast<std::size_t>(after)];
      if (has_room(g, n) && reads_nothing_stored(g, n)) {
        if (auto axes = place(g, n, sizes)) return join(after, n, std::move(*axes));
      }
    }
    if (const int beside = neighbour(n, sizes, after); beside >= 0) return join(beside, n, own_axes(sizes));
    if (!add_behind_other_device(n, sizes, after)) open_loops(n, sizes, own_axes(sizes));
  }

  // What a node reads beside what another device computes, or a copy brings from there, may wait for that.
  bool add_behind_other_device(const Node& n, const SizeVec& sizes, int after) {
    if (after < 0) return false;
    const FusionGroup& before = out_.groups[static_cast<std::size_t>(after)].result;
    const bool copies = before.kind == FusionGroup::Kind::Call && crosses_devices(*before.members[0].node);
    if (before.device == n.type().device && !copies) return false;
    const int into = static_cast<int>(out_.groups.size());
    Group& g = out_.groups.emplace_back();
    g.result.extents = sizes, g.result.device = n.type().device;
    gather(n, sizes, into);
    if (g.result.members.empty()) {
      out_.groups.pop_back();
      return false;
    }
    std::optional<AxisMap> axes = reads_nothing_stored(g, n) ? place(g, n, sizes) : std::nullopt;
    if (!axes) return false;
    join(into, n, std::move(*axes));
    return true;
  }

  // Each of the stacked values is stored where it belongs as it is computed; whether that is done.
  bool add_stack(const Node& n, int d, int after) {
    const SizeVec& space = n.args[0].get<ListArg>().items[0].get<Node*>()->args[0].get<Node*>()->type().sizes;
    const auto at = [d](auto& v) { return v.begin() + d; };
    SizeVec sizes = space;
    sizes.insert(at(sizes), Size(1));
    if (after >= 0) {
      gather(n, space, after);
      Group& g = out_.groups[static_cast<std::size_t>(after)];
      if (has_room(g, n) && reads_nothing_stored(g, n)) {
        if (auto axes = place(g, n, sizes)) {
          join(after, n, std::move(*axes));
          g.axes[&n].reset();  // what reads it reads its memory
          return true;
        }
      }
    }
    if (d != n.type().dim() - 1) return false;  // runs of elements are copied as they lie
    AxisMap axes = own_axes(space);
    axes.insert(at(axes), -1);
    out_.groups[static_cast<std::size_t>(open_loops(n, space, std::move(axes)))].axes[&n].reset();
    return true;
  }

  void add_reduction(const Node& n, int after) {
    const Node* x = n.args[0].get<Node*>();
    const SizeVec& sizes = x->type().sizes;
    const std::uint32_t reduced = reduced_dims(n, x->type().dim());
    AxisMap axes;
    const bool keep = op(n.op).keepdim >= 0 && n.args[static_cast<std::size_t>(op(n.op).keepdim)].get<bool>();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!(reduced >> d & 1)) axes.push_back(sizes[d].is_const(1) ? -1 : static_cast<int>(d));
      if ((reduced >> d & 1) && keep) axes.push_back(-1);
    }
    int into = -1;
    if (after >= 0) {
      Group& g = out_.groups[static_cast<std::size_t>(after)];
      if (reads_nothing_stored(g, n) && takes_reduction(g, n, sizes, reduced)) into = after;
    }
    if (into < 0) into = neighbour(n, sizes, after);
    if (into >= 0) {
      const std::uint32_t other = out_.groups[static_cast<std::size_t>(into)].result.reduced;
      if (other != 0 && other != reduced) into = -1;
    }
    if (into >= 0) {
      join(into, n, std::move(axes));
    } else {
      into = open_loops(n, sizes, std::move(axes));
    }
    out_.groups[static_cast<std::size_t>(into)].result.reduced = reduced;
  }

  // Where several groups over one space meet in a node, the earlier ones may as well run with the last.
  void gather(const Node& n, const SizeVec& sizes, int after) {
    if (!(out_.groups[static_cast<std::size_t>(after)].result.extents == sizes)) return;
    for_each_input(n, [&](const Node* in) {
      const int r = rank(in);
      if (r >= 0 && r < after && may_wait(r, after)) absorb(r, after);
    });
  }

  // Whether group `from` may run where `into` does: the same space, and nothing in between reads what it computes.
  bool may_wait(int from, int into) const {
    constexpr int kFar = 32;  // keeps the search linear
    const Group &a = out_.groups[static_cast<std::size_t>(from)], &b = out_.groups[static_cast<std::size_t>(into)];
    const auto is_loops = [](const Group& g) { return g.result.kind == FusionGroup::Kind::Loops; };
    if (into - from > kFar || !is_loops(a) || !is_loops(b) || !(a.result.extents == b.result.extents)) return false;
    if (!(a.result.device == b.result.device)) return false;
    if (a.result.reduced && b.result.reduced && a.result.reduced != b.result.reduced) return false;
    if (a.result.members.size() + b.result.members.size() >= kMaxMembers) return false;
    if (a.inputs.size() + b.inputs.size() >= kMaxInputs) return false;
    for (int g = from + 1; g <= into; ++g)
      for (const Node* in : out_.groups[static_cast<std::size_t>(g)].inputs)
        if (rank(in) == from) return false;
    return true;
  }

  void absorb(int from, int into) {
    Group a = std::exchange(out_.groups[static_cast<std::size_t>(from)], Group{});
    Group& b = out_.groups[static_cast<std::size_t>(into)];
    b.result.members.insert(b.result.members.begin(), a.result.members.begin(), a.result.members.end());
    b.result.reduced |= a.result.reduced;
    b.axes.merge(a.axes);
    b.inputs.merge(a.inputs);
    b.views.merge(a.views);
    for (const Node* n : a.ready) set_rank(*n, into);
    if (int& last = last_over_[key(b.result.extents, b.result.device)]; last == from) last = into;
  }

  // The operand spans the whole space, straight.
  bool takes_reduction(Group& g, const Node& n, const SizeVec& sizes, std::uint32_t reduced) {
    if (!has_room(g, n) || !(g.result.extents == sizes)) return false;
    if (g.result.reduced != 0 && g.result.reduced != reduced) return false;
    const AxisMap* axes = inside(g, n.args[0].get<Node*>());
    if (!axes) return true;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!sizes[d].is_const(1) && (*axes)[d] != static_cast<int>(d)) return false;
    }
    return true;
  }

  // Where the dimensions of a pointwise result lie in the group's space, if they can.
  std::optional<AxisMap> place(Group& g, const Node& n, const SizeVec& sizes) {
    AxisMap axes(sizes.size(), -1);
    bool anything = false, fits = true;
    for_each_input(n, [&](const Node* in) {
      const AxisMap* m = inside(g, in);
      if (!m) return;
      anything = true;
      const std::size_t shift = sizes.size() - m->size();
      for (std::size_t d = 0; d < m->size(); ++d) {
        if ((*m)[d] < 0) continue;
        int& axis = axes[d + shift];
        fits &= axis < 0 || axis == (*m)[d];
        axis = (*m)[d];
      }
    });
    if (!fits || !anything) return {};
    return completed_axes(g.result.extents, sizes, std::move(axes));
  }

  // A later group over the same space that reads one of the same values: one walk over memory serves both.
  int neighbour(const Node& n, const SizeVec& sizes, int after) {
    const auto found = last_over_.find(key(sizes, n.type().device));
    if (found == last_over_.end() || found->second <= after) return -1;
    Group& g = out_.groups[static_cast<std::size_t>(found->second)];
    if (!has_room(g, n)) return -1;
    bool shares = false, meets = false;
    for_each_input(n, [&](const Node* in) {
      shares |= g.inputs.contains(in);
      meets |= inside(g, in) != nullptr;
    });
    return shares && !meets ? found->second : -1;
  }

  int open_loops(const Node& n, const SizeVec& extents, AxisMap axes) {
    const int index = open(FusionGroup::Kind::Loops, n, std::move(axes));
    out_.groups[static_cast<std::size_t>(index)].result.extents = extents;
    last_over_[key(extents, n.type().device)] = index;
    return index;
  }

  const Graph& graph_;
  Assignment out_;
  std::unordered_map<std::string, int> last_over_;
};

// The groups with their inputs and outputs, in an order in which they may run, each followed by the views of its values
// that are needed outside.
class GroupOrder {
 public:
  GroupOrder(const Graph& g, Assignment assigned) : graph_(g), assigned_(std::move(assigned)) {}

  std::vector<FusionGroup> run() {
    connect();
    return in_order();
  }

 private:
  void connect() {
    for (std::size_t i = 0; i < assigned_.groups.size(); ++i) connect(assigned_.groups[i].result);
    for (const auto& n : graph_.nodes) {
      if (n->kind == NodeKind::Commit || n->kind == NodeKind::Output) {
        for_each_input(*n, [&](const Node* in) { need(in); });
      }
    }
    // A view needed outside needs its operand's memory; users come after operands, so one walk back settles chains.
    for (auto it = assigned_.views.rbegin(); it != assigned_.views.rend(); ++it) {
      if (needed_.contains(*it)) need((*it)->args[0].get<Node*>());
    }
  }

  void connect(FusionGroup& g) {
    std::unordered_set<const Node*> members, seen;
    for (const auto& m : g.members) members.insert(m.node);
    for (const auto& m : g.members) {
      for_each_input(*m.node, [&](const Node* in) {
        if (members.contains(in) || !seen.insert(in).second) return;
        g.inputs.push_back(in);
        need(in);
      });
    }
  }

  void need(const Node* n) { needed_.insert(n); }

  FusionGroup alone(FusionGroup::Kind kind, const Node* n) const {
    FusionGroup g;
    g.kind = kind;
    g.members = {{n, {}}};
    g.outputs = {n};
    for_each_input(*n, [&](const Node* in) { g.inputs.push_back(in); });
    return g;
  }

  std::vector<FusionGroup> in_order() {
    std::vector<FusionGroup> out;
    std::vector<std::vector<const Node*>> behind(assigned_.groups.size() + 1);  // views by rank + 1
    for (const Node* v : assigned_.views) {
      if (needed_.contains(v)) behind[static_cast<std::size_t>(assigned_.rank.at(v) + 1)].push_back(v);
    }
    for (const Node* n : assigned_.first) out.push_back(alone(FusionGroup::Kind::Call, n));
    for (std::size_t i = 0; i <= assigned_.groups.size(); ++i) {
      if (i > 0) {
        FusionGroup& g = assigned_.groups[i - 1].result;
        if (g.members.empty()) continue;  // absorbed
        for (const auto& m : g.members) {
          if (needed_.contains(m.node) && !is_view(*m.node)) g.outputs.push_back(m.node);
        }
        out.push_back(std::move(g));
      }
      for (const Node* v : behind[i]) out.push_back(alone(FusionGroup::Kind::View, v));
    }
    return out;
  }

  const Graph& graph_;
  Assignment assigned_;
  std::unordered_set<const Node*> needed_;
};

}  // namespace

SizeVec along_axes(const FusionGroup& group, const FusionGroup::Member& m, const SizeVec& strides) {
  SizeVec along(group.extents.size(), Size(0));
  for (std::size_t d = 0; d < m.axes.size(); ++d)
    if (m.axes[d] >= 0) along[static_cast<std::size_t>(m.axes[d])] = strides[d];
  return along;
}

std::vector<FusionGroup> fuse(const Graph& functional) { return GroupOrder(functional, Fuser(functional).run()).run(); }

}  // namespace md
