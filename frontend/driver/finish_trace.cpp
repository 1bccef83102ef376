// Builds the plan of a finished trace (live values, effects), its guards and kernel, and inserts the entry.
#include "frontend/driver/finish_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "frontend/driver/artifact_texts.h"
#include "frontend/driver/graph_module.h"
#include "frontend/driver/plan_break.h"
#include "frontend/driver/target_programs.h"
#include "frontend/guards/compiled_guards.h"
#include "frontend/tensors/respell_sizes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/logs.h"
#include "frontend/values/constant.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/inference_mode.h"
#include "frontend/values/let_go.h"
#include "frontend/values/tensor.h"
#include "ir/graph/dataflow.h"

namespace md {

bool calls_out(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](const auto& n) {
    return n->callee || std::ranges::any_of(n->regions, [](const auto& region) { return calls_out(*region); });
  });
}

namespace {

struct Finisher {
  Tracer& t;
  TraceResult& end;
  const FrameRequest& request;
  const SpeculationLog& log;
  FrameNotes& notes;
  const LogSwitches& logs;
  std::shared_ptr<CompiledPlan> compiled = std::make_shared<CompiledPlan>();
  std::shared_ptr<const SourceTable> sources;
  std::shared_ptr<Graph> graph;

  bool has_ops() const {
    return std::any_of(t.graphs.current->nodes.begin(), t.graphs.current->nodes.end(),
                       [](auto& n) { return n->kind == NodeKind::Op || n->kind == NodeKind::Call; });
  }

  // Inputs nobody uses never appear.
  void drop_unused_inputs(const std::vector<Node*>& outputs) {
    std::unordered_set<const Node*> used;
    const auto use = [&](const Node* n) {
      if (n->kind == NodeKind::Placeholder) used.insert(n);
    };
    std::ranges::for_each(outputs, use);
    for (DelegatedCall& call : t.graphs.current->delegated)
      for (Arg& a : call.args) for_each_node(a, use);
    std::unordered_map<std::string_view, Node*> placeholders;
    for (auto& n : t.graphs.current->nodes) {
      for_each_input(*n, use);
      if (n->kind == NodeKind::Placeholder) placeholders.emplace(n->target, n.get());
    }
    std::unordered_set<const Node*> unused;
    std::erase_if(t.graphs.inputs, [&](const Ref<TensorValue>& v) {
      // By its name, for the value may have moved on to an in-place node.
      const auto placeholder = placeholders.find(placeholder_target(*v->source));
      if (placeholder == placeholders.end()) throw InternalError("an input lost its placeholder");
      return !used.contains(placeholder->second) && unused.insert(placeholder->second).second;
    });
    std::erase_if(t.graphs.current->nodes, [&](const auto& n) { return unused.contains(n.get()); });
  }

  static bool is_computed(const GradState& s) { return s.requires_grad && s.history != GradHistory::Leaf; }

  // An input that was computed gets another history, whether or not it comes back.
  static bool writes_to_computed(const Graph& g) {
    const std::vector<Node*> placeholders = g.placeholders();
    const bool any = std::ranges::any_of(placeholders, [](const Node* p) { return !p->type().is_leaf(); });
    const std::vector<bool> written = any ? written_inputs(g) : std::vector<bool>(placeholders.size());
    for (std::size_t i = 0; i < placeholders.size(); ++i)
      if (written[i] && !placeholders[i]->type().is_leaf()) return true;
    return false;
  }

  void finish_graph(const std::vector<Node*>& outputs) {
    drop_unused_inputs(outputs);
    Node out{NodeKind::Output};
    out.name = "output";
    ListArg tuple;
    tuple.tuple = true;
    for (Node* n : outputs) tuple.items.push_back(n);
    out.args = {Arg(tuple)};
    t.graphs.current->append(std::move(out));
    respell_sizes(t, *t.graphs.current);
    compiled->plan.size_inputs = add_size_inputs(t, *t.graphs.current);
    t.graphs.current->name = compiled_name();
    graph = std::move(t.graphs.current);
    log_traced_graph(*graph, logs);
    EntryPlan& plan = compiled->plan;
    plan.outputs = outputs.size();
    bool any_grad = false;
    for (auto& v : t.graphs.inputs) any_grad |= v->type.requires_grad;
    for (Node* n : outputs) any_grad |= n->type().requires_grad || n->type().history != GradHistory::Leaf;
    if (any_grad)
      for (Node* n : outputs) plan.output_grads.push_back(n->type().grad_state());
    if (std::ranges::any_of(plan.output_grads, is_computed) || writes_to_computed(*graph)) {
      plan.history_unknown = t.graphs.holds_functions;
      if (!plan.history_unknown) plan.traced = clone(*graph);
    }
    for (auto& v : t.graphs.inputs) {
      plan.inputs.push_back(v->source);
      plan.input_slots.push_back(v->source->kind == SourceKind::Local ? v->source->index : -1);
    }
    for (const auto& [source, reg] : plan.numbers) {
      const auto at = std::ranges::find(plan.inputs, source);
      if (at == plan.inputs.end()) continue;  // nothing uses it
      plan.number_regs.resize(plan.inputs.size(), -1);
      plan.number_regs[static_cast<std::size_t>(at - plan.inputs.begin())] = reg;
    }
    plan.calls_out = calls_out(*graph);
    tell_target_programs(*graph, differentiated(), request);
    GraphKernels kernels = compile_graph(graph, differentiated(), t, *request.options, logs);
    plan.kernel = with_inference_outputs(std::move(kernels.forward), *graph);
    plan.backward = std::move(kernels.backward);
  }

