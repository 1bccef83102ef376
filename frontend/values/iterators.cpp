// Stepping and rebuilding of iterators, of generators inlined into the trace, and collecting what they give.
#include "frontend/values/iterators.h"

#include <algorithm>
#include <set>
#include <utility>

#include "frontend/bytecode/effects.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/let_go.h"
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
      if (static_cast<DictViewValue*>(base.get())->dict->type == &PyODict_Type) return &PyODictIter_Type;
      switch (static_cast<DictViewValue*>(base.get())->which) {
        case ViewKind::Keys:
        case ViewKind::Proxy:
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

bool SequenceIterator::keys_changed() const {
  auto* view = as<DictViewValue>(base);
  auto* set = as<SetValue>(base);
  return size != -1 && ((view && view->dict->shape != shape) || (set && set->shape != shape));
}

// Python notices a dict or set that has changed its size; other changes of its keys lead where nobody should go.
void SequenceIterator::check_unchanged(Tracer& t) {
  auto* view = as<DictViewValue>(base);
  auto* dict = view ? view->dict.get() : nullptr;
  auto* set = as<SetValue>(base);
  if (!dict && !set) return;
  const std::int64_t now = dict ? PyDict_GET_SIZE(dict->index.get()) : PySet_GET_SIZE(set->members.get());
  if (now == size && !keys_changed()) return;
  if (now == size) unmodelled(print(), "iteration over keys that have changed");
  size = -2;  // once is for ever
  if (dict && dict->type == &PyODict_Type) t.raise(PyExc_RuntimeError, "OrderedDict mutated during iteration");
  t.raise(PyExc_RuntimeError, std::string(dict ? "dictionary" : "Set") + " changed size during iteration");
}

ValueRef SequenceIterator::next(Tracer& t) {
  if (exhausted) return {};
  if (size != -1) check_unchanged(t);
  if (auto* l = as<ListValue>(base)) {
    if (index < l->items.size()) return l->items[index++];
  } else if (auto* r = as<RangeValue>(base)) {
    PyRef v = PyRef::steal(PyObject_GetItem(r->real.get(), checked(PyLong_FromSize_t(index)).get()));
    if (v) {
      ++index;
      return t.constant(v);
    }
    if (!PyErr_ExceptionMatches(PyExc_IndexError)) throw PythonError{};
    clear_answer();
  } else if (auto* view = as<DictViewValue>(base)) {
    if (index < items.size()) return view->item(t, items[index++]);
  } else if (index < items.size()) {
    return items[index++];
  }
  exhausted = true;
  if (owner) let_go(t.frame(), std::exchange(owner, ValueRef()), 0);
  return {};
}

// What an iterator of the same type is over that ends at once; null: the iterable itself will do, which cannot change.
static PyRef empty_container(const ValueRef& base) {
  if (base->kind == ValueKind::List) return checked(PyList_New(0));
  if (base->kind == ValueKind::Set) return checked(PySet_New(nullptr));
  auto* view = as<DictViewValue>(base);
  if (!view) return {};
  static const char* const names[] = {"keys", "values", "items"};
  PyRef dict = checked(view->dict->type == &PyODict_Type ? PyODict_New() : PyDict_New());
  return checked(PyObject_CallMethod(dict.get(), names[static_cast<int>(view->which)], nullptr));
}

bool is_changed(const PlanBuilder& b, const ValueRef& container) {
  auto* view = as<DictViewValue>(container);
  const Value* of = view ? static_cast<const Value*>(view->dict.get()) : container.get();
  return std::ranges::any_of(b.tracer.effects.list(), [&](const SideEffect& e) { return e.target.get() == of; });
}

Reg SequenceIterator::rebuild(PlanBuilder& b) {
  const bool over_dict = base->kind == ValueKind::DictView || base->kind == ValueKind::Dict;
  if (over_dict && !b.tracer.config.trace_more) listed_break<GB0092>(print());
  // One that has ended holds nothing any more.
  const PyRef empty = exhausted ? empty_container(base) : PyRef();
  const bool survives = empty || base->kind == ValueKind::List;  // a position in it does
  if (!survives && (keys_changed() || is_changed(b, base))) graph_break<GB0092>(print());
  auto* list = as<ListValue>(base);
  const bool after_effects = list && !exhausted && list->source && is_changed(b, base);
  if (after_effects && index > list->items.size()) graph_break<GB0092>(print());
  PlanStep s{StepOp::Iterate};
  s.a = empty ? b.load_constant(empty) : b.rebuild(owner ? owner : base);  // the object it holds, not its data
  // Of a subclass: what the base gives, also where the class has an __iter__ of its own.
  if (owner && !empty && base->kind != ValueKind::DictView)
    s.object = PyRef::borrow(reinterpret_cast<PyObject*>(base->python_type()));
  const Reg made = s.out = b.plan.registers++;
  const std::int64_t draws = empty ? 1 : static_cast<std::int64_t>(index) + exhausted;
  if (!after_effects) s.index = draws;
  if (b.has_postponed()) graph_break<GB0092>(print());
  b.remember(this, made);
  b.fill(std::move(s));  // after the iterable has been filled
  return after_effects && draws > 0 ? b.advanced(made, draws, true) : made;
}

// Its type called on what is left of its inner iterators, unless `remake` knows better.
Reg FunctionIterator::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
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
  if (b.has_postponed()) graph_break<GB0092>(print());
  s.out = b.plan.registers++;
  b.fill(s);
  const Reg made = draws > 0 ? b.advanced(s.out, draws) : s.out;
  b.remember(this, made);
  return made;
}

