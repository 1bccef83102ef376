// Which forward values are kept, and the two graphs.
#include "ir/compile/partition.h"

#include <algorithm>
#include <unordered_map>

#include "ir/compile/min_cut.h"
#include "ir/compile/passes/crossings.h"
#include "ir/compile/passes/layouts.h"
#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"

namespace md {
namespace {

// Longer chains of pointwise ops are not computed again: every layer's input would be, from the first one's on.
constexpr int kLongestChain = 12;
// In larger graphs what is needed is kept as it is: a cut costs more than linear time.
constexpr std::size_t kMostToCut = 20000;

std::int64_t bytes_of(const TensorType& t) {
  std::int64_t count = 1;
  for (const Size s : t.sizes) count *= std::max<std::int64_t>(hint(s), 1);
  return count * static_cast<std::int64_t>(info(t.dtype).size) + 1;
}

class Splitter {
 public:
  Splitter(const JointGraph& joint, const std::vector<std::size_t>* kept) : joint_(joint), nodes_(joint.graph->nodes) {
    find_places();
    find_needed_by_backward();
    if (kept)
      split_.kept = *kept;
    else
      choose_kept();
    is_kept_.resize(joint_.forward_nodes);
    for (const std::size_t k : split_.kept) is_kept_[k] = true;
  }

  SplitGraph run() {
    split_.forward = forward();
    split_.backward = backward();
    return std::move(split_);
  }

 private:
  const Node& node(std::size_t i) const { return *nodes_[i]; }
  std::size_t place(const Node* n) const { return places_.at(n); }

  void find_places() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      places_[nodes_[i].get()] = i;
      if (node(i).kind == NodeKind::Placeholder && i < joint_.forward_nodes) inputs_.push_back(i);
    }
    for (std::size_t i = 0; i < joint_.forward_nodes; ++i)
      if (node(i).kind == NodeKind::Commit) committed_.push_back(inputs_.at(static_cast<std::size_t>(node(i).index)));
  }

  // --- What is kept -------------------------------------------------------------------------------------------------

  // Backward nodes that gradients depend on, and the forward values they read.
  void find_needed_by_backward() {
    needed_.resize(nodes_.size());
    for (const Node* g : joint_.gradients)
      if (g) needed_[place(g)] = true;
    for (std::size_t i = nodes_.size(); i-- > joint_.forward_nodes;) {
      if (!needed_[i]) continue;
      for_each_input(node(i), [&](const Node* in) { needed_[place(in)] = true; });
    }
  }

  // There at no cost: an input that still holds what it held, a constant.
  bool is_free(std::size_t i) const {
    if (node(i).kind == NodeKind::GetAttr) return true;
    return node(i).kind == NodeKind::Placeholder && std::ranges::find(committed_, i) == committed_.end();
  }

  static bool is_cheap(const Node& n) {
    if (n.kind != NodeKind::Op || n.multi || has_effect(n)) return false;
    if (crosses_devices(n)) return false;
    const OpKind kind = op(n.op).kind();
    return kind == OpKind::Pointwise || kind == OpKind::View || kind == OpKind::Create;
  }

  void choose_kept() {
    const std::size_t count = joint_.forward_nodes;
    if (count > kMostToCut) return keep_what_is_read();
    MinCut network(count);
    std::vector<int> chain(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Node& n = node(i);
      if (n.kind == NodeKind::Commit || n.types.empty() || n.multi || is_free(i)) continue;
      network.set_cost(i, is_view(n) ? MinCut::kNever : bytes_of(n.type()));
      if (needed_[i]) network.add_sink(i);
      if (is_cheap(n)) {
        for_each_input(n, [&](const Node* in) {
          const std::size_t from = place(in);
          chain[i] = std::max(chain[i], chain[from] + !is_view(n));
          if (!is_free(from)) network.add_use(from, i);
        });
      }
      if (!is_cheap(n) || (chain[i] > kLongestChain && !is_view(n))) network.add_source(i), chain[i] = 0;
    }
    split_.kept = network.cut();
  }

  void keep_what_is_read() {
    std::vector<bool> wanted(needed_.begin(), needed_.begin() + static_cast<std::ptrdiff_t>(joint_.forward_nodes));
    for (std::size_t i = joint_.forward_nodes; i-- > 0;) {
      if (!wanted[i] || is_free(i)) continue;
      if (!is_view(node(i)))
        split_.kept.push_back(i);
      else
        for_each_input(node(i), [&](const Node* in) { wanted[place(in)] = true; });
    }
    std::ranges::reverse(split_.kept);
  }

  // --- The two graphs -----------------------------------------------------------------------------------------------

  using Copies = std::unordered_map<const Node*, Node*>;

  std::unique_ptr<Graph> empty_graph() const {
    auto g = std::make_unique<Graph>();
    g->shapes = joint_.graph->shapes;
    g->name = joint_.graph->name;
    g->functional = true;
    return g;
  }

