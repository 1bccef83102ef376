// A graph becomes steps over numbered slots, each emptied after its last reader; a run has slots of its own.
#include "ir/run/evaluate_graph.h"

#include <algorithm>
#include <memory_resource>
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/graph/callee.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/unbacked.h"
#include "ir/reference/device_copies.h"
#include "ir/run/long_work.h"
#include "ir/run/observed_ops.h"
#include "ir/run/run_callee.h"
#include "ir/run/run_regions.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/extent.h"

namespace md {

// One execution: the values so far.
class GraphEvaluator::Run {
 public:
  Run(const GraphEvaluator& evaluator, Engine& engine, std::span<TensorImpl* const> inputs,
      const std::vector<std::int64_t>* symbols = nullptr)
      : evaluator_(evaluator), engine_(engine), inputs_(inputs), slots_(static_cast<std::size_t>(evaluator.slots_)) {
    if (inputs.size() != static_cast<std::size_t>(evaluator.inputs_)) {
      throw InternalError("evaluate: wrong number of inputs");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) slots_[i] = memory_.add(*inputs[i]);
    if (symbols) {
      symbols_ = *symbols;
    } else if (evaluator.graph_->shapes) {
      bind_symbols(inputs);
    }
  }

  void execute(const Step& s) {
    const Node& n = *s.node;
    if (n.kind == NodeKind::GetAttr) {
      slot(s.slot) = n.constant;
    } else if (n.kind == NodeKind::GetItem) {
      slot(s.slot) = slot(s.operands[0] + n.index);
    } else if (n.kind == NodeKind::Call) {
      call_out(s);
    } else {
      call(s);
    }
    for (int d : s.dead) slot(d) = nullptr;
  }

  // Values that live in a committed input are copied first: commits read what was there before any of them.
  void commit() {
    std::vector<TensorRef> values;
    std::vector<const Storage*> written;
    for (const Step& c : evaluator_.commits_) written.push_back(input(c)->storage.get());
    std::ranges::sort(written);
    memory_.expect_unwritten(written);
    for (const Step& c : evaluator_.commits_) values.push_back(slot(c.operands[0]));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::ranges::binary_search(written, values[i]->storage.get()))
        values[i] = call_op(op(id::Clone), std::vector<Arg>{values[i]}).get<TensorRef>();
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const TensorRef to = target(evaluator_.commits_[i], *values[i]);
      const std::vector<Arg> args{to, values[i]};
      run_step(op(id::Copy), args, std::span(&to, 1));
      ++to->storage->version;
    }
  }

  TensorRef& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }
  TensorRef output(int i) { return i < evaluator_.inputs_ ? TensorRef(inputs_[static_cast<std::size_t>(i)]) : slot(i); }

 private:
  TensorRef input(const Step& commit) { return slot(commit.node->index); }

  // The input, or the part of it that a commit writes.
  TensorRef target(const Step& commit, const TensorImpl& value) {
    const TensorRef whole = input(commit);
    const std::vector<Arg>& args = commit.node->args;
    if (args.size() == 1) return whole;
    DimVec strides;
    for (const Arg& s : args[1].get<ListArg>().items) strides.push_back(concrete(s.get<Size>()));
    return make_ref<TensorImpl>(whole->storage, whole->dtype, value.sizes, std::move(strides),
                                whole->offset + concrete(args[2].get<Size>()));
  }

  void call(const Step& s) {
    const Node& n = *s.node;
    std::size_t next = 0;
    std::vector<Arg> args;
    args.reserve(n.args.size());
    for (const Arg& a : n.args) args.push_back(value(a, s, next));
    const Op& op = md::op(n.op);
    if (op.kind() == OpKind::View) {
      slot(s.slot) = call_op(op, args).get<TensorRef>();
      return;
    }
    std::vector<TensorRef> results;
    if (evaluator_.finds_sizes_) {
      // What the types say of the layout holds for almost all sizes; a call of its own finds the one that is exact.
      const Arg made = call_op(op, args);
      if (const auto* list = made.get_if<ListArg>()) {
        for (const Arg& a : list->items) results.push_back(a.get<TensorRef>());
      } else {
        results.push_back(made.get<TensorRef>());
      }
      for (std::size_t i = 0; i < results.size(); ++i) bind_unbacked(n.types[i], results[i]->sizes, symbols_);
    } else {
      for (const TensorType& t : n.types) results.push_back(allocate(t));
      const Observed observed([&] { return op_slot(op); }, [&] { return name_of_op(op); });
      run_step(op, args, results);
    }
    for (std::size_t i = 0; i < results.size(); ++i) slot(s.slot + static_cast<int>(i)) = std::move(results[i]);
  }

  void call_out(const Step& s) {
    const Node& n = *s.node;
    std::size_t next = 0;
    std::vector<Arg> args;
    for (const Arg& a : n.args) args.push_back(value(a, s, next));
    std::vector<TensorRef> results(n.types.size());
    if (n.callee) {
      results = run_functional(*n.callee, std::move(args),
                               expected_tensors(n.types, [&](Size size) { return concrete(size); }));
    } else {
      const WithoutReadSet part;
      results = run_regions(region_kind(n.target), args, [&](std::size_t which, std::span<const TensorRef> inputs) {
        return run_region(*s.regions[which], inputs);
      });
      if (!n.unbacked.empty())
        for (std::size_t i = 0; i < results.size(); ++i) bind_unbacked(n.types[i], results[i]->sizes, symbols_);
    }
    for (std::size_t i = 0; i < results.size(); ++i) slot(s.slot + static_cast<int>(i)) = std::move(results[i]);
  }

  std::vector<TensorRef> run_region(const GraphEvaluator& region, std::span<const TensorRef> inputs) const {
    std::vector<TensorImpl*> operands;
    for (const TensorRef& t : inputs) operands.push_back(t.get());
    std::vector<TensorRef> results(region.output_count());
    region.run(engine_, operands, results, symbols_);
    return results;
  }

  Arg value(const Arg& a, const Step& s, std::size_t& next) {
    if (a.is<Node*>()) return slot(s.operands[next++]);
    if (const auto* l = a.get_if<ListArg>()) {
      ListArg out{{}, l->tuple};
      out.items.reserve(l->items.size());
      for (const Arg& x : l->items) out.items.push_back(value(x, s, next));
      return out;
    }
    if (const auto* size = a.get_if<Size>()) return concrete(*size);
    return a;
  }

  std::int64_t concrete(Size s) const { return s.is_const() ? s.value() : s.expr()->env->evaluate(s, symbols_); }

  void run_step(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
    if (out[0]->device().is_cpu() && !crosses_devices(op, args, *out[0]))
      engine_.run(op, args, out);
    else
      run_call(op, args, out);
  }

  TensorRef allocate(const TensorType& t) const {
    DimVec sizes, strides;
    for (const Size& s : t.sizes) sizes.push_back(concrete(s));
    for (const Size& s : t.strides) strides.push_back(concrete(s));
    Ref<Storage> storage = allocate_storage(checked_bytes(sizes, strides, 0, t.dtype), t.device);
    return make_ref<TensorImpl>(std::move(storage), t.dtype, std::move(sizes), std::move(strides), 0);
  }

  void bind_symbols(std::span<TensorImpl* const> inputs) {
    std::vector<const SizeVec*> declared;
    std::vector<const DimVec*> actual;
    const auto placeholders = evaluator_.graph_->placeholders();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      declared.push_back(&placeholders[i]->type().sizes);
      actual.push_back(&inputs[i]->sizes);
    }
    md::bind_symbols(*evaluator_.graph_->shapes, declared, actual, symbols_);
  }

  const GraphEvaluator& evaluator_;
  Engine& engine_;
  std::span<TensorImpl* const> inputs_;
  HeldMemory memory_;  // of the inputs: between two ops others may go on
  std::vector<TensorRef> slots_;
  std::vector<std::int64_t> symbols_;
};