static constexpr std::size_t kMaxItems = 2'000'000;

static std::vector<ValueRef> run_out(Tracer& t, Value& it, const ValueRef& of) {
  std::vector<ValueRef> out;
  while (ValueRef x = it.next(t)) {
    if (out.size() >= kMaxItems) unmodelled(of->print(), "more than " + std::to_string(kMaxItems) + " items");
    out.push_back(std::move(x));
  }
  return out;
}

std::vector<ValueRef> collect(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (auto* l = as<ListValue>(v)) return l->items;
  if (auto* tup = as<TupleValue>(v)) return tup->items;
  return run_out(t, *v->iter(t), v);
}

// Whether the object answered.
static bool asked_for_length(Tracer& t, ObjectValue& o, const char* name) {
  ValueRef m = o.special(t, name);
  if (!m) return false;
  try {
    if (name == std::string_view("__len__")) return o.length(t).has_value();
    ValueRef given = data_of(t.realize(t.call(m, {})));
    std::int64_t n;
    if (is_true_constant(given, Py_NotImplemented)) return true;
    if (!constant_int(given, n) || n < 0) unmodelled(o.print(), "__length_hint__ that gives no length");
    return true;
  } catch (const TracedRaise& e) {
    auto* x = as<ExceptionValue>(e.exception);
    if (!x || !x->type || !PyType_IsSubtype(x->type, reinterpret_cast<PyTypeObject*>(PyExc_TypeError))) throw;
    return false;
  }
}

void ask_for_length(Tracer& t, const ValueRef& v) {
  auto* o = as<ObjectValue>(v);
  if (o && !asked_for_length(t, *o, "__len__")) asked_for_length(t, *o, "__length_hint__");
}

std::vector<ValueRef> collect_sized(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (v->kind != ValueKind::Object) return collect(t, v);
  ValueRef it = v->iter(t);
  ask_for_length(t, v);
  return run_out(t, *it, v);
}

// --- generators
// --------------------------------------------------------------------------------------------------------

GeneratorValue::GeneratorValue(std::unique_ptr<SymbolicFrame> f, std::string name)
    : Value(kKind), frame(std::move(f)), name(std::move(name)), code(frame->code) {}
GeneratorValue::~GeneratorValue() = default;

ValueRef GeneratorValue::next(Tracer& t) {
  ValueRef returned;
  return send(t, t.none(), returned);
}

// A StopIteration that leaves a body is a RuntimeError (PEP 479).
[[noreturn]] static void raise_stopped(Tracer& t, const ValueRef& stop) {
  auto e = make_ref<ExceptionValue>(
      reinterpret_cast<PyTypeObject*>(PyExc_RuntimeError),
      std::vector<ValueRef>{t.constant(checked(PyUnicode_FromString("generator raised StopIteration")))});
  e->cause = e->context = stop;
  e->suppress_context = true;
  throw TracedRaise{e};
}

static bool is_a(const ValueRef& exception, PyObject* type) {
  PyTypeObject* of = exception->python_type();
  return of && PyType_IsSubtype(of, reinterpret_cast<PyTypeObject*>(type));
}

template <class Run>
ValueRef GeneratorValue::guarded(Tracer& t, Run run) {
  running = started = true;
  try {
    ValueRef v = run();
    running = false;
    const auto& known = t.stack.cleanups;
    if (v && has_cleanup() && std::ranges::find(known, this, &ValueRef::get) == known.end())
      t.expect_cleanup(ValueRef(this));
    return v;
  } catch (const TracedRaise& e) {
    running = false;
    frame.reset();
    if (is_a(e.exception, PyExc_StopIteration)) raise_stopped(t, e.exception);
    throw;
  } catch (...) {
    running = false;
    frame.reset();
    throw;
  }
}