  static Node* copy(const Node& n, Graph& to, Copies& copies) {
    Node made = n;
    for (Arg& a : made.args) for_each_node(a, [&](Node*& in) { in = copies.at(in); });
    for (auto& region : made.regions) region = clone(*region);
    return copies[&n] = to.append(std::move(made));
  }

  static void finish(Graph& g, std::vector<Node*> results) {
    ListArg tuple{{}, true};
    for (Node* n : results) tuple.items.emplace_back(n);
    g.append({.kind = NodeKind::Output, .name = "output", .args = {tuple}});
  }

  // An input that is written to afterwards, or a view of one.
  bool changes_later(const Node* n) const {
    const Node* root = memory_root(n);
    return root->kind == NodeKind::Placeholder && !is_free(place(root));
  }

  std::unique_ptr<Graph> forward() {
    std::unique_ptr<Graph> g = empty_graph();
    Copies copies;
    std::vector<Node*> kept;
    const auto keep = [&] {
      for (const std::size_t k : split_.kept) {
        Node* n = copies.at(&node(k));
        if (changes_later(&node(k))) {
          Node made{.kind = NodeKind::Op, .op = id::Clone, .target = op(id::Clone).public_name};
          made.args = {n};
          made.types = {n->type()};
          made.types[0].strides = contiguous(made.types[0].sizes);
          made.types[0].offset = 0;
          n = g->append(std::move(made));
        }
        kept.push_back(n);
      }
    };
    std::size_t i = 0;
    for (; i < joint_.forward_nodes && node(i).kind != NodeKind::Commit; ++i) copy(node(i), *g, copies);
    keep();
    for (; i < joint_.forward_nodes; ++i) copy(node(i), *g, copies);
    std::vector<Node*> results;
    for (const Arg& a : joint_.graph->output()->args.at(0).get<ListArg>().items)
      results.push_back(copies.at(a.get<Node*>()));
    results.insert(results.end(), kept.begin(), kept.end());
    for (const Node* n : kept) kept_types_.push_back(n->type());
    finish(*g, std::move(results));
    return g;
  }

  void add_input(Graph& g, Copies& copies, const Node& of, BackwardInput from, const TensorType& type) {
    Node made{.kind = NodeKind::Placeholder, .target = of.kind == NodeKind::Placeholder ? of.target : of.name};
    made.types = {type};
    made.types[0].requires_grad = made.types[0].wrapped_number = false;
    made.is_size = of.kind == NodeKind::Placeholder && of.is_size;
    copies[&of] = g.append(std::move(made));
    split_.inputs.push_back(from);
  }

  // Sizes are found from inputs that have them.
  bool tells_sizes(const Node& input) const {
    return joint_.graph->shapes &&
           (input.is_size || std::ranges::any_of(input.type().sizes, [](Size s) { return !s.is_const(); }));
  }

  std::unique_ptr<Graph> backward() {
    for (std::size_t i = joint_.forward_nodes; i-- > 0;) {
      if (!needed_[i] || is_kept_[i] || is_free(i)) continue;
      if (!is_cheap(node(i))) throw NotFunctional("split: " + node(i).name + " was not kept");
      for_each_input(node(i), [&](const Node* in) { needed_[place(in)] = true; });
    }
    std::unique_ptr<Graph> g = empty_graph();
    Copies copies;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const Node& n = node(inputs_[k]);
      const bool read = needed_[inputs_[k]];
      if (is_free(inputs_[k]) && (read || tells_sizes(n)))
        add_input(*g, copies, n, {read ? BackwardInput::From::Input : BackwardInput::From::Sizes, static_cast<int>(k)},
                  n.type());
    }
    for (std::size_t k = 0; k < split_.kept.size(); ++k)
      if (needed_[split_.kept[k]])
        add_input(*g, copies, node(split_.kept[k]), {BackwardInput::From::Kept, static_cast<int>(k)}, kept_types_[k]);
    for (std::size_t k = 0; k < joint_.tangents.size(); ++k)
      if (const Node* t = joint_.tangents[k]; t && needed_[place(t)])
        add_input(*g, copies, *t, {BackwardInput::From::Tangent, static_cast<int>(k)}, t->type());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (needed_[i] && !copies.contains(&node(i))) copy(node(i), *g, copies);
    std::vector<Node*> results;
    for (std::size_t k = 0; k < joint_.gradients.size(); ++k) {
      if (!joint_.gradients[k]) continue;
      results.push_back(copies.at(joint_.gradients[k]));
      split_.gradient_of.push_back(static_cast<int>(k));
    }
    finish(*g, std::move(results));
    return g;
  }

  const JointGraph& joint_;
  const std::vector<std::unique_ptr<Node>>& nodes_;
  SplitGraph split_;
  std::unordered_map<const Node*, std::size_t> places_;
  std::vector<std::size_t> inputs_, committed_;
  std::vector<bool> needed_, is_kept_;
  std::vector<TensorType> kept_types_;
};

}  // namespace

SplitGraph split(const JointGraph& joint, const std::vector<std::size_t>* kept) { return Splitter(joint, kept).run(); }

}  // namespace md