GraphEvaluator::GraphEvaluator(std::shared_ptr<const Graph> functional) : graph_(std::move(functional)) {
  if (!graph_->functional || !graph_->output()) throw InternalError("evaluate: not a functional graph");
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<const Node*, int> slot_of(graph_->nodes.size(), &memory);
  constexpr int kNobody = -1;
  std::vector<int> last_reader;  // by slot: the step
  const auto reader = [&](int slot) -> int& { return last_reader[static_cast<std::size_t>(slot)]; };
  for (const auto& n : graph_->nodes) {
    finds_sizes_ |= n->kind == NodeKind::Op ? is_dynamic(op(n->op), n->args) : !n->unbacked.empty();
    Step s{n.get(), {}, slots_, {}, {}};
    for (const auto& region : n->regions) s.regions.push_back(std::make_shared<const GraphEvaluator>(region));
    for (const Arg& a : n->args) for_each_value(a, [&](const Node* in) { s.operands.push_back(slot_of.at(in)); });
    if (n->kind == NodeKind::Output) {
      outputs_ = s.operands;
      break;
    }
    if (n->kind == NodeKind::Commit) {
      commits_.push_back(std::move(s));
      continue;
    }
    if (n->kind == NodeKind::Placeholder) {
      ++inputs_;
    } else {
      for (int slot : s.operands) reader(slot) = static_cast<int>(steps_.size());
      if (n->kind == NodeKind::GetItem) reader(s.operands[0] + n->index) = static_cast<int>(steps_.size());
      steps_.push_back(std::move(s));
    }
    slot_of[n.get()] = slots_;
    slots_ += static_cast<int>(std::max<std::size_t>(1, n->types.size()));
    last_reader.resize(static_cast<std::size_t>(slots_), kNobody);
  }
  for (int slot : outputs_) reader(slot) = kNobody;
  for (const Step& c : commits_) reader(c.operands[0]) = kNobody;
  for (int slot = inputs_; slot < slots_; ++slot)
    if (reader(slot) != kNobody) steps_[static_cast<std::size_t>(reader(slot))].dead.push_back(slot);
}

std::size_t GraphEvaluator::output_count() const { return outputs_.size(); }

void GraphEvaluator::run(Engine& engine, std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const {
  Run r(*this, engine, inputs);
  run(r, outputs);
}

void GraphEvaluator::run(Engine& engine, std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs,
                         const std::vector<std::int64_t>& symbols) const {
  Run r(*this, engine, inputs, &symbols);
  run(r, outputs);
}

void GraphEvaluator::run(Run& r, std::span<TensorRef> outputs) const {
  for (const Step& s : steps_) r.execute(s);
  ReadSet::validate();
  r.commit();
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs[i] = r.output(outputs_[i]);
}

std::vector<TensorRef> evaluate(const Graph& functional, std::span<const TensorRef> inputs, Engine& engine) {
  const GraphEvaluator evaluator(std::shared_ptr<const Graph>(std::shared_ptr<void>(), &functional));  // not for longer
  std::vector<TensorImpl*> raw;
  for (const TensorRef& t : inputs) raw.push_back(t.get());
  std::vector<TensorRef> outputs(evaluator.output_count());
  evaluator.run(engine, raw, outputs);
  return outputs;
}

}  // namespace md