ValueRef GeneratorValue::send(Tracer& t, ValueRef sent, ValueRef& returned) {
  if (running) t.raise(PyExc_ValueError, "generator already executing");
  if (!frame) {
    returned = t.none();
    return {};
  }
  if (!started && !is_true_constant(t.realize(sent), Py_None))
    t.raise(PyExc_TypeError, "can't send non-None value to a just-started generator");
  return guarded(t, [&] { return t.resume_generator(frame, std::move(sent), returned); });
}

// Closing what `yield from` waits for: a generator, or whatever has a close().
static void close_delegate(Tracer& t, const ValueRef& receiver) {
  if (auto* g = as<GeneratorValue>(receiver)) {
    g->close(t);
    return;
  }
  PyRef name = checked(PyUnicode_InternFromString("close"));
  if (receiver->kind == ValueKind::Object && type_find(receiver->python_type(), name.get()))
    receiver->call_method(t, name.get(), {});
}

bool GeneratorValue::throw_into_delegate(Tracer& t, ValueRef& exception, ValueRef& yielded, ValueRef& finished) {
  ValueRef receiver = t.realize(frame->stack.back());
  PyRef name = checked(PyUnicode_InternFromString("throw"));
  auto* inner = as<GeneratorValue>(receiver);
  running = true;
  try {
    if (is_a(exception, PyExc_GeneratorExit)) {
      close_delegate(t, receiver);
    } else if (inner) {
      yielded = inner->throw_in(t, exception, finished);
    } else if (receiver->kind == ValueKind::Object && type_find(receiver->python_type(), name.get())) {
      yielded = receiver->call_method(t, name.get(), CallArgs{{exception}, {}});
    }
  } catch (const TracedRaise& e) {
    exception = e.exception;
    auto* stop = as<ExceptionValue>(exception);
    if (stop && !inner && is_a(exception, PyExc_StopIteration))
      finished = stop->args.empty() ? t.none() : stop->args[0];
  }
  running = false;
  return bool(yielded);
}

ValueRef GeneratorValue::throw_in(Tracer& t, ValueRef exception, ValueRef& returned) {
  if (running) t.raise(PyExc_ValueError, "generator already executing");
  if (!started) frame.reset();
  if (!frame) throw TracedRaise{exception};
  if (delegates()) {
    if (is_a(exception, PyExc_StopIteration)) graph_break<GB0024>();
    ValueRef yielded, finished;
    if (throw_into_delegate(t, exception, yielded, finished)) return yielded;
    if (finished) {  // as SEND does at the end of the delegate
      frame->push(finished);
      frame->pc = frame->body->instructions[static_cast<std::size_t>(frame->current) - 1].target;
      return guarded(t, [&] { return t.resume_generator(frame, {}, returned); });
    }
  }
  return guarded(t, [&] { return t.raise_in_generator(frame, exception, returned); });
}

ValueRef GeneratorValue::close(Tracer& t) {
  if (running) t.raise(PyExc_ValueError, "generator already executing");
  if (!started) frame.reset();
  if (!frame) return t.none();
  ValueRef returned;
  try {
    ValueRef exit =
        make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), std::vector<ValueRef>{});
    if (throw_in(t, exit, returned)) t.raise(PyExc_RuntimeError, "generator ignored GeneratorExit");
  } catch (const TracedRaise& e) {
    if (!is_a(e.exception, PyExc_GeneratorExit)) throw;
    return t.none();
  }
  return kCloseReturnsValue ? returned : t.none();
}

bool GeneratorValue::has_cleanup() const {
  if (!frame || !started) return false;
  const auto& code = frame->body->instructions;
  std::vector<int> open{frame->instruction().handler.label};
  std::set<int> seen;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at < 0 || !seen.insert(at).second) continue;
    const Instruction& i = code[static_cast<std::size_t>(at)];
    open.push_back(i.handler.label);
    if (i.op == Opcode::CLEANUP_THROW) continue;  // of `yield from`: what is thrown at a close goes on from here
    if (!is_quiet(i.op)) return true;             // more than looking at the exception and passing it on
    if (i.target >= 0) open.push_back(i.target);
    if (!ends_block(i.op)) open.push_back(at + 1);
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
  if (is_method(found)) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(attr));
  const std::string n = text_of(attr);
  if (n == "gi_code") return t.from_object(code.get(), nullptr);
  if (n == "gi_running") return t.boolean(running);
  if (n == "gi_suspended") return t.boolean(started && frame && !running);
  if (n == "gi_frame" && !frame && !running) return t.none();
  unmodelled(print() + "." + n, "attribute of a generator");
}

