// Types are inferred, composites are kept whole, memory tells which tensors belong together.
#include "ir/run/op_recorder.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/core/error.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/composite.h"
#include "ir/infer/inplace.h"
#include "ir/run/lazy_calls.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/readable.h"

namespace md {

namespace {

constexpr int kInput = -1, kConstant = -2;
constinit thread_local OpRecorder* recording = nullptr;

[[noreturn]] void refuse_recording(const std::string& what) { throw OpError(ErrorKind::NotImplemented, what); }

DimVec dims_of_type(const SizeVec& sizes) {
  DimVec out;
  for (const Size s : sizes) {
    if (!s.is_const()) throw InternalError("a recorded call with a symbolic size");
    out.push_back(s.value());
  }
  return out;
}

// Makes results without computing them.
class OnlyTypes final : public OpCaller {
 public:
  explicit OnlyTypes(OpRecorder::Allocate allocate) : allocate_(allocate) {}
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override {
    if (opens(op, bound)) return expand(op, *this, bound);
    if (is_dynamic(op, bound)) refuse_recording("sizes that " + op.public_name + "() gives depend on elements");
    ListArg made{{}, true};
    for (const TensorType& t : infer(op, bound))
      made.items.emplace_back(op.kind() == OpKind::View ? view(op, bound[0].get<TensorRef>(), t) : fresh(t));
    return made.items.size() == 1 ? made.items[0] : Arg(made);
  }

 private:
  TensorRef fresh(const TensorType& t) const {
    const DimVec sizes = dims_of_type(t.sizes), strides = dims_of_type(t.strides);
    const std::size_t bytes = checked_bytes(sizes, strides, 0, t.dtype);
    Ref<Storage> memory = t.device.is_readable() ? allocate_(bytes) : zeros_on(bytes, t.device);
    TensorRef x = make_ref<TensorImpl>(std::move(memory), t.dtype, sizes, strides, 0);
    x->set_grad_state(t.grad_state());
    return x;
  }
  static TensorRef view(const Op& op, const TensorRef& of, const TensorType& t) {
    TensorRef v =
        make_ref<TensorImpl>(of->storage, t.dtype, dims_of_type(t.sizes), dims_of_type(t.strides), t.offset.value());
    v->set_grad_state(t.grad_state());
    if (op.id != id::Detach) v->base = of->base ? of->base : of;
    set_pending(*v, pending_of_view(op, pending_of(*of)));
    return v;
  }
  const OpRecorder::Allocate allocate_;
};

template <class F>
void for_each_recorded_tensor(const Arg& a, F&& f) {
  if (const auto* t = a.get_if<TensorRef>()) {
    if (*t) f(*t);
  } else if (const auto* l = a.get_if<ListArg>()) {
    for (const Arg& x : l->items) for_each_recorded_tensor(x, f);
  } else if (const auto* s = a.get_if<SliceArg>()) {
    for (const Arg& x : *s->parts) for_each_recorded_tensor(x, f);
  }
}

// The same argument with f(tensor) in the place of each tensor.
template <class F>
Arg with_tensors(const Arg& a, F&& f) {
  if (const auto* t = a.get_if<TensorRef>()) return *t ? Arg(f(*t)) : a;
  if (const auto* s = a.get_if<SliceArg>()) {
    const std::vector<Arg>& p = *s->parts;
    return make_slice(with_tensors(p[0], f), with_tensors(p[1], f), with_tensors(p[2], f));
  }
  const auto* l = a.get_if<ListArg>();
  if (!l) return a;
  ListArg out{{}, l->tuple};
  for (const Arg& x : l->items) out.items.push_back(with_tensors(x, f));
  return out;
}

// The nodes of one graph.
class GraphOfCalls {
 public:
  TensorType type(const TensorRef& t) {
    TensorType type = type_of(Arg(t));
    type.requires_grad = false, type.history = GradHistory::Leaf;
    type.storage = storages_.try_emplace(t->storage.get(), static_cast<int>(storages_.size())).first->second;
    return type;
  }
  void add_input(const TensorRef& t) {
    Node n{.kind = NodeKind::Placeholder, .target = "arg_" + std::to_string(nodes_.size()), .types = {type(t)}};
    nodes_[t.get()] = graph->append(std::move(n));
  }
  void add_constant(const TensorRef& t) {
    Node n{.kind = NodeKind::GetAttr, .target = "_tensor_constant" + std::to_string(constants_++), .types = {type(t)}};
    n.constant = t;
    nodes_[t.get()] = graph->append(std::move(n));
  }
  void add_item(Node* of, std::size_t place, const TensorRef& t) {
    Node n{.kind = NodeKind::GetItem, .args = {Arg(of)}, .index = static_cast<int>(place), .types = {type(t)}};
    nodes_[t.get()] = graph->append(std::move(n));
  }
  Node* add_call(const Op& op, std::span<const Arg> bound, bool in_place) {
    Node n{.kind = NodeKind::Op, .op = op.id, .spelling = in_place ? Spelling::Method : Spelling::Function};
    n.target = op.public_name + (in_place && !op.public_name.ends_with('_') ? "_" : "");
    std::size_t last = bound.size();
    while (last > 0 && op.schema.params[last - 1].has_default &&
           bound[last - 1] == op.schema.params[last - 1].default_value)
      --last;
    for (std::size_t i = 0; i < last; ++i) {
      const Param& p = op.schema.params[i];
      Arg a = with_tensors(bound[i], [&](const TensorRef& t) { return node(t); });
      if (p.keyword_only)
        n.kwargs.emplace_back(p.name, std::move(a));
      else if (p.type == ParamType::TensorRest && a.is<ListArg>())
        for (const Arg& one : a.get<ListArg>().items) n.args.push_back(one);
      else
        n.args.push_back(std::move(a));
    }
    BoundArgs again;
    if (!try_bind(op, n.args, n.kwargs, again))
      refuse_recording("a call of " + op.public_name + "() as the graph would hold it");
    return graph->append(std::move(n));
  }
  bool has(const TensorRef& t) const { return nodes_.contains(t.get()); }
  Node* node(const TensorRef& t) const {
    const auto at = nodes_.find(t.get());
    if (at == nodes_.end()) refuse_recording("a tensor that comes from outside of the calls");
    return at->second;
  }
  void set(const TensorRef& t, Node* n) { nodes_[t.get()] = n; }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();

