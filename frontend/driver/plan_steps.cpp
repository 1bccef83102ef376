// What each step does: objects are made by CPython's own constructors, effects by the operations they stand for.
#include "frontend/driver/plan_steps.h"

#include "frontend/cpython/internals.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/guards/guard.h"
#include "frontend/plan/hidden_entries.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

std::span<const std::int64_t> StepRunner::symbol_values() {
  if (symbols.empty()) {
    symbols.resize(plan_.shapes->symbols().size());
    for (auto& [index, place] : plan_.symbols) symbols[static_cast<std::size_t>(index)] = number_at(place, args_);
  }
  return symbols;
}

PyRef StepRunner::tuple(const std::vector<Reg>& list) const {
  PyRef t = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (std::size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), Py_NewRef(reg(list[i])));
  return t;
}

PyRef StepRunner::make_function(const PlanStep& s) const {
  PyObject* parts = s.object.get();
  PyObject* globals = PyTuple_GET_ITEM(parts, 1) == Py_None ? args_.globals : PyTuple_GET_ITEM(parts, 1);
  PyRef f = checked(PyFunction_NewWithQualName(PyTuple_GET_ITEM(parts, 0), globals, PyTuple_GET_ITEM(parts, 3)));
  if (s.regs[0] >= 0) checked(PyFunction_SetDefaults(f.get(), reg(s.regs[0])));
  if (s.regs[1] >= 0) checked(PyFunction_SetKwDefaults(f.get(), reg(s.regs[1])));
  if (s.regs[2] >= 0) checked(PyFunction_SetClosure(f.get(), reg(s.regs[2])));
  if (s.regs[3] >= 0) checked(PyFunction_SetAnnotations(f.get(), reg(s.regs[3])));
  return f;
}

PyRef StepRunner::new_dict(const PlanStep& s) const {
  if (s.object.get() == reinterpret_cast<PyObject*>(&PyDict_Type)) return checked(PyDict_New());
  return checked(PyObject_CallFunctionObjArgs(s.object.get(), s.regs.empty() ? nullptr : reg(s.regs[0]), nullptr));
}

static PyRef instance_dict(PyObject* o) { return checked(PyObject_GenericGetDict(o, nullptr)); }

static void advance(PyObject* iterator, std::int64_t draws) {
  for (std::int64_t k = 0; k < draws; ++k) {
    PyRef skipped = PyRef::steal(PyIter_Next(iterator));
    if (!skipped && PyErr_Occurred()) throw PythonError{};
  }
}

PyRef StepRunner::iterate(const PlanStep& s) const {
  PyObject* of = reg(s.a);
  const auto* base = reinterpret_cast<PyTypeObject*>(s.object.get());
  PyRef it = checked(base ? base->tp_iter(of) : PyObject_GetIter(of));
  advance(it.get(), s.index);
  return it;
}

PyRef StepRunner::call(const PlanStep& s) const {
  std::vector<PyObject*> arguments;
  for (Reg r : s.regs) arguments.push_back(reg(r));
  const Py_ssize_t named = s.object ? PyTuple_GET_SIZE(s.object.get()) : 0;
  return checked(PyObject_Vectorcall(reg(s.a), arguments.data(), arguments.size() - static_cast<std::size_t>(named),
                                     s.object.get()));
}

PyRef StepRunner::new_set(const PlanStep& s) const {
  PyRef t = tuple(s.regs);
  return checked(s.op == StepOp::NewSet ? PySet_New(t.get()) : PyFrozenSet_New(t.get()));
}

PyRef StepRunner::build(const PlanStep& s) {
  switch (s.op) {
    case StepOp::LoadLocal:
      return PyRef::borrow(args_.localsplus[s.index]);
    case StepOp::LoadSource: {
      if (found_) return PyRef::borrow(found_[s.index]);
      PyRef v = load(s.source, args_);
      if (!v) throw InternalError("an input vanished after its guard passed: " + s.source->name);
      return v;
    }
    case StepOp::LoadConst:
      if (s.index == 0) return s.object;
      if (PyRef v = referent(s.object.get())) return v;
      throw InternalError("a class or key that guards saw has died");
    case StepOp::EvaluateSize:
      return checked(PyLong_FromLongLong(plan_.shapes->evaluate(s.size, symbol_values())));
    case StepOp::LoadOutput:
      return kernel_.output(static_cast<std::size_t>(s.index));
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

Py_ssize_t StepRunner::end_of(const PlanStep& s) const {
  return s.count < 0 ? PyList_GET_SIZE(reg(s.a)) : s.index + s.count;
}

void StepRunner::assign_list(const PlanStep& s) {
  PyObject* const list = reg(s.a);
  if (s.count == 1 && s.regs.size() == 1) {  // takes over the reference, also where it fails
    checked(PyList_SetItem(list, s.index, Py_NewRef(reg(s.regs[0]))));
    return;
  }
  checked(PyList_SetSlice(list, s.index, end_of(s), s.regs.empty() ? nullptr : tuple(s.regs).get()));
}

void StepRunner::effect(const PlanStep& s) {
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
      checked((PyODict_Check(reg(s.a)) ? PyODict_DelItem : PyDict_DelItem)(reg(s.a), reg(s.b)));
      return;
    case StepOp::DictClear:
      if (PyODict_Check(reg(s.a)))  // it keeps the order beside the entries
        checked(PyObject_CallMethod(reg(s.a), "clear", nullptr));
      else
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
      if (s.index == kPastDescriptors)
        checked(PyDict_SetItem(instance_dict(reg(s.a)).get(), s.object.get(), reg(s.b)));
      else
        checked(PyObject_GenericSetAttr(reg(s.a), s.object.get(), reg(s.b)));
      return;
    case StepOp::AttrDelete:
      if (s.index == kPastDescriptors)
        checked(PyDict_DelItem(instance_dict(reg(s.a)).get(), s.object.get()));
      else
        checked(PyObject_GenericSetAttr(reg(s.a), s.object.get(), nullptr));
      return;
    case StepOp::CellSet:
      checked(PyCell_Set(reg(s.a), s.b < 0 ? nullptr : reg(s.b)));
      return;
    case StepOp::GlobalSet:
      checked(PyDict_SetItem(args_.globals, s.object.get(), reg(s.b)));
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

void StepRunner::keep_of_deque(const PlanStep& s) {
  const std::string method = text_of(s.object.get());
  if (method == "clear") held.push_back(checked(PySequence_List(reg(s.a))));
  if (method == "__setitem__" || method == "__delitem__")
    held.push_back(checked(PyObject_GetItem(reg(s.a), reg(s.regs[0]))));
}

// What an effect takes from its place lives until all are done: code that runs at its end changes nothing that a
// later one still writes over.
void StepRunner::keep_replaced(const PlanStep& s) {
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
      old = PyDict_GetItemWithError(args_.globals, s.object.get());
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

void StepRunner::run_effects() { run(plan_.effects, plan_.effects.size() > 1); }

void StepRunner::run(const std::vector<PlanStep>& steps, bool keeps_replaced) {
  for (const PlanStep& s : steps) {
    if (keeps_replaced) keep_replaced(s);
    if (s.out >= 0)
      regs[static_cast<std::size_t>(s.out)] = build(s);
    else
      effect(s);
  }
}

}  // namespace md