// The exception that throw(type), throw(type, value), throw(value) mean.
static ValueRef thrown_exception(Tracer& t, const GeneratorValue& self, const CallArgs& args) {
  if (!args.keywords.empty() || args.size() == 0 || args.size() > 3) unmodelled_method(self, "throw", args);
  ValueRef first = t.realize(args[0]), value = args.size() > 1 ? t.realize(args[1]) : ValueRef();
  if (value && is_true_constant(value, Py_None)) value = {};
  if (args.size() == 3) {
    ValueRef traceback = t.realize(args[2]);
    auto* own = as<BoundAttrValue>(traceback);  // the exception's own __traceback__
    if (!is_true_constant(traceback, Py_None) && !(own && value && own->self.get() == value.get()))
      unmodelled_method(self, "throw", args);
  }
  if (first->kind == ValueKind::Exception) {
    if (value) t.raise(PyExc_TypeError, "instance exception may not have a separate value");
    return first;
  }
  auto* cls = as<ClassValue>(first);
  if (!cls || !PyType_IsSubtype(cls->type(), reinterpret_cast<PyTypeObject*>(PyExc_BaseException)))
    unmodelled_method(self, "throw", args);
  if (value && value->kind == ValueKind::Exception && PyType_IsSubtype(value->python_type(), cls->type())) return value;
  CallArgs given;
  if (auto* tuple = as<TupleValue>(value))
    given.positional = tuple->items;
  else if (value)
    given.positional.push_back(value);
  return t.call(first, std::move(given));
}

ValueRef GeneratorValue::call_method(Tracer& t, PyObject* method, CallArgs args) {
  const std::string n = text_of(method);
  const bool is_next = n == "__next__" && args.size() == 0;
  if (is_next || n == "throw" || (n == "send" && args.size() == 1)) {
    ValueRef returned, v;
    if (n == "throw")
      v = throw_in(t, thrown_exception(t, *this, args), returned);
    else
      v = send(t, is_next ? t.none() : args[0], returned);
    if (v) return v;
    std::vector<ValueRef> values;
    if (!is_true_constant(returned, Py_None)) values.push_back(returned);
    throw TracedRaise{
        make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(PyExc_StopIteration), std::move(values))};
  }
  if (n == "__iter__") return ValueRef(this);
  if (n == "close" && args.size() == 0) return close(t);
  unmodelled_method(*this, n, args);
}

// One that has not started is its function called anew with the arguments it was called with.
Reg GeneratorValue::rebuild(PlanBuilder& b) {
  if (started || !frame) graph_break<GB0092>(print());
  const CodeBody& body = *frame->body;
  auto* code = reinterpret_cast<PyCodeObject*>(frame->code.get());
  auto fn = make_ref<FunctionValue>();
  fn->code = frame->code, fn->globals = frame->globals, fn->builtins = frame->builtins;
  fn->qualname = PyRef::borrow(code->co_qualname);
  const std::size_t free = static_cast<std::size_t>(PyTuple_GET_SIZE(checked(PyCode_GetFreevars(code)).get()));
  for (std::size_t k = frame->slots.size() - free; k < frame->slots.size(); ++k)
    fn->closure.push_back(Ref<CellValue>(as<CellValue>(b.tracer.realize(frame->slots[k]))));
  const auto argument = [&](int k) {
    ValueRef v = b.tracer.realize(frame->slots[static_cast<std::size_t>(k)]);
    if (auto* cell = as<CellValue>(v)) v = cell->get(b.tracer);
    return b.rebuild(v);
  };
  PlanStep call{StepOp::Call};
  call.a = b.rebuild(fn);
  for (int k = 0; k < body.argcount; ++k) call.regs.push_back(argument(k));
  const auto content = [&](int k) {
    ValueRef v = b.tracer.realize(frame->slots[static_cast<std::size_t>(k)]);
    auto* cell = as<CellValue>(v);
    return cell ? b.tracer.realize(cell->get(b.tracer)) : v;
  };
  int next = body.argcount + body.kwonlyargcount;
  if (code->co_flags & CO_VARARGS)
    for (auto& v : collect(b.tracer, content(next++))) call.regs.push_back(b.rebuild(v));
  std::vector<PyRef> names;
  for (int k = body.argcount; k < body.argcount + body.kwonlyargcount; ++k) {
    names.push_back(body.slot_names[static_cast<std::size_t>(k)]);
    call.regs.push_back(argument(k));
  }
  if (code->co_flags & CO_VARKEYWORDS)
    for (auto& e : static_cast<DictValue&>(*content(next)).live()) {
      names.push_back(e.key->as_constant());
      call.regs.push_back(b.rebuild(e.value));
    }
  if (!names.empty()) call.object = checked(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (std::size_t k = 0; k < names.size(); ++k)
    PyTuple_SET_ITEM(call.object.get(), static_cast<Py_ssize_t>(k), names[k].release());
  const Reg made = call.out = b.plan.registers++;
  b.remember(this, made);
  b.fill(std::move(call));
  return made;
}

}  // namespace md
