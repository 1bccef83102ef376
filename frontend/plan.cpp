#include "frontend/plan.h"

#include <algorithm>
#include <optional>

#include "frontend/breaks.h"
#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/effects.h"
#include "frontend/graph_module.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

// --- building -------------------------------------------------------------------------------------------------------

namespace {

// A value is needed to make itself.
struct Unfinished {
  const Value* value;
};

}  // namespace

constexpr std::size_t kLeastStack = 1 << 20;

Reg PlanBuilder::rebuild(const ValueRef& raw) {
  ValueRef v = raw;
  if (auto* lazy = as<LazyValue>(v); lazy && lazy->realized) v = lazy->realized;
  if (v->owner) v = ValueRef(v->owner);
  if (auto it = built_.find(v.get()); it != built_.end()) return it->second;
  if (stack_left() < kLeastStack) graph_break<GB0092>(v->print());  // one inside the other, without end
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

Reg PlanBuilder::step(PlanStep s) {
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
  PlanStep load{StepOp::LoadConst};
  load.out = plan.registers++;
  load.object = object;
  plan.loads.push_back(std::move(load));
  return plan.registers - 1;
}

Reg PlanBuilder::graph_output(Node* n) {
  if (auto it = output_regs_.find(n); it != output_regs_.end()) return it->second;
  PlanStep s{StepOp::LoadOutput};
  s.index = output_index(n);
  return output_regs_[n] = step(std::move(s));
}

Reg PlanBuilder::evaluate_size(Size s) {
  if (s.is_const()) return load_constant(checked(PyLong_FromLongLong(s.value())));
  plan.shapes = tracer.shape_env;
  bool late = false;
  for_each_symbol(s, [&](int i) {
    const auto found = tracer.unbacked_places.find(i);
    if (found != tracer.unbacked_places.end()) {
      late = true;
      if (std::ranges::find(plan.late_symbols, i, &EntryPlan::LateSymbol::symbol) == plan.late_symbols.end())
        plan.late_symbols.push_back({i, output_index(found->second.node), found->second.dim});
      return;
    }
    for (auto& known : plan.symbols)
      if (known.first == i) return;
    plan.symbols.emplace_back(i, tracer.symbol_places.at(static_cast<std::size_t>(i)));
  });
  PlanStep load{StepOp::EvaluateSize};
  load.size = s;
  if (late) return step(std::move(load));
  load.out = plan.registers++;
  plan.loads.push_back(std::move(load));
  return plan.registers - 1;
}

int PlanBuilder::output_index(Node* n) {
  const auto found = std::ranges::find(outputs, n);
  if (found != outputs.end()) return static_cast<int>(found - outputs.begin());
  outputs.push_back(n);
  return static_cast<int>(outputs.size()) - 1;
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
      case EffectKind::DequeAssign:
        s.op = e.kind == EffectKind::ListAssign ? StepOp::ListAssign : StepOp::DequeAssign;
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
        s.op = StepOp::AttrSet, s.b = rebuild(e.value);
        break;
      case EffectKind::AttrDelete:
        s.op = StepOp::AttrDelete;
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
}

// --- running
// -----------------------------------------------------------------------------------------------------------

namespace {

[[gnu::always_inline]] inline void run_kernel(Kernel& kernel, std::span<TensorImpl* const> inputs,
                                              std::span<TensorRef> outputs, bool& committed) {
  try {
    kernel.run(inputs, outputs);
  } catch (const BackendFailed&) {
    committed = true;
    throw;
  }
  committed = true;
}

struct Runner {
  const EntryPlan& plan;
  const FrameArgs& args;
  std::vector<PyRef> regs;
  std::vector<TensorRef> outputs;
  std::vector<std::int64_t> symbols;
  std::vector<TensorRef> carriers;  // ints as kernel inputs

  PyObject* reg(Reg r) const { return regs[static_cast<std::size_t>(r)].get(); }

  PyRef tuple(const std::vector<Reg>& list) const {
    PyRef t = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
    for (std::size_t i = 0; i < list.size(); ++i)
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), Py_NewRef(reg(list[i])));
    return t;
  }

  PyRef make_function(const PlanStep& s) const {
    PyObject* parts = s.object.get();
    PyObject* globals = PyTuple_GET_ITEM(parts, 1) == Py_None ? args.globals : PyTuple_GET_ITEM(parts, 1);
    PyRef f = checked(PyFunction_NewWithQualName(PyTuple_GET_ITEM(parts, 0), globals, PyTuple_GET_ITEM(parts, 3)));
    if (s.regs[0] >= 0) checked(PyFunction_SetDefaults(f.get(), reg(s.regs[0])));
    if (s.regs[1] >= 0) checked(PyFunction_SetKwDefaults(f.get(), reg(s.regs[1])));
    if (s.regs[2] >= 0) checked(PyFunction_SetClosure(f.get(), reg(s.regs[2])));
    if (s.regs[3] >= 0) checked(PyFunction_SetAnnotations(f.get(), reg(s.regs[3])));
    return f;
  }

  PyRef new_dict(const PlanStep& s) const {
    if (s.object.get() == reinterpret_cast<PyObject*>(&PyDict_Type)) return checked(PyDict_New());
    return checked(PyObject_CallFunctionObjArgs(s.object.get(), s.regs.empty() ? nullptr : reg(s.regs[0]), nullptr));
  }

  std::int64_t number_at(const SizePlace& p) const {
    PyRef o = load(p.source, args);
    std::int64_t value;
    if (!o || !read_size(o.get(), p.field, p.dim, value))
      throw InternalError("a size vanished after its guard passed: " + to_string(p));
    return value;
  }

  std::span<const std::int64_t> symbol_values() {
    if (symbols.empty()) {
      symbols.resize(plan.shapes->symbols().size());
      for (auto& [index, place] : plan.symbols) symbols[static_cast<std::size_t>(index)] = number_at(place);
    }
    return symbols;
  }

  PyRef iterate(const PlanStep& s) const {
    PyRef it = checked(PyObject_GetIter(reg(s.a)));
    for (std::int64_t k = 0; k < s.index; ++k) {
      PyRef skipped = PyRef::steal(PyIter_Next(it.get()));
      if (!skipped && PyErr_Occurred()) throw PythonError{};
    }
    return it;
  }

  PyRef call(const PlanStep& s) const {
    std::vector<PyObject*> arguments;
    for (Reg r : s.regs) arguments.push_back(reg(r));
    const Py_ssize_t named = s.object ? PyTuple_GET_SIZE(s.object.get()) : 0;
    return checked(PyObject_Vectorcall(reg(s.a), arguments.data(), arguments.size() - static_cast<std::size_t>(named),
                                       s.object.get()));
  }

  PyRef new_set(const PlanStep& s) const {
    PyRef t = tuple(s.regs);
    return checked(s.op == StepOp::NewSet ? PySet_New(t.get()) : PyFrozenSet_New(t.get()));
  }

  PyRef build(const PlanStep& s) {
    switch (s.op) {
      case StepOp::LoadLocal:
        return PyRef::borrow(args.localsplus[s.index]);
      case StepOp::LoadSource: {
        PyRef v = load(s.source, args);
        if (!v) throw InternalError("an input vanished after its guard passed: " + s.source->name);
        return v;
      }
      case StepOp::LoadConst:
        if (s.index == 0) return s.object;
        if (PyRef v = referent(s.object.get())) return v;
        throw InternalError("a class or key that guards saw has died");
      case StepOp::EvaluateSize:
        return checked(PyLong_FromLongLong(plan.shapes->evaluate(s.size, symbol_values())));
      case StepOp::LoadOutput:
        return output(static_cast<std::size_t>(s.index));
      case StepOp::BuildTuple:
        return tuple(s.regs);
      case StepOp::BuildTupleType: {
        PyRef t = tuple(s.regs);
        auto* type = reinterpret_cast<PyTypeObject*>(s.object.get());
        if (!type_find(type, checked(PyUnicode_InternFromString("_fields")).get()))
          return checked(PyObject_CallOneArg(s.object.get(), t.get()));
        return checked(PyTuple_Type.tp_new(type, checked(PyTuple_Pack(1, t.get())).get(), nullptr));
      }
      case StepOp::NewList:
        return checked(PyList_New(0));
      case StepOp::NewDict:
        return new_dict(s);
      case StepOp::NewSet:
      case StepOp::BuildFrozenSet:
        return new_set(s);
      case StepOp::BuildSlice:
        return checked(PySlice_New(reg(s.regs[0]), reg(s.regs[1]), reg(s.regs[2])));
      case StepOp::NewCell:
        return checked(PyCell_New(nullptr));
      case StepOp::NewObject: {
        auto* type = reinterpret_cast<PyTypeObject*>(reg(s.a));
        return checked(layout_base(type)->tp_new(type, tuple(s.regs).get(), nullptr));
      }
      case StepOp::NewException:
        return new_exception(reinterpret_cast<PyTypeObject*>(s.object.get()), tuple(s.regs));
      case StepOp::MakeFunction:
        return make_function(s);
      case StepOp::MakeMethod:
        return checked(PyMethod_New(reg(s.regs[0]), reg(s.regs[1])));
      case StepOp::GetAttr:
        return checked(PyObject_GetAttr(reg(s.a), s.object.get()));
      case StepOp::Call:
        return call(s);
      case StepOp::Iterate:
        return iterate(s);
      default:
        throw InternalError("not a building step");
    }
  }

  void effect(const PlanStep& s) {
    switch (s.op) {
      case StepOp::ListAppend:
        checked(PyList_Append(reg(s.a), reg(s.b)));
        return;
      case StepOp::ListAssign:
        checked(PyList_SetSlice(reg(s.a), 0, PyList_GET_SIZE(reg(s.a)),
                                checked(PySequence_List(tuple(s.regs).get())).get()));
        return;
      case StepOp::DequeAssign:
        checked(PyObject_CallMethod(reg(s.a), "clear", nullptr));
        checked(PyObject_CallMethod(reg(s.a), "extend", "(O)", tuple(s.regs).get()));
        return;
      case StepOp::DictSet:
        checked((PyODict_Check(reg(s.a)) ? PyODict_SetItem : PyDict_SetItem)(reg(s.a), reg(s.regs[0]), reg(s.regs[1])));
        return;
      case StepOp::DictDelete:
        checked(PyDict_DelItem(reg(s.a), reg(s.b)));
        return;
      case StepOp::DictClear:
        PyDict_Clear(reg(s.a));
        return;
      case StepOp::SetAdd:
        checked(PySet_Add(reg(s.a), reg(s.b)));
        return;
      case StepOp::SetDiscard:
        checked(PySet_Discard(reg(s.a), reg(s.b)));
        return;
      case StepOp::SetClear:
        checked(PySet_Clear(reg(s.a)));
        return;
      case StepOp::AttrSet:
        checked(PyObject_GenericSetAttr(reg(s.a), s.object.get(), reg(s.b)));
        return;
      case StepOp::AttrDelete:
        checked(PyObject_GenericSetAttr(reg(s.a), s.object.get(), nullptr));
        return;
      case StepOp::CellSet:
        checked(PyCell_Set(reg(s.a), s.b < 0 ? nullptr : reg(s.b)));
        return;
      case StepOp::GlobalSet:
        checked(PyDict_SetItem(args.globals, s.object.get(), reg(s.b)));
        return;
      case StepOp::SetGradEnabled:
        set_grad_enabled(s.index != 0);
        return;
      default:
        throw InternalError("not an effect");
    }
  }

  void run_steps(const std::vector<PlanStep>& steps) {
    for (const PlanStep& s : steps) {
      if (s.out >= 0)
        regs[static_cast<std::size_t>(s.out)] = build(s);
      else
        effect(s);
    }
  }

  // What they call is part of them.
  void run_calls() {
    if (plan.calls.empty()) return;
    if (!plan.symbols.empty()) symbol_values();  // as they are before the calls
    Disarmed plain;
    run_steps(plan.calls);
  }

  // An input that comes back (x.float() of a float32 tensor) is the object that went in, and a tensor that two nodes
  // give is one object.
  PyRef output(std::size_t k) {
    for (std::size_t i = plan.size_inputs.size(); i < inputs.size(); ++i)
      if (inputs[i] == outputs[k].get()) return PyRef::borrow(objects[i]);
    if (outputs[k]->use_count() == 1) return wrap_tensor(outputs[k]);
    PyRef& made = wrapped[outputs[k].get()];
    if (!made) made = wrap_tensor(outputs[k]);
    return made;
  }

  std::unordered_map<const TensorImpl*, PyRef> wrapped;  // of those that several hold
  SmallVector<TensorImpl*, 8> inputs;
  SmallVector<PyObject*, 8> objects;
  std::vector<PyRef> held;  // objects the frame does not hold

  void run_kernel(PlanRun& out) {
    outputs.resize(plan.outputs);
    for (const SizePlace& p : plan.size_inputs) {
      carriers.push_back(size_carrier(number_at(p)));
      inputs.push_back(carriers.back().get());
      objects.push_back(nullptr);
    }
    for (std::size_t k = 0; k < plan.inputs.size(); ++k) {
      PyObject* o = plan.input_slots[k] >= 0 ? args.localsplus[plan.input_slots[k]] : nullptr;
      if (!o) {
        held.push_back(load(plan.inputs[k], args));
        o = held.back().get();
      }
      if (!o || !is_tensor(o)) throw InternalError("a graph input vanished after its guard passed");
      inputs.push_back(tensor_impl(o));
      objects.push_back(o);
    }
    std::optional<Recording> recording;
    if (plan.calls_out) recording.emplace(out.calls);
    md::run_kernel(*plan.kernel, std::span(inputs.data(), inputs.size()), outputs, out.committed);
    recording.reset();
    out.calls.clear();
    if (!plan.late_symbols.empty()) symbol_values();
    for (const EntryPlan::LateSymbol& late : plan.late_symbols)
      symbols[static_cast<std::size_t>(late.symbol)] =
          outputs[static_cast<std::size_t>(late.output)]->sizes[static_cast<std::size_t>(late.dim)];
    for (std::size_t k = 0; k < plan.output_grads.size(); ++k)
      if (std::find(inputs.begin(), inputs.end(), outputs[k].get()) == inputs.end())
        outputs[k]->requires_grad = plan.output_grads[k];
  }
};

}  // namespace

