#include "frontend/values/late.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "frontend/breaks.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan.h"
#include "frontend/tracer.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

PyTypeObject* type_of(const char* module, const char* name) {
  PyRef m = checked(PyImport_ImportModule(module));
  PyRef type = checked(PyObject_GetAttrString(m.get(), name));
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module keeps it
}

// Numbers drawn from a generator's state. gauss() is none: it keeps a number in an attribute.
constexpr std::string_view kDraws[] = {
    "random",         "getrandbits",   "_randbelow",      "_randbelow_with_getrandbits",
    "randrange",      "randint",       "uniform",         "triangular",
    "normalvariate",  "betavariate",   "expovariate",     "gammavariate",
    "lognormvariate", "paretovariate", "vonmisesvariate", "weibullvariate"};
constexpr std::string_view kStreams[] = {"read", "write", "readline", "tell", "seek", "getvalue", "read1"};

bool is_one_of(std::span<const std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string name_of(PyObject* function) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? text_of(name.get()) : "";
}

// The method as the class itself has it.
bool is_own(PyTypeObject* type, PyObject* function) {
  PyRef name = checked(PyUnicode_InternFromString(name_of(function).c_str()));
  return type_find(type, name.get()) == function;
}

enum class Late : std::uint8_t { No, Draw, Stream };

Late sort_of(PyObject* function, PyTypeObject* type) {
  static PyTypeObject* const random = type_of("random", "Random");
  static PyTypeObject* const streams[] = {type_of("_io", "BytesIO"), type_of("_io", "StringIO")};
  if (type == random && is_one_of(kDraws, name_of(function)) && is_own(type, function)) return Late::Draw;
  for (PyTypeObject* stream : streams)
    if (type == stream && is_one_of(kStreams, name_of(function)) && is_own(type, function)) return Late::Stream;
  return Late::No;
}

// Python code runs for none of these.
bool is_immutable(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         PyBytes_CheckExact(o);
}

// A constant or an immutable object nobody has looked at: the plan loads either before anything else happens.
bool may_be_argument(Tracer& t, const ValueRef& v, bool known) {
  if (v->kind == ValueKind::Constant) return is_immutable(v->real.get());
  auto* lazy = as<LazyValue>(v);
  if (known || !lazy || !lazy->real || !lazy->source || !is_immutable(lazy->real.get())) return false;
  if (lazy->realized) return lazy->realized->kind == ValueKind::Constant;
  t.guard(GuardKind::TypeMatch, lazy->source, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(lazy->real.get()))));
  return true;
}

// A draw with these arguments cannot fail: it is tried on a generator of its own.
bool can_be_drawn(PyObject* function, const std::vector<ValueRef>& arguments) {
  PyRef generator = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type_of("random", "Random"))));
  PyRef given = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  PyTuple_SET_ITEM(given.get(), 0, generator.release());
  for (std::size_t k = 1; k < arguments.size(); ++k)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(k), Py_NewRef(arguments[k]->real.get()));
  PyRef drawn = PyRef::steal(PyObject_CallObject(function, given.get()));
  PyErr_Clear();
  return static_cast<bool>(drawn);
}

}  // namespace

std::string LateValue::print() const { return "LazyVariableTracker()"; }

Reg LateValue::rebuild(PlanBuilder&) { throw InternalError("a call whose result only a run knows was not planned"); }

bool draws_late(const Tracer& t, const ValueRef& method) {
  auto* m = t.config.trace_more ? as<MethodValue>(method) : nullptr;
  PyTypeObject* type = m ? m->self->python_type() : nullptr;
  return type && m->function->real && sort_of(m->function->real.get(), type) == Late::Draw;
}

ValueRef late_call(Tracer& t, PyObject* function, const ValueRef& self, const CallArgs& args) {
  PyTypeObject* type = self->python_type();
  if (!t.config.trace_more || t.config.fullgraph || !type || !self->source || !args.keywords.empty()) return {};
  const Late sort = sort_of(function, type);
  if (sort == Late::No) return {};
  std::vector<ValueRef> arguments{self};
  for (auto& a : args.positional) {
    if (sort == Late::Draw) (void)t.realize(a);
    auto* lazy = as<LazyValue>(a);
    arguments.push_back(lazy && lazy->realized ? lazy->realized : a);
    if (!may_be_argument(t, arguments.back(), sort == Late::Draw)) return {};
  }
  // A call that fails has the frame run again as plain Python: before it nothing may have been done.
  if (sort == Late::Stream && (!t.late.empty() || !t.graph->nodes.empty() || !t.outer_graphs.empty())) return {};
  if (sort == Late::Draw && !can_be_drawn(function, arguments)) return {};
  t.late.push_back(make_ref<LateValue>(PyRef::borrow(function), std::move(arguments)));
  return t.late.back();
}

void plan_late_calls(PlanBuilder& b) {
  for (auto& v : b.tracer.late) {
    auto& call = static_cast<LateValue&>(*v);
    const bool fails = sort_of(call.function.get(), call.arguments[0]->python_type()) == Late::Stream;
    const auto computes = [](const auto& n) { return n->kind != NodeKind::Placeholder; };
    if (fails && std::ranges::any_of(b.tracer.graph->nodes, computes))
      unmodelled(repr_of(call.function.get()), "call before the work of a graph");
    PlanStep s{StepOp::Call};
    s.a = b.load_constant(call.function);
    for (auto& a : call.arguments) s.regs.push_back(b.rebuild(a));
    s.out = b.plan.registers++;
    b.remember(v.get(), s.out);
    b.plan.calls.push_back(std::move(s));
  }
}

}  // namespace md
