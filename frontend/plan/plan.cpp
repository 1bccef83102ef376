// Writes plan steps that rebuild values and replay effects, with containers filled once all exist.
#include "frontend/plan/plan.h"

#include <algorithm>

#include "frontend/cpython/frame_access.h"
#include "frontend/plan/hidden_entries.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/effects.h"
#include "frontend/trace/tracer.h"

namespace md {

namespace {

// A value is needed to make itself.
struct Unfinished {
  const Value* value;
};

}  // namespace

Reg PlanBuilder::rebuild(const ValueRef& raw) {
  ValueRef v = raw;
  if (ValueRef seen = v->realized_as()) v = std::move(seen);
  if (v->owner) v = ValueRef(v->owner);
  if (auto it = built_.find(v.get()); it != built_.end()) return it->second;
  if (is_stack_short()) graph_break<GB0092>(v->print());  // one inside the other, without end
  if (!in_making_.insert(v.get()).second) throw Unfinished{v.get()};
  keep_.push_back(v);
  Reg r = -1;
  try {
    r = v->rebuild(*this);
  } catch (const Unfinished&) {
    in_making_.erase(v.get());
    if (in_making_.empty()) graph_break<GB0092>(v->print());
    throw;
  }
  in_making_.erase(v.get());
  built_[v.get()] = r;
  finish_postponed(v.get());
  return r;
}

void PlanBuilder::fill(MakeStep make) {
  try {
    fill(make());
  } catch (const Unfinished& u) {
    postponed_.emplace_back(u.value, std::move(make));
  }
}

PlanStep PlanBuilder::attribute(Reg object, const PyRef& name, const ValueRef& value) {
  PlanStep set{StepOp::AttrSet};
  set.a = object, set.b = rebuild(value), set.object = name;
  return set;
}

void PlanBuilder::finish_postponed(const Value* made) {
  std::vector<MakeStep> ready;
  for (auto& [value, make] : postponed_)
    if (value == made) ready.push_back(std::move(make));
  std::erase_if(postponed_, [&](const auto& waiting) { return waiting.first == made; });
  for (MakeStep& make : ready) fill(std::move(make));
}

// What is of the trace alone may not get into the plan.
static void refuse_prototype(const Tracer& t, const PyRef& object) {
  if (object && t.prototypes.value_of(object.get())) graph_break<GB0075>();
}

Reg PlanBuilder::step(PlanStep s) {
  refuse_prototype(tracer, s.object);
  s.out = plan.registers++;
  plan.steps.push_back(std::move(s));
  return plan.registers - 1;
}

Reg PlanBuilder::load_source(SourceRef s) {
  if (auto it = loaded_.find(s); it != loaded_.end()) return it->second;
  PlanStep load{StepOp::LoadSource};
  if (s->kind == SourceKind::ArrayTensor) {
    load.op = StepOp::Call;
    load.a = load_constant(array_tensor_maker());
    load.regs = {load_source(s->base)};
  }
  load.out = plan.registers++;
  load.source = s;
  if (s->kind == SourceKind::Local) load.op = StepOp::LoadLocal, load.index = s->index;
  if (s->kind == SourceKind::Constant) load.op = StepOp::LoadConst, load.object = s->object;
  plan.loads.push_back(std::move(load));
  return loaded_[s] = plan.registers - 1;
}

Reg PlanBuilder::load_constant(const PyRef& object) {
  refuse_prototype(tracer, object);
  PlanStep load{StepOp::LoadConst};
  load.out = plan.registers++;
  load.object = object;
  plan.loads.push_back(std::move(load));
  return plan.registers - 1;
}

Reg PlanBuilder::load_class(PyTypeObject* type) {
  if (!tracer.prototypes.has(type)) return load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  return rebuild(tracer.prototypes.value_of(reinterpret_cast<PyObject*>(type)));
}

Reg PlanBuilder::graph_output(Node* n) {
  if (auto it = output_regs_.find(n); it != output_regs_.end()) return it->second;
  PlanStep s{StepOp::LoadOutput};
  s.index = output_index(n);
  return output_regs_[n] = step(std::move(s));
}

Reg PlanBuilder::evaluate_size(Size s) {
  if (s.is_const()) return load_constant(checked(PyLong_FromLongLong(s.value())));
  plan.shapes = tracer.sizes.env;
  bool after_kernel = false;
  for_each_symbol(s, [&](int i) {
    const auto found = tracer.sizes.unbacked.find(i);
    if (found != tracer.sizes.unbacked.end()) {
      after_kernel = true;
      if (known_symbols_.insert(i).second)
        plan.output_symbols.push_back({i, output_index(found->second.node), found->second.dim});
      return;
    }
    if (known_symbols_.insert(i).second)
      plan.symbols.emplace_back(i, tracer.sizes.places.at(static_cast<std::size_t>(i)));
  });
  PlanStep load{StepOp::EvaluateSize};
  load.size = s;
  if (after_kernel) return step(std::move(load));
  load.out = plan.registers++;
  plan.loads.push_back(std::move(load));
  return plan.registers - 1;
}

int PlanBuilder::output_index(Node* n) {
  const auto [place, fresh] = output_places_.try_emplace(n, static_cast<int>(outputs.size()));
  if (fresh) outputs.push_back(n);
  return place->second;
}

Reg PlanBuilder::advanced(Reg iterator, std::int64_t draws, bool over_changed_list) {
  const bool goes_last = over_changed_list || !last_.empty();
  PlanStep s{goes_last ? StepOp::Advance : StepOp::Iterate};
  s.a = iterator, s.index = draws;
  if (goes_last) return last_.push_back(std::move(s)), iterator;
  s.out = plan.registers++;
  const Reg out = s.out;
  fill(std::move(s));
  return out;
}

void PlanBuilder::replay(const Effects& effects) {
  for (const SideEffect& e : effects.list()) {
    PlanStep s{};
    if (e.target) s.a = rebuild(e.target);
    s.object = e.name;
    switch (e.kind) {
      case EffectKind::ListAppend:
        s.op = StepOp::ListAppend, s.b = rebuild(e.value);
        break;
      case EffectKind::ListAssign:
      case EffectKind::DequeCall:
        s.op = e.kind == EffectKind::ListAssign ? StepOp::ListAssign : StepOp::DequeCall;
        s.index = e.first, s.count = e.removed;
        for (auto& v : e.items) s.regs.push_back(rebuild(v));
        break;
      case EffectKind::DictSet:
        s.op = StepOp::DictSet, s.regs = {rebuild(e.key), rebuild(e.value)};
        break;
      case EffectKind::DictDelete:
        s.op = StepOp::DictDelete, s.b = rebuild(e.key);
        break;
      case EffectKind::DictClear:
        s.op = StepOp::DictClear;
        break;
      case EffectKind::SetAdd:
        s.op = StepOp::SetAdd, s.b = rebuild(e.key);
        break;
      case EffectKind::SetDiscard:
        s.op = StepOp::SetDiscard, s.b = rebuild(e.key);
        break;
      case EffectKind::SetClear:
        s.op = StepOp::SetClear;
        break;
      case EffectKind::AttrSet:
        s.op = StepOp::AttrSet, s.b = rebuild(e.value), s.index = e.first;
        break;
      case EffectKind::AttrDelete:
        s.op = StepOp::AttrDelete, s.index = e.first;
        break;
      case EffectKind::CellSet:
        s.op = StepOp::CellSet, s.b = e.value ? rebuild(e.value) : -1;
        break;
      case EffectKind::GlobalSet:
        s.op = StepOp::GlobalSet, s.b = rebuild(e.value);
        break;
      case EffectKind::Call:
        s.op = StepOp::Call, s.a = rebuild(e.value), s.out = plan.registers++;
        for (auto& v : e.items) s.regs.push_back(rebuild(v));
        break;
    }
    effect(std::move(s));
  }
  for (PlanStep& s : last_) effect(std::move(s));
}

}  // namespace md
