#include "frontend/values/iterators.h"

#include "frontend/breaks.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan.h"
#include "frontend/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

std::string SequenceIterator::print() const {
  std::size_t n = items.size();
  if (auto* l = as<ListValue>(base)) n = l->items.size();
  if (auto* r = as<RangeValue>(base)) n = static_cast<std::size_t>(PyObject_Length(r->real.get()));
  return "ListIteratorVariable(length=" + std::to_string(n) + ", index=" + std::to_string(index) + ")";
}

static PyTypeObject* iterator_type(const ValueRef& base) {
  switch (base->kind) {
    case ValueKind::DictView:
      switch (static_cast<DictViewValue*>(base.get())->which) {
        case ViewKind::Keys:
          return &PyDictIterKey_Type;
        case ViewKind::Values:
          return &PyDictIterValue_Type;
        default:
          return &PyDictIterItem_Type;
      }
    case ValueKind::Constant:  // str, bytes, frozenset
      return Py_TYPE(checked(PyObject_GetIter(base->real.get())).get());
    case ValueKind::Tuple:
      return &PyTupleIter_Type;
    case ValueKind::Range:
      return &PyRangeIter_Type;
    case ValueKind::Set:
      return &PySetIter_Type;
    case ValueKind::Dict:
      return &PyDictIterKey_Type;
    default:
      return &PyListIter_Type;
  }
}

PyTypeObject* SequenceIterator::python_type() const { return iterator_type(base); }

// Python notices a dict or set that has changed its size; other changes of its keys lead where nobody should go.
void SequenceIterator::check_unchanged(Tracer& t) {
  auto* view = as<DictViewValue>(base);
  auto* dict = view ? view->dict.get() : nullptr;
  auto* set = as<SetValue>(base);
  if (!dict && !set) return;
  const std::int64_t now = dict ? PyDict_GET_SIZE(dict->index.get()) : PySet_GET_SIZE(set->members.get());
  if (now == size && (dict ? dict->shape : set->shape) == shape) return;
  if (now == size) unmodelled(print(), "iteration over keys that have changed");
  size = -2;  // once is for ever
  t.raise(PyExc_RuntimeError, std::string(dict ? "dictionary" : "Set") + " changed size during iteration");
}

ValueRef SequenceIterator::next(Tracer& t) {
  if (exhausted) return {};
  if (size != -1) check_unchanged(t);
  if (auto* l = as<ListValue>(base)) {
    if (index < l->items.size()) return l->items[index++];
  } else if (auto* r = as<RangeValue>(base)) {
    const Py_ssize_t n = PyObject_Length(r->real.get());
    if (n < 0) t.raise_current();
    if (static_cast<Py_ssize_t>(index) < n)
      return t.constant(checked(PySequence_GetItem(r->real.get(), static_cast<Py_ssize_t>(index++))));
  } else if (auto* view = as<DictViewValue>(base)) {
    if (index < items.size()) return view->item(t, items[index++]);
  } else if (index < items.size()) {
    return items[index++];
  }
  exhausted = true;
  return {};
}

Reg SequenceIterator::rebuild(PlanBuilder& b) {
  PlanStep s{StepOp::Iterate};
  s.a = b.rebuild(base);
  s.index = static_cast<std::int64_t>(index);
  s.out = b.plan.registers++;
  b.remember(this, s.out);
  b.fill(s);  // after the iterable has been filled
  return s.out;
}

// Its type called on what is left of its inner iterators, unless `remake` knows better.
Reg StepIterator::rebuild(PlanBuilder& b) {
  const bool known = type == &PyEnum_Type || type == &PyZip_Type || type == &PyMap_Type || type == &PyFilter_Type;
  CallArgs args;
  std::int64_t draws = 0;
  if (remake ? !remake(b.tracer, *this, args, draws) : !known) graph_break<GB0092>(print());
  if (!remake) {
    if (function) args.positional.push_back(function);
    args.positional.insert(args.positional.end(), inner.begin(), inner.end());
    if (type == &PyEnum_Type) args.positional.push_back(b.tracer.integer(count));
    if (strict) args.keywords.emplace_back(checked(PyUnicode_InternFromString("strict")), b.tracer.boolean(true));
  }
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(PyRef::borrow(reinterpret_cast<PyObject*>(type)));
  for (auto& x : args.positional) s.regs.push_back(b.rebuild(x));
  PyRef names = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  for (std::size_t k = 0; k < args.keywords.size(); ++k) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), PyRef(args.keywords[k].first).release());
    s.regs.push_back(b.rebuild(args.keywords[k].second));
  }
  if (!args.keywords.empty()) s.object = names;
  s.out = b.plan.registers++;
  b.fill(s);
  if (draws > 0) {
    PlanStep advance{StepOp::Iterate};
    advance.a = s.out, advance.index = draws;
    advance.out = s.out = b.plan.registers++;
    b.fill(std::move(advance));
  }
  b.remember(this, s.out);
  return s.out;
}

