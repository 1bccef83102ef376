// What a call does once its entry is found: load, run the kernel, build what the frame returns, replay effects.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/internals.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/driver/graph_module.h"
#include "frontend/entries/code_cache.h"
#include "frontend/guards/guard.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "ir/run/long_work.h"
#include "ir/tensor/generator.h"

namespace md {

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

// Of an input that is no parameter.
PyRef input_elsewhere(const EntryPlan& plan, std::size_t k, const FrameArgs& args, PyObject* const* found) {
  return found && plan.input_places[k] >= 0 ? PyRef::borrow(found[plan.input_places[k]]) : load(plan.inputs[k], args);
}

struct Runner {
  const EntryPlan& plan;
  const FrameArgs& args;
  PyObject* const* found;  // by the guards; or null
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

  static void advance(PyObject* iterator, std::int64_t draws) {
    for (std::int64_t k = 0; k < draws; ++k) {
      PyRef skipped = PyRef::steal(PyIter_Next(iterator));
      if (!skipped && PyErr_Occurred()) throw PythonError{};
    }
  }

  PyRef iterate(const PlanStep& s) const {
    PyObject* of = reg(s.a);
    const auto* base = reinterpret_cast<PyTypeObject*>(s.object.get());
    PyRef it = checked(base ? base->tp_iter(of) : PyObject_GetIter(of));
    advance(it.get(), s.index);
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
        if (found) return PyRef::borrow(found[s.index]);
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
        return new_exception(reinterpret_cast<PyTypeObject*>(reg(s.a)), tuple(s.regs));
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

  Py_ssize_t end_of(const PlanStep& s) { return s.count < 0 ? PyList_GET_SIZE(reg(s.a)) : s.index + s.count; }

  void assign_list(const PlanStep& s) {
    PyObject* const list = reg(s.a);
    if (s.count == 1 && s.regs.size() == 1) {  // takes over the reference, also where it fails
      checked(PyList_SetItem(list, s.index, Py_NewRef(reg(s.regs[0]))));
      return;
    }
    checked(PyList_SetSlice(list, s.index, end_of(s), s.regs.empty() ? nullptr : tuple(s.regs).get()));
  }

  void effect(const PlanStep& s) {
    switch (s.op) {
      case StepOp::ListAppend:
        checked(PyList_Append(reg(s.a), reg(s.b)));
        return;
      case StepOp::ListAssign:
        return assign_list(s);
      case StepOp::DequeExtend:
        checked(PyObject_CallMethod(reg(s.a), "extend", "(O)", tuple(s.regs).get()));
        return;
      case StepOp::DequeCall: {
        const PyRef method = checked(PyObject_GetAttr(reg(s.a), s.object.get()));
        held.push_back(checked(PyObject_CallObject(method.get(), tuple(s.regs).get())));  // what it took out
        return;
      }
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
      case StepOp::Advance:
        advance(reg(s.a), s.index);
        return;
      case StepOp::SetGradEnabled:
        set_grad_enabled(s.index != 0);
        return;
      default:
        throw InternalError("not an effect");
    }
  }

  void keep_of_deque(const PlanStep& s) {
    const std::string method = text_of(s.object.get());
    if (method == "clear") held.push_back(checked(PySequence_List(reg(s.a))));
    if (method == "__setitem__" || method == "__delitem__")
      held.push_back(checked(PyObject_GetItem(reg(s.a), reg(s.regs[0]))));
  }

  // What an effect takes from its place lives until all are done: code that runs at its end changes nothing that a
  // later one still writes over.
  void keep_replaced(const PlanStep& s) {
    PyObject* old = nullptr;
    switch (s.op) {
      case StepOp::AttrSet:
      case StepOp::AttrDelete:
        md_instance_find(reg(s.a), s.object.get(), &old);
        break;
      case StepOp::CellSet:
        old = PyCell_GET(reg(s.a));
        break;
      case StepOp::GlobalSet:
        old = PyDict_GetItemWithError(args.globals, s.object.get());
        break;
      case StepOp::DictSet:
      case StepOp::DictDelete:
        old = PyDict_GetItemWithError(reg(s.a), reg(s.op == StepOp::DictSet ? s.regs[0] : s.b));
        break;
      case StepOp::DictClear:
        held.push_back(checked(PyDict_Copy(reg(s.a))));
        return;
      case StepOp::ListAssign:
        held.push_back(checked(PyList_GetSlice(reg(s.a), s.index, end_of(s))));
        return;
      case StepOp::DequeCall:
        return keep_of_deque(s);
      case StepOp::SetClear:
        held.push_back(checked(PySequence_List(reg(s.a))));
        return;
      default:
        return;
    }
    if (old)
      held.push_back(PyRef::borrow(old));
    else
      PyErr_Clear();
  }

  void run_effects() {
    const bool several = plan.effects.size() > 1;
    for (const PlanStep& s : plan.effects) {
      if (several) keep_replaced(s);
      if (s.out >= 0)
        regs[static_cast<std::size_t>(s.out)] = build(s);
      else
        effect(s);
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
    if (PyObject* const input = input_object(outputs[k].get())) return PyRef::borrow(input);
    if (outputs[k]->use_count() == 1) return wrap_tensor(outputs[k]);
    const auto made = std::ranges::find(wrapped, outputs[k].get(), &Wrapped::first);
    if (made != wrapped.end()) return made->second;
    return wrapped.emplace_back(outputs[k].get(), wrap_tensor(outputs[k])).second;
  }

  // Null: it is none.
  PyObject* input_object(const TensorImpl* t) {
    constexpr std::size_t kFew = 16;  // looked through one by one
    const std::size_t first = plan.size_inputs.size();
    if (inputs.size() <= first + kFew || outputs.size() <= 4) {
      for (std::size_t i = first; i < inputs.size(); ++i)
        if (inputs[i] == t) return objects[i];
      return nullptr;
    }
    if (object_of.empty())
      for (std::size_t i = first; i < inputs.size(); ++i) object_of.emplace(inputs[i], objects[i]);
    const auto found = object_of.find(t);
    return found == object_of.end() ? nullptr : found->second;
  }

  std::unordered_map<const TensorImpl*, PyObject*> object_of;  // the inputs, where there are many
  using Wrapped = std::pair<const TensorImpl*, PyRef>;
  std::vector<Wrapped> wrapped;  // of those that several hold
  SmallVector<TensorImpl*, 8> inputs;
  SmallVector<PyObject*, 8> objects;
  std::vector<PyRef> held;  // objects the frame does not hold

  // What the guards and loads found, which others may change while the kernel lets them go on.
  struct AsFound final : Premise {
    explicit AsFound(Runner& r) : runner(r) {}
    void confirm() override {
      if (md_lock_changes() != changes) [[unlikely]]
        runner.load_again();
    }
    Runner& runner;
    const unsigned long changes = md_lock_changes();
  };

  // The call takes place now: what is not of the graph is as others have left it.
  [[gnu::cold, gnu::noinline]] void load_again() {
    LoadedValues now;
    now.resize(wanted_count(*plan.guards));
    if (!check_and_load(*plan.guards, args, now.data()) || !same_inputs(now)) throw Overtaken{};
    for (const auto& [index, place] : plan.symbols) {
      if (symbols.empty()) break;
      std::int64_t& known = symbols[static_cast<std::size_t>(index)];
      const std::int64_t value = number_at(place);
      if (place.field != SizePlace::Field::Value && value != known) throw Overtaken{};
      known = value;
    }
    for (const PlanStep& s : plan.loads) {
      if (s.op != StepOp::LoadSource && s.op != StepOp::EvaluateSize) continue;
      PyRef& r = regs[static_cast<std::size_t>(s.out)];
      PyRef again = s.op == StepOp::LoadSource ? PyRef::borrow(now[static_cast<std::size_t>(s.index)]) : build(s);
      // What a call among the loads has made of it is not made again.
      if (s.op == StepOp::LoadSource && !plan.takes_found && r.get() != again.get()) throw Overtaken{};
      held.push_back(std::exchange(r, std::move(again)));  // its end may run code
    }
  }

  bool same_inputs(const LoadedValues& now) const {
    const std::size_t sizes = plan.size_inputs.size();
    for (std::size_t k = 0; k < sizes; ++k)
      if (number_at(plan.size_inputs[k]) != inputs[k]->sizes[0]) return false;
    for (std::size_t k = 0; k < plan.inputs.size(); ++k) {
      if (plan.input_slots[k] >= 0) continue;
      if (plan.input_places[k] >= 0) {
        if (now[static_cast<std::size_t>(plan.input_places[k])] != objects[sizes + k]) return false;
      } else if (PyRef made = load(plan.inputs[k], args);
                 tensor_impl(made.get())->data() != inputs[sizes + k]->data()) {
        return false;
      }
    }
    return true;
  }

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
        held.push_back(input_elsewhere(plan, k, args, found));
        o = held.back().get();
      }
      if (!o || !is_tensor(o)) throw InternalError("a graph input vanished after its guard passed");
      inputs.push_back(tensor_impl(o));
      objects.push_back(o);
    }
    std::optional<Recording> recording;
    if (plan.calls_out) recording.emplace(out.calls);
    {
      const AsFound still{*this};
      md::run_kernel(*plan.kernel, std::span(inputs.data(), inputs.size()), outputs, out.committed);
    }
    recording.reset();
    out.calls.clear();
    if (!plan.late_symbols.empty()) symbol_values();
    for (const EntryPlan::LateSymbol& late : plan.late_symbols)
      symbols[static_cast<std::size_t>(late.symbol)] =
          outputs[static_cast<std::size_t>(late.output)]->sizes[static_cast<std::size_t>(late.dim)];
    for (std::size_t k = 0; k < plan.output_grads.size(); ++k)
      if (!input_object(outputs[k].get())) outputs[k]->set_grad_state(plan.output_grads[k]);
  }
};

}  // namespace

