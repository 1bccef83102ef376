// The definition of a well-formed graph, in both dialects: everything passes and backends may rely on.
#include "ir/infer/verify.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/core/error.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/graph.h"
#include "ir/graph/op_ids.h"
#include "ir/graph/region_call.h"
#include "ir/infer/unbacked.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g) {}

  void run() {
    for (const auto& n : g_.nodes) {
      now_ = n.get();
      check_position(*n);
      check_references(*n);
      check_types(*n);
      check_kind(*n);
      for (const auto& region : n->regions) {
        need(region->functional == g_.functional, "a region is in the other dialect");
        verify(*region);
      }
      defined_.insert(n.get());
    }
    now_ = nullptr;
    need(stage_ == Stage::Output, "there is no output");
  }

 private:
  enum class Stage { Inputs, Body, Commits, Output };

  void need(bool holds, const std::string& rule) const {
    if (holds) return;
    const std::string dialect = g_.functional ? "functional" : "traced";
    throw InternalError(fmt::format("{} graph{}: {}", dialect, now_ ? ", node " + now_->name : "", rule));
  }

  // Inputs, then the rest, then commits, then one output.
  void check_position(const Node& n) {
    need(!n.name.empty() && names_.insert(n.name).second, "names are unique");
    need(stage_ != Stage::Output, "nothing follows the output");
    switch (n.kind) {
      case NodeKind::Placeholder:
        need(stage_ == Stage::Inputs, "inputs come first");
        inputs_.push_back(const_cast<Node*>(&n));  // arguments hold nodes they may change; nothing here does
        return;
      case NodeKind::Commit:
        need(g_.functional, "commits belong to the functional dialect");
        stage_ = Stage::Commits;
        return;
      case NodeKind::Output:
        stage_ = Stage::Output;
        return;
      default:
        need(stage_ != Stage::Commits, "only the output follows commits");
        stage_ = Stage::Body;
    }
  }

  void check_references(const Node& n) const {
    for_each_input(n, [&](const Node* in) {
      need(in && defined_.contains(in), "arguments are nodes of this graph, defined above");
      need(in->kind != NodeKind::Commit && in->kind != NodeKind::State && in->kind != NodeKind::Output,
           "commits, states and outputs have no value");
      need(!in->multi || n.kind == NodeKind::GetItem, "a tuple of results is used through its items");
    });
    for (const Arg& a : n.args) need(!holds_tensor(a), "constant tensors are attributes");
    for (const auto& [key, a] : n.kwargs) need(!holds_tensor(a), "constant tensors are attributes");
  }

  static bool holds_tensor(const Arg& a) {
    if (const auto* l = a.get_if<ListArg>()) return std::ranges::any_of(l->items, holds_tensor);
    if (const auto* s = a.get_if<SliceArg>()) return std::ranges::any_of(*s->parts, holds_tensor);
    return a.is<TensorRef>();
  }

  void check_types(const Node& n) const {
    need(n.multi || n.types.size() <= 1, "several types are those of a tuple");
    for (const TensorType& t : n.types) {
      need(t.sizes.size() == t.strides.size(), "there is a stride for each size");
      for (const Size& s : t.sizes) check_size(s);
      for (const Size& s : t.strides) check_size(s);
    }
  }

  void check_size(Size s) const {
    if (s.is_const()) return;
    need(g_.shapes && s.expr()->env == g_.shapes.get(), "symbolic sizes belong to the graph's environment");
  }

  void check_kind(const Node& n) const {
    switch (n.kind) {
      case NodeKind::Placeholder:
        return need(!n.target.empty(), "an input has a source name");
      case NodeKind::Op:
        return g_.functional ? check_functional_op(n) : check_traced_op(n);
      case NodeKind::Call:
        return check_call(n);
      case NodeKind::GetItem:
        return check_item(n);
      case NodeKind::GetAttr:
        return check_attribute(n);
      case NodeKind::State:
        return need(!g_.functional, "ambient state belongs to the traced dialect");
      case NodeKind::Commit:
        return check_commit(n);
      case NodeKind::Output:
        return check_output(n);
    }
  }

  static std::string as_text(const TensorType& t) {
    std::string sizes, strides;
    for (const Size& s : t.sizes) sizes += (sizes.empty() ? "" : ", ") + to_string(s);
    for (const Size& s : t.strides) strides += (strides.empty() ? "" : ", ") + to_string(s);
    return fmt::format("{}[{}]{{{}}}+({}) on {}", info(t.dtype).short_name, sizes, strides, to_string(t.offset),
                       to_string(t.device));
  }

  // What inference says of the call; its refusal is a violation too.
  std::vector<TensorType> inferred(const Op& o, const BoundArgs& args) const {
    try {
      return infer(o, args);
    } catch (const OpError& e) {
      need(false, std::string("inference refuses the arguments: ") + e.what());
    }
    return {};
  }

  void check_functional_op(const Node& n) const {
    need(n.op != kNoOp, "a node has an op");
    const Op& o = op(n.op);
    need(n.kwargs.empty() && n.args.size() == o.schema.params.size(), "arguments are bound, in schema order");
    need(o.kind() != OpKind::Composite, "composite ops are opened");
    need(!is_inplace(n), "nothing is written in place");
    const std::vector<TensorType> want = inferred(o, n.args);
    need(want.size() == n.types.size() && n.multi == (o.schema.results != 1), "as many results as inference gives");
    for (std::size_t i = 0; i < want.size(); ++i) {
      need(same_type(want[i], n.types[i]),
           fmt::format("its type is {}, not {}", as_text(want[i]), as_text(n.types[i])));
    }
  }

  void check_traced_op(const Node& n) const {
    if (is_setitem(n)) {
      need(n.args.size() == 3 && n.args[0].is<Node*>(), "an item assignment has a tensor, an index and a value");
      return;
    }
    BoundArgs bound;
    need(n.op != kNoOp && try_bind(op(n.op), n.args, n.kwargs, bound), "its arguments fit its op");
    if (is_inplace(n)) {
      need(!n.args.empty() && n.args[0].is<Node*>(), "the first argument of an in-place op is a tensor");
      const TensorType& self = n.args[0].get<Node*>()->type();
      need(n.types.size() == 1 && same_type(n.type(), self), "an in-place op has the type of its first argument");
      return;
    }
    ReplayedSymbols symbols(n.unbacked);
    const SupplyScope scope(symbols);
    const std::vector<TensorType> want = inferred(op(n.op), bound);
    need(want.size() == n.types.size(), "as many results as inference gives");
    for (std::size_t i = 0; i < want.size(); ++i) {
      need(same_type(want[i], n.types[i]),
           fmt::format("its type is {}, not {}", as_text(want[i]), as_text(n.types[i])));
    }
  }

  void check_call(const Node& n) const {
    need(n.op == kNoOp && (n.callee != nullptr) != !n.regions.empty(), "a call is of code or of regions");
    need(!g_.functional || (n.kwargs.empty() && n.multi), "a functional call has no keywords and a tuple of results");
    if (n.callee) return;
    const RegionKind kind = region_kind(n.target);
    const std::size_t first = arguments_before_regions(kind);
    for (std::size_t k = 0; k < n.args.size(); ++k)
      need(k < first ? n.args[k].is<Node*>() : n.args[k].is<ListArg>(),
           "a call of regions has tensors or lists of them");
    for (std::size_t k = 0; k < n.regions.size(); ++k) {
      check_region_inputs(n, kind, *n.regions[k]);
      if (kind == RegionKind::WhileLoop && k == 0) {
        const auto& tests = n.regions[k]->output()->args.at(0).get<ListArg>().items;
        need(tests.size() == 1, "the condition of a loop has one result");
        continue;
      }
      check_region_results(n, kind, *n.regions[k]);
    }
  }

  void check_region_inputs(const Node& n, RegionKind kind, const Graph& region) const {
    const auto inputs = region.placeholders();
    std::size_t next = 0;
    for (std::size_t k = arguments_before_regions(kind); k < n.args.size(); ++k) {
      for (const Arg& a : n.args[k].get<ListArg>().items) {
        TensorType given = a.get<Node*>()->type();
        if (static_cast<int>(k) == rows_argument(kind)) given.sizes = row_sizes(given.sizes);
        need(next < inputs.size(), "a region has an input for each operand");
        const TensorType& input = inputs[next++]->type();
        need(given.dtype == input.dtype && given.sizes == input.sizes,
             "an operand has the dtype and sizes of the region's input");
      }
    }
    need(next == inputs.size(), "a region has an input for each operand");
  }

  void check_region_results(const Node& n, RegionKind kind, const Graph& region) const {
    const auto& results = region.output()->args.at(0).get<ListArg>().items;
    need(results.size() == n.types.size(), "a region has the results of the call");
    const std::size_t whole = rows_argument(kind) < 0 ? results.size() : carried_count(kind, n.args);
    for (std::size_t i = 0; i < results.size(); ++i) {
      TensorType got = results[i].get<Node*>()->type(), want = n.types[i];
      if (i >= whole) {
        need(got.dtype == want.dtype && got.sizes == row_sizes(want.sizes),
             "a region gives the rows of the call's result");
        continue;
      }
      const bool found_out = std::ranges::any_of(want.sizes, [](Size s) { return is_unbacked(s); });
      if (found_out && !n.unbacked.empty()) {
        need(got.dtype == want.dtype && got.dim() == want.dim(),
             "a region gives a tensor of the call's dtype and rank");
        continue;
      }
      got.offset = want.offset;
      need(same_type(got, want), fmt::format("a region gives {}, not {}", as_text(got), as_text(want)));
    }
  }

  void check_item(const Node& n) const {
    const auto* of = n.args.size() == 1 ? n.args[0].get_if<Node*>() : nullptr;
    need(of && (*of)->multi, "an item is taken from a tuple of results");
    need(n.index >= 0 && static_cast<std::size_t>(n.index) < (*of)->types.size(), "the item is there");
    need(n.types.size() == 1 && same_type(n.type(), (*of)->types[static_cast<std::size_t>(n.index)]),
         "an item has the type of that result");
  }

  void check_attribute(const Node& n) const {
    need(!n.target.empty() && n.constant && n.types.size() == 1, "an attribute has a name, a tensor and a type");
    bool fits = n.constant->dtype == n.type().dtype && n.constant->sizes.size() == n.type().sizes.size();
    for (std::size_t d = 0; fits && d < n.constant->sizes.size(); ++d) {
      fits = n.type().sizes[d] == Size(n.constant->sizes[d]);
    }
    need(fits, "the type of an attribute is its tensor's");
  }

  void check_commit(const Node& n) const {
    need((n.args.size() == 1 || n.args.size() == 3) && n.args[0].is<Node*>(),
         "a commit has a value, and maybe a place");
    need(n.index >= 0 && static_cast<std::size_t>(n.index) < inputs_.size(), "a commit names an input");
    const Node& value = *n.args[0].get<Node*>();
    const TensorType& to = inputs_[static_cast<std::size_t>(n.index)]->type();
    need(value.types.size() == 1 && value.type().dtype == to.dtype, "the value has the dtype of the input");
    if (n.args.size() == 1) {
      need(value.type().sizes == to.sizes, "the value has the sizes of the input");
    } else {
      need(is_row_major(to), "an input committed in parts is row-major");
      // The bounds are those of a write_view.
      inferred(op(id::WriteView), {inputs_[static_cast<std::size_t>(n.index)], n.args[0], n.args[1], n.args[2]});
    }
    const NodeKind root = memory_root(&value)->kind;
    need(root == NodeKind::Op || root == NodeKind::GetItem, "a committed value has memory of its own");
  }

  void check_output(const Node& n) const {
    const auto* results = n.args.size() == 1 ? n.args[0].get_if<ListArg>() : nullptr;
    need(results, "the output is a tuple");
    for (const Arg& a : results->items) {
      need(a.is<Node*>() && a.get<Node*>()->types.size() == 1, "results are tensors");
    }
  }

  const Graph& g_;
  const Node* now_ = nullptr;
  Stage stage_ = Stage::Inputs;
  std::unordered_set<std::string> names_;
  std::unordered_set<const Node*> defined_;
  std::vector<Node*> inputs_;
};

}  // namespace

void verify(const Graph& g) { Verifier(g).run(); }

}  // namespace md
