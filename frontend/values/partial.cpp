// functools.partial, real or made while tracing.
#include <set>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/object_slots.h"

namespace md {

PyTypeObject* PartialValue::python_type() const { return partial_type(); }

ValueRef PartialValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "func") return function;
  if (n == "args") return make_ref<TupleValue>(args.positional);
  if (n == "keywords") {
    if (!keywords_ && source) {
      keywords_ = t.wrap(partial_field(real.get(), PartialPart::Keywords),
                         t.recorder.sources.child(source, SourceKind::PartialKeywords));
    } else if (!keywords_) {
      auto d = make_ref<DictValue>(&PyDict_Type);
      for (auto& [k, v] : args.keywords) d->put(t, t.constant(k), v);
      keywords_ = d;
    }
    return keywords_;
  }
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(partial_type()), nullptr);
  if (!source && !type_find(partial_type(), name))
    t.raise(PyExc_AttributeError, "'functools.partial' object has no attribute '" + n + "'");
  return Value::get_attr(t, name);
}

ValueRef PartialValue::call(Tracer& t, CallArgs more) { return t.call(function, joined(t, std::move(more))); }

void PartialValue::read_keywords(Tracer& t) {
  auto* dict = as<DictValue>(keywords_);
  if (!dict) return;
  args.keywords.clear();
  dict->observe_keys(t);
  for (auto& e : dict->live()) {
    PyRef name = e.key->as_constant();
    if (!name || !PyUnicode_CheckExact(name.get())) unmodelled(print(), "a keyword that is no str");
    args.keywords.emplace_back(name, e.value);
  }
}

CallArgs PartialValue::joined(Tracer& t, CallArgs more) {
  read_keywords(t);
  CallArgs all = args;
  all.positional.insert(all.positional.end(), more.positional.begin(), more.positional.end());
  for (auto& [name, v] : more.keywords) {
    bool replaced = false;
    for (auto& [k, old] : all.keywords)
      if (PyUnicode_Compare(k.get(), name.get()) == 0) old = v, replaced = true;
    if (!replaced) all.keywords.emplace_back(name, v);
  }
  return all;
}

void PartialValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  refuse_store(t, *this, name,
               v ? "attribute assignment on a functools.partial" : "attribute deletion on a functools.partial");
}

Reg PartialValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  if (keywords_ && b.has(keywords_)) graph_break<GB0092>(print());  // the dict is there, and not the partial's own
  read_keywords(b.tracer);
  PyRef functools = checked(import_module("functools"));
  PlanStep s{StepOp::Call};
  s.a = b.load_constant(checked(PyObject_GetAttrString(functools.get(), "partial")));
  s.regs.push_back(b.rebuild(function));
  for (auto& v : args.positional) s.regs.push_back(b.rebuild(v));
  if (!args.keywords.empty()) s.object = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  Py_ssize_t k = 0;
  for (auto& [name, v] : args.keywords) {
    PyTuple_SET_ITEM(s.object.get(), k++, Py_NewRef(name.get()));
    s.regs.push_back(b.rebuild(v));
  }
  const Reg r = b.step(std::move(s));
  if (!keywords_) return r;
  PlanStep get{StepOp::GetAttr};
  get.a = r, get.object = checked(PyUnicode_InternFromString("keywords"));
  b.remember(keywords_.get(), b.step(std::move(get)));
  return r;
}

// __setstate__ can put a partial into itself, as what it calls or among its arguments.
static bool holds_itself(PyObject* partial) {
  std::set<PyObject*> seen;
  std::vector<PyObject*> open{partial};
  while (!open.empty()) {
    PyObject* const o = open.back();
    open.pop_back();
    if (!PyObject_TypeCheck(o, partial_type())) continue;
    if (!seen.insert(o).second) {
      if (o == partial) return true;
      continue;
    }
    open.push_back(partial_field(o, PartialPart::Func));
    PyObject* const args = partial_field(o, PartialPart::Args);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); ++k) open.push_back(PyTuple_GET_ITEM(args, k));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(partial_field(o, PartialPart::Keywords), &at, &key, &value);)
      open.push_back(value);
  }
  return false;
}

ValueRef wrap_partial(Tracer& t, PyObject* o, SourceRef s) {
  if (holds_itself(o)) unmodelled(s->name, "a functools.partial that holds itself");
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  auto part = [&](PartialPart which, SourceKind kind) {
    return t.wrap(partial_field(o, which), t.recorder.sources.child(s, kind));
  };
  CallArgs args;
  args.positional = collect(t, part(PartialPart::Args, SourceKind::PartialArgs));
  PyObject *k, *v;
  for (Py_ssize_t pos = 0; PyDict_Next(partial_field(o, PartialPart::Keywords), &pos, &k, &v);)
    if (!PyUnicode_CheckExact(k)) graph_break<GB0186>(repr_of(k));
  auto keywords = part(PartialPart::Keywords, SourceKind::PartialKeywords);
  auto* dict = as<DictValue>(keywords);
  dict->observe_keys(t);
  for (auto& e : dict->live()) args.keywords.emplace_back(e.key->as_constant(), e.value);
  return make_ref<PartialValue>(part(PartialPart::Func, SourceKind::PartialFunc), std::move(args));
}

}  // namespace md