// The commonest plan: one output, returned as it is. `inputs_apart`: not all inputs are parameters.
template <bool inputs_apart>
static PyRef run_direct(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, bool& committed) {
  constexpr std::size_t kFew = EntryPlan::kFewInputs;
  TensorImpl* inputs[kFew];
  PyObject* objects[kFew];
  PyRef held[inputs_apart ? kFew : 1];  // another thread may let go of it meanwhile
  const std::size_t n = plan.input_slots.size();
  for (std::size_t k = 0; k < n; ++k) {
    if (!inputs_apart || plan.input_slots[k] >= 0) {
      objects[k] = args.localsplus[plan.input_slots[k]];
    } else {
      held[k] = input_elsewhere(plan, k, args, found);
      objects[k] = held[k].get();
      if (!objects[k] || !is_tensor(objects[k])) throw InternalError("a graph input vanished after its guard passed");
    }
    inputs[k] = tensor_impl(objects[k]);
  }
  TensorRef out;
  run_kernel(*plan.kernel, std::span(inputs, n), std::span(&out, 1), committed);
  for (std::size_t k = 0; k < n; ++k)
    if (inputs[k] == out.get()) return PyRef::borrow(objects[k]);
  return wrap_tensor(std::move(out));
}

PyRef run_single_output(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, bool& committed) {
  return (plan.inputs_apart ? run_direct<true> : run_direct<false>)(plan, args, found, committed);
}