  // The outputs through which gradients go back; none if they are not to be compiled.
  std::vector<bool> differentiated() const {
    std::vector<bool> out;
    if (compiled->plan.traced)
      for (const GradState& s : compiled->plan.output_grads) out.push_back(is_computed(s));
    return out;
  }

  static std::string compiled_name() {
    static thread_local std::mt19937_64 random{std::random_device{}()};
    const std::uint64_t a = random(), b = random();
    return fmt::format("__compiled_fn_{}_{:08x}_{:04x}_4{:03x}_{:04x}_{:012x}", next_name_number(), a >> 32,
                       (a >> 16) & 0xFFFF, a & 0xFFF, 0x8000 | ((b >> 48) & 0x3FFF), b & 0xFFFFFFFFFFFF);
  }

  void add_ambient_guards() {
    for (GuardKind k : {GuardKind::SavedTensorHooks, GuardKind::DefaultDevice, GuardKind::GlobalState,
                        GuardKind::TorchFunctionModeStack})
      t.recorder.guards.add(Guard{k});
    t.add_object_guards();
    std::vector<SourceRef> places;
    for (auto& v : t.graphs.inputs) {
      const bool made = v->source->kind == SourceKind::ArrayTensor;
      const SourceRef place = made ? v->source->base : v->source;
      // A float has no memory to share.
      if (!made || !PyFloat_CheckExact(load(place, request.args).get())) places.push_back(place);
    }
    if (places.size() < 2) return;
    t.recorder.guards.add(aliasing_guard(places, request.args));
  }

  void mark_single_output() {
    EntryPlan& p = compiled->plan;
    p.single_output = p.kernel && !p.calls_out && !p.seed && !p.broken && p.effects.empty() && p.loads.empty() &&
                      p.calls.empty() && p.size_inputs.empty() && p.output_grads.empty() && p.steps.size() == 1 &&
                      p.steps[0].op == StepOp::LoadOutput && p.outputs == 1 && p.inputs.size() <= EntryPlan::kFewInputs;
    p.inputs_apart = std::ranges::any_of(p.input_slots, [](int s) { return s < 0; });
  }

  // What the plan loads, which the guards hand out. Notes where.
  std::vector<SourceRef> loaded() {
    std::vector<SourceRef> out;
    const auto place = [&](SourceRef s) {
      out.push_back(s);
      return static_cast<int>(out.size()) - 1;
    };
    EntryPlan& plan = compiled->plan;
    for (PlanStep& s : plan.loads)
      if (s.op == StepOp::LoadSource) s.index = place(s.source);
    for (std::size_t k = 0; k < plan.inputs.size(); ++k) {
      const bool apart = plan.input_slots[k] < 0 && plan.inputs[k]->kind != SourceKind::ArrayTensor;
      plan.input_places.push_back(apart ? place(plan.inputs[k]) : -1);
    }
    plan.takes_found = std::ranges::find(plan.loads, StepOp::Call, &PlanStep::op) == plan.loads.end();
    return out;
  }

  // The keys of dictionaries and members of sets that are guarded: wherever the guards hold they live.
  std::set<PyObject*> guarded_keys() const {
    std::set<PyObject*> keys;
    for (const Guard& g : t.recorder.guards.guards())
      if (g.kind == GuardKind::DictKeyOrder || g.kind == GuardKind::SetOrder)
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(g.object.get()); ++k)
          keys.insert(PyTuple_GET_ITEM(g.object.get(), k));
    return keys;
  }

  void refer_weakly(Source& s) const {
    PyRef w = weak_key(s.object);
    if (w.get() == s.object.get()) return;
    for (PlanStep& step : compiled->plan.loads)
      if (step.source == &s && step.op == StepOp::LoadConst) step.object = w, step.index = 1;
    s.kind = SourceKind::Referent, s.object = std::move(w);
  }

  // Objects met by way of a constant source live as long as the program keeps them, unless the plan loads them; keys of
  // dictionaries in any case.
  void release_constants() const {
    std::set<const Source*> used;
    const auto use = [&](const Source* s) {
      for (; s && used.insert(s).second;) s = s->base;
    };
    const EntryPlan& plan = compiled->plan;
    for (const auto* steps : {&plan.loads, &plan.calls, &plan.steps, &plan.effects})
      for (const PlanStep& s : *steps) use(s.source);
    for (const Source* s : plan.inputs) use(s);
    for (const SizePlace& p : plan.size_inputs) use(p.source);
    for (const auto& [symbol, p] : plan.symbols) use(p.source);
    const auto keys = guarded_keys();
    for (const auto& s : sources->all()) {
      if (s->kind == SourceKind::Constant && !used.contains(s.get())) s->object = PyRef();
      if (s->kind == SourceKind::Constant && keys.contains(s->object.get())) refer_weakly(*s);
      if (s->kind == SourceKind::DictItem) s->key = weak_key(s->key);  // the guards see that it lives
    }
  }