std::vector<ValueRef> collect(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (auto* l = as<ListValue>(v)) return l->items;
  if (auto* tup = as<TupleValue>(v)) return tup->items;
  ValueRef it = v->iter(t);
  std::vector<ValueRef> out;
  while (ValueRef x = it->next(t)) out.push_back(std::move(x));
  return out;
}

// --- generators
// --------------------------------------------------------------------------------------------------------

GeneratorValue::GeneratorValue(std::unique_ptr<SymbolicFrame> f, std::string name)
    : Value(kKind), frame(std::move(f)), name(std::move(name)) {}
GeneratorValue::~GeneratorValue() = default;

ValueRef GeneratorValue::next(Tracer& t) {
  ValueRef returned;
  return step(t, t.none(), returned);
}

ValueRef GeneratorValue::step(Tracer& t, ValueRef sent, ValueRef& returned) {
  if (running) t.raise(PyExc_ValueError, "generator already executing");
  if (!frame) {
    returned = t.none();
    return {};
  }
  running = true;
  try {
    ValueRef v = t.resume_generator(frame, std::move(sent), returned);
    running = false;
    if (v && has_cleanup()) t.expect_cleanup(ValueRef(this));
    return v;
  } catch (...) {
    running = false;
    frame.reset();
    throw;
  }
}

bool GeneratorValue::has_cleanup() const {
  if (!frame || frame->pc == 0) return false;
  const auto& code = frame->body->instructions;
  int label = frame->instruction().handler.label;
  while (label >= 0) {
    const Instruction& h = code[static_cast<std::size_t>(label)];
    // `yield from` passes exceptions on; a whole body turns StopIteration into RuntimeError.
    if (h.op != Opcode::CLEANUP_THROW) return h.op != Opcode::INTRINSIC_1;
    label = h.handler.label;
  }
  return false;
}

bool GeneratorValue::delegates() const {
  const int at = frame ? frame->current : 0;
  return at > 0 && frame->body->instructions[static_cast<std::size_t>(at)].op == Opcode::YIELD_VALUE &&
         frame->body->instructions[static_cast<std::size_t>(at) - 1].op == Opcode::SEND;
}

ValueRef GeneratorValue::get_attr(Tracer& t, PyObject* attr) {
  PyObject* found = type_find(&PyGen_Type, attr);
  if (!found) t.raise(PyExc_AttributeError, "'generator' object has no attribute '" + text_of(attr) + "'");
  if (!is_method(found)) unmodelled(print() + "." + text_of(attr), "attribute of a generator");
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(attr));
}

ValueRef GeneratorValue::call_method(Tracer& t, PyObject* method, CallArgs args) {
  const std::string n = text_of(method);
  const bool is_next = n == "__next__" && args.size() == 0;
  if (is_next || (n == "send" && args.size() == 1)) {
    ValueRef returned;
    if (ValueRef v = step(t, is_next ? t.none() : args[0], returned)) return v;
    std::vector<ValueRef> values;
    if (!is_true_constant(returned, Py_None)) values.push_back(returned);
    throw TracedRaise{
        make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), std::move(values))};
  }
  if (n == "__iter__") return ValueRef(this);
  if (n == "close" && args.size() == 0 && !running && !has_cleanup() && !delegates()) {
    frame.reset();
    return t.none();
  }
  const ValueRef thrown = n == "throw" && args.positional.size() == 1 ? t.realize(args[0]) : ValueRef();
  auto* cls = as<ClassValue>(thrown);
  PyTypeObject* type = cls ? cls->type() : thrown ? thrown->python_type() : nullptr;
  if (type && delegates() && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
    graph_break<GB0024>();
  unmodelled_method(*this, n, args);
}

Reg GeneratorValue::rebuild(PlanBuilder&) { graph_break<GB0092>(print()); }

}  // namespace md