namespace {

// The random stream starts anew, unless the run fails before anything was done.
class Seeded {
 public:
  Seeded(const EntryPlan& plan, const PlanRun& run) : run_(run) {
    if (!plan.seed) return;
    before_ = state_of(default_generator());
    set_state(default_generator(), {*plan.seed, 0});
  }
  ~Seeded() {
    if (before_ && !run_.committed) set_state(default_generator(), *before_);
  }
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  const PlanRun& run_;
  std::optional<Generator> before_;
};

}  // namespace

void run_plan(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, PlanRun& out) {
  if (plan.single_output) {
    out.in_kernel = true;
    out.returned = run_single_output(plan, args, found, out.committed);
    out.in_kernel = false;
    return;
  }
  if (!plan.takes_found) found = nullptr;
  Runner r{plan, args, found, std::vector<PyRef>(static_cast<std::size_t>(plan.registers)), {}, {}, {}};
  r.run_steps(plan.loads);
  const Seeded seeded(plan, out);
  out.in_kernel = true;
  if (plan.kernel)
    r.run_kernel(out);
  else
    r.run_calls();
  out.in_kernel = false;
  out.committed = true;
  if (plan.kernel) r.run_calls();
  r.run_steps(plan.steps);
  if (!plan.effects.empty()) r.run_effects();
  if (plan.broken) {
    for (Reg a : plan.broken->held) out.held.push_back(r.regs[static_cast<std::size_t>(a)]);
  } else {
    out.returned = r.regs[static_cast<std::size_t>(plan.result)];
  }
}

}  // namespace md