// The commonest plan: every input a parameter, one output, returned as it is.
static PyRef run_direct(const EntryPlan& plan, const FrameArgs& args, bool& committed) {
  constexpr std::size_t kFew = 8;
  TensorImpl* inputs[kFew];
  const std::size_t n = plan.input_slots.size();
  for (std::size_t k = 0; k < n; ++k) inputs[k] = tensor_impl(args.localsplus[plan.input_slots[k]]);
  TensorRef out;
  run_kernel(*plan.kernel, std::span(inputs, n), std::span(&out, 1), committed);
  for (std::size_t k = 0; k < n; ++k)
    if (inputs[k] == out.get()) return PyRef::borrow(args.localsplus[plan.input_slots[k]]);
  return wrap_tensor(std::move(out));
}

void run_plan(const EntryPlan& plan, const FrameArgs& args, PlanRun& out) {
  if (plan.single_output) {
    out.in_kernel = true;
    out.returned = run_direct(plan, args, out.committed);
    out.in_kernel = false;
    return;
  }
  Runner r{plan, args, std::vector<PyRef>(static_cast<std::size_t>(plan.registers)), {}, {}, {}};
  r.run_steps(plan.loads);
  out.in_kernel = true;
  if (plan.kernel)
    r.run_kernel(out);
  else
    r.run_calls();
  out.in_kernel = false;
  out.committed = true;
  if (plan.kernel) r.run_calls();
  r.run_steps(plan.steps);
  r.run_steps(plan.effects);
  if (plan.broken) {
    for (Reg a : plan.broken->held) out.held.push_back(r.regs[static_cast<std::size_t>(a)]);
  } else {
    out.returned = r.regs[static_cast<std::size_t>(plan.result)];
  }
}

}  // namespace md