  EntryRef install() {
    // The guards see the whole trie, so the table outlives the trace.
    Entry e;
    e.options = request.options;
    e.guards = compile_guards(t.recorder.guards, *sources, loaded(), t.recorder.present);
    release_constants();
    compiled->plan.guards = e.guards;
    e.compiled = compiled;
    e.frame_id = notes.frame_id;
    e.entry_id = notes.entries_made++;
    e.last = notes.general;
    e.compile_time_code = t.compile_time_code;
    if (logs.bytecode) log_bytecode(request, compiled->plan, graph ? graph->name : "");
    if (logs.info) report("log_info", {py_str("produce_guards")});
    if (logs.debug) log_input_sizes(t);
    if (logs.guards) log_guards(*e.guards, request.args);
    return insert_entry(request.code, std::move(e));
  }

  void log_reason(bool broke) {
    const auto at = broke ? log.breaks.find(t.stack.ordinal) : log.breaks.end();
    if (at == log.breaks.end())
      report("log_compiling_graph", {py_str("return_value"), frames_list({end.returned_at}), PyRef::borrow(Py_False)});
    else
      report("log_compiling_graph",
             {py_str(at->second.reason), frames_list(at->second.frames), PyRef::borrow(Py_True)});
  }

  // The innermost frame of the program; columns are known where that is the frame itself.
  PartName about_break(const SpeculationLog::Entry& stop) const {
    PartName about{.kind = PartKind::Break, .name = "graph break", .function = "", .file = ""};
    about.compile_id = fmt::format("{}/{}", notes.frame_id, notes.entries_made);
    if (stop.code >= 0) about.name = fmt::format("GB{:04}", stop.code);
    if (stop.frames.empty()) return about;
    const UserFrame& at = stop.frames.back();
    about.function = at.function, about.file = at.file, about.line = at.line;
    about.name += fmt::format(" at {}:{}", at.file, at.line);
    const CodeBody& body = *t.stack.frames.front()->body;
    const auto index = static_cast<std::size_t>(end.break_instruction);
    if (stop.frames.size() > 1 || end.break_instruction < 0 || index >= body.instructions.size()) return about;
    if (const Position& p = body.instructions[index].pos; p.line == at.line)
      about.column = p.column, about.end_line = p.end_line, about.end_column = p.end_column;
    return about;
  }

  EntryRef run() {
    EntryPlan& plan = compiled->plan;
    PlanBuilder b(t, plan);
    const bool broke = end.end == TraceResult::End::Break;
    if (logs.debug) log_reason(broke);
    plan_deferred_calls(b);
    const auto stop = log.breaks.find(t.stack.ordinal);
    const TracedBreak at{end.break_instruction, request, notes};
    int later_numbers = 0;  // they come after the graph's
    if (broke && stop != log.breaks.end() && stop->second.leave)
      later_numbers = plan_leave(b, at);
    else if (broke)
      later_numbers = plan_break(b, at);
    else
      plan.result = b.rebuild(end.returned);
    if (broke && stop != log.breaks.end()) plan.broken->about = about_break(stop->second);
    b.replay(t.effects);
    expect_kept(t, notes, [&](const ValueRef& v) { return b.has(v); });
    if (t.grad_enabled != t.initial_grad_enabled) {
      PlanStep s{StepOp::SetGradEnabled};
      s.index = t.grad_enabled;
      b.effect(std::move(s));
    }
    const bool keeps_empty = t.config.allow_empty_graphs || t.config.fullgraph;  // else a later call might break unseen
    if (!broke && !has_ops() && plan.effects.empty() && !keeps_empty)
      throw SkipFrame{"because no content in function call", true};
    if (has_ops())
      finish_graph(b.outputs);
    else if (!b.outputs.empty())
      throw InternalError("outputs without a graph");
    for (; later_numbers > 0; --later_numbers) next_name_number();
    add_ambient_guards();
    if (logs.dynamic) log_symbols(t);
    add_size_guards(t);
    sources = std::make_shared<SourceTable>(std::move(t.recorder.sources));
    plan.sources = sources;
    compiled->plan.seed = t.seed;
    mark_single_output();
    compiled->runs_single = compiled->plan.single_output;
    report("on_entry", {PyRef::borrow(reinterpret_cast<PyObject*>(request.code)), py_str(request.printed_name)});
    return install();
  }
};

}  // namespace

EntryRef finish_trace(Tracer& t, TraceResult& end, const FrameRequest& request, const SpeculationLog& log,
                      FrameNotes& notes, const LogSwitches& logs) {
  return Finisher{t, end, request, log, notes, logs}.run();
}

}  // namespace md