 private:
  std::unordered_map<const TensorImpl*, Node*> nodes_;
  std::unordered_map<const Storage*, int> storages_;
  int constants_ = 0;
};

}  // namespace

OpRecorder* op_recorder() { return recording; }

CallsRecorded::CallsRecorded(OpRecorder* recorder) : before_(std::exchange(recording, recorder)) {
  ++transforms_in_use;
}
CallsRecorded::~CallsRecorded() {
  --transforms_in_use;
  recording = before_;
}

void OpRecorder::note(const TensorRef& t, int by) {
  made_.try_emplace(t.get(), Made{t, by});
  sharing_[t->storage.get()].push_back(t);
}

void OpRecorder::add_input(const TensorRef& t) { note(t, kInput); }

// The tensor as it was recorded. Another object for the same elements (x.data) stands for that; what comes from outside
// is a constant.
TensorRef OpRecorder::known(const TensorRef& t) {
  if (made_.contains(t.get())) return t;
  const auto at = sharing_.find(t->storage.get());
  if (at != sharing_.end()) {
    for (const TensorRef& other : at->second) {
      if (other->dtype == t->dtype && other->sizes == t->sizes && other->strides == t->strides &&
          other->offset == t->offset && pending_of(*other) == pending_of(*t))
        return other;
    }
    refuse_recording("a tensor shares the memory of another in a way that no call tells");
  }
  if (t->batch || !t->has_memory()) refuse_recording("a tensor from outside has no elements");
  note(t, kConstant);
  return t;
}

std::vector<Arg> OpRecorder::known_args(std::span<const Arg> bound) {
  std::vector<Arg> out;
  for (const Arg& a : bound) out.push_back(with_tensors(a, [&](const TensorRef& t) { return known(t); }));
  return out;
}

int OpRecorder::made_by(const TensorRef& t) const {
  const auto at = made_.find(t.get());
  return at == made_.end() ? kConstant : at->second.by;
}

Arg OpRecorder::call(const Op& op, std::span<const Arg> bound) {
  Step step{&op, known_args(bound), false, {}, false};
  OnlyTypes types(allocate_);
  Arg made = types.call(op, std::vector<Arg>(bound.begin(), bound.end()));
  step.several = made.is<ListArg>();
  for_each_recorded_tensor(made, [&](const TensorRef& t) { step.results.push_back(t); });
  const bool handed_back =
      std::ranges::all_of(step.results, [&](const TensorRef& t) { return made_.contains(t.get()); });
  if (handed_back) return made;  // x.float() of a float32 tensor
  for (TensorRef& t : step.results)
    if (!made_.contains(t.get())) note(t, static_cast<int>(steps_.size()));
  steps_.push_back(std::move(step));
  return made;
}

void OpRecorder::write(const Op& op, std::span<const Arg> bound) {
  Step step{&op, known_args(bound), true, {}, false};
  const TensorRef self = step.args[0].get<TensorRef>();
  for (const TensorRef& t : sharing_[self->storage.get()])
    if (made_by(t) == kConstant) refuse_recording("a tensor from outside is written to");
  OnlyTypes types(allocate_);
  check_inplace(op, type_of(bound[0]), type_of(types.call(op, std::vector<Arg>(bound.begin(), bound.end()))));
  steps_.push_back(std::move(step));
}

bool OpRecorder::is_written(const TensorImpl& t) const {
  return std::ranges::any_of(
      steps_, [&](const Step& s) { return s.in_place && s.args[0].get<TensorRef>()->storage == t.storage; });
}

std::vector<TensorRef> OpRecorder::used_later(std::size_t first, std::span<const TensorRef> results) const {
  std::vector<TensorRef> found;
  std::unordered_set<const TensorImpl*> seen;
  const auto use = [&](const TensorRef& t) {
    const auto at = made_.find(t.get());
    if (at == made_.end() || at->second.by == kConstant || at->second.by >= static_cast<int>(first)) return;
    if (seen.insert(t.get()).second) found.push_back(t);
  };
  for (std::size_t i = first; i < steps_.size(); ++i)
    for (const Arg& a : steps_[i].args) for_each_recorded_tensor(a, use);
  std::ranges::for_each(results, use);
  return found;
}

std::unique_ptr<Graph> OpRecorder::graph(std::size_t first, std::size_t end, std::span<const TensorRef> inputs,
                                         std::span<const TensorRef> outputs) const {
  GraphOfCalls made;
  for (const TensorRef& t : inputs) made.add_input(t);
  const auto expect = [&](const TensorRef& t) {
    if (!made.has(t) && made_by(t) == kConstant) made.add_constant(t);
  };
  for (std::size_t i = first; i < end; ++i) {
    const Step& s = steps_[i];
    for (const Arg& a : s.args) for_each_recorded_tensor(a, expect);
    Node* n = made.add_call(*s.op, s.args, s.in_place);
    if (s.in_place) {
      n->types = {made.type(s.args[0].get<TensorRef>())};
      continue;
    }
    n->multi = s.several;
    for (const TensorRef& t : s.results) n->types.push_back(made.type(t));
    for (std::size_t k = 0; k < s.results.size(); ++k) {
      if (made.has(s.results[k])) continue;
      if (s.several)
        made.add_item(n, k, s.results[k]);
      else
        made.set(s.results[k], n);
    }
  }
  ListArg results{{}, true};
  for (const TensorRef& t : outputs) {
    expect(t);
    results.items.emplace_back(made.node(t));
  }
  made.graph->append({.kind = NodeKind::Output, .name = "output", .args = {results}});
  return std::move(made.graph);
}

}  // namespace md
