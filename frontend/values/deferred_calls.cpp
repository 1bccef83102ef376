// Which methods may be deferred, the effects that make their calls, and following the place of an io.BytesIO.
#include "frontend/values/deferred_calls.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "frontend/cpython/byte_stream.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/made_once.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/number_value.h"
#include "frontend/values/objects.h"
#include "frontend/values/size_value.h"
#include "ir/sizes/shape_env.h"

namespace md {

namespace {

PyTypeObject* stream_type(const char* name) {
  PyRef type = checked(PyObject_GetAttrString(checked(import_module("_io")).get(), name));
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module keeps it
}

// Null while the program has not imported it.
PyObject* random_type() { return library_object("random", "Random"); }

// Numbers drawn from a generator's state. gauss() is none: it keeps a number in an attribute.
constexpr std::string_view kDraws[] = {
    "random",         "getrandbits",   "_randbelow",      "_randbelow_with_getrandbits",
    "randrange",      "randint",       "uniform",         "triangular",
    "normalvariate",  "betavariate",   "expovariate",     "gammavariate",
    "lognormvariate", "paretovariate", "vonmisesvariate", "weibullvariate"};
// Those of them that are traced in any case, as the reference does.
constexpr std::string_view kTracedDraws[] = {"random", "randrange", "randint", "uniform"};
constexpr std::string_view kStreams[] = {"read", "write", "readline", "tell", "seek", "getvalue", "read1"};

bool is_one_of(std::span<const std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string name_of(PyObject* function) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(function, "__name__"));
  if (!name) clear_answer();
  return name && PyUnicode_Check(name.get()) ? text_of(name.get()) : "";
}

// The method as the class itself has it.
bool is_own(PyTypeObject* type, PyObject* function) {
  PyRef name = checked(PyUnicode_InternFromString(name_of(function).c_str()));
  return type_find(type, name.get()) == function;
}

enum class Deferral : std::uint8_t { No, Draw, Stream };

Deferral sort_of(const Tracer& t, PyObject* function, PyTypeObject* type) {
  if (!t.config.trace_more) {
    if (std::string_view(type->tp_name) != "Random" || reinterpret_cast<PyObject*>(type) != random_type())
      return Deferral::No;
    return is_one_of(kTracedDraws, name_of(function)) && is_own(type, function) ? Deferral::Draw : Deferral::No;
  }
  const auto streams = made_once([] { return std::array{stream_type("BytesIO"), stream_type("StringIO")}; });
  if (reinterpret_cast<PyObject*>(type) == random_type() && is_one_of(kDraws, name_of(function)) &&
      is_own(type, function))
    return Deferral::Draw;
  for (PyTypeObject* stream : streams)
    if (type == stream && is_one_of(kStreams, name_of(function)) && is_own(type, function)) return Deferral::Stream;
  return Deferral::No;
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

// What a generator of its own gives for these arguments; null: a draw with them fails.
PyRef drawn_on_trial(PyObject* function, const std::vector<ValueRef>& arguments, const PyRef& names) {
  const PyRef generator = checked(PyObject_CallNoArgs(random_type()));
  std::vector<PyObject*> given{generator.get()};
  for (std::size_t k = 1; k < arguments.size(); ++k) given.push_back(arguments[k]->real.get());
  const std::size_t named = names ? static_cast<std::size_t>(PyTuple_GET_SIZE(names.get())) : 0;
  PyRef drawn = PyRef::steal(PyObject_Vectorcall(function, given.data(), given.size() - named, names.get()));
  clear_answer();
  return drawn;
}

// The generator, as a value whose methods the plan may call.
bool is_generator(const ValueRef& self, PyTypeObject* type) {
  return self->source && reinterpret_cast<PyObject*>(type) == random_type();
}

// The library's own method, and not one the program has put there.
bool is_library_method(PyTypeObject* type, PyObject* found) {
  const PyRef module = loaded_library("random");
  if (found && Py_TYPE(found) == &PyMethodDescr_Type)
    return PyType_IsSubtype(type, reinterpret_cast<PyDescrObject*>(found)->d_type);
  return found && PyFunction_Check(found) && module && PyFunction_GET_GLOBALS(found) == PyModule_GetDict(module.get());
}

// All methods a draw calls are the library's, of the class and of the instance, which guards keep so.
bool draws_as_written(Tracer& t, const ValueRef& self, PyTypeObject* type, const std::string& method) {
  std::vector<std::string> names{method};
  for (std::size_t k = 0; k < names.size(); ++k) {
    const PyRef name = checked(PyUnicode_InternFromString(names[k].c_str()));
    PyObject* const found = type_find(type, name.get());
    if (!is_library_method(type, found)) return false;
    t.expect_on_class(type, name.get(), found);
    const ValueRef bound = t.realize(self->get_attr(t, name.get()));
    auto* m = as<MethodValue>(bound);
    auto* c = as<BoundAttrValue>(bound);
    if (m ? m->function->real.get() != found : !c || c->self.get() != self.get()) return false;
    if (!PyFunction_Check(found)) continue;
    PyObject* const used = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(found))->co_names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(used); ++i) {
      std::string next = text_of(PyTuple_GET_ITEM(used, i));
      if (is_one_of(kDraws, next) && std::ranges::find(names, next) == names.end()) names.push_back(std::move(next));
    }
  }
  return true;
}

bool any_may_fail(const Tracer& t) {
  return std::ranges::any_of(t.effects.deferred, [](const ValueRef& v) {
    return v->kind == ValueKind::Lazy && static_cast<DeferredCall&>(*v).may_fail;
  });
}

Ref<DeferredCall> note_call(Tracer& t, PyObject* function, std::vector<ValueRef> arguments, PyRef names = {}) {
  auto call = make_ref<DeferredCall>(PyRef::borrow(function), std::move(arguments), std::move(names));
  t.effects.deferred.push_back(call);
  return call;
}

// --- io.BytesIO whose place is followed ---------------------------------------------------------------------------

// Null: the trace follows another stream, or it changes where only a run sees it.
StreamFacts* stream_facts(Tracer& t, const ValueRef& self) {
  if (any_may_fail(t)) return nullptr;
  if (t.effects.stream) return t.effects.stream->stream.get() == self.get() ? t.effects.stream.get() : nullptr;
  StreamPlace now;
  if (t.config.specialize_int || !t.config.dynamic_shapes || !read_stream(self->real.get(), now)) return nullptr;
  t.guard(GuardKind::TypeMatch, self->source, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(self->real.get()))));
  const auto symbol = [&](SizePlace::Field field, std::int64_t value) {
    const SizePlace place{self->source, field, 0};
    const Size s = t.shapes().integer(value, to_string(place));
    t.sizes.places.push_back(place);
    t.sizes.inputs.push_back({place, s, t.user_frame()});
    return s;
  };
  const Size at = symbol(SizePlace::Field::StreamAt, now.at);
  const Size left = symbol(SizePlace::Field::StreamLeft, now.size - now.at);
  t.effects.stream = std::make_shared<StreamFacts>(StreamFacts{self, at, left});
  return t.effects.stream.get();
}

// How many bytes read(n) gives; false: that does not follow from the stream's place.
bool bytes_read(const StreamFacts& facts, const CallArgs& args, Tracer& t, Size& count, ValueRef& wanted) {
  count = facts.left;
  if (args.size() > 0) wanted = t.realize(args.positional[0]);
  if (!wanted || is_true_constant(wanted, Py_None)) return !guard_lt(count, Size(0));
  Size asked;
  if (!as_size(wanted, asked) || !(asked.is_const() || wanted->source) || guard_lt(asked, Size(0))) return false;
  if (guard_lt(facts.left, asked)) return !guard_lt(count, Size(0));
  count = asked;
  return true;
}

// read(n) and tell() where the stream's place says all about the result but the bytes. They cannot fail.
ValueRef followed_call(Tracer& t, PyObject* function, const ValueRef& self, const CallArgs& args) {
  const std::string name = name_of(function);
  const bool reads = name == "read" && args.size() <= 1, tells = name == "tell" && args.size() == 0;
  StreamFacts* const facts = reads || tells ? stream_facts(t, self) : nullptr;
  if (!facts) return {};
  if (tells) return size_value(t, facts->at);
  Size count;
  ValueRef wanted;
  if (!bytes_read(*facts, args, t, count, wanted)) return {};
  std::vector<ValueRef> arguments{self};
  if (wanted) arguments.push_back(wanted);
  const Ref<DeferredCall> call = note_call(t, function, std::move(arguments));
  call->realized = make_ref<DeferredBytes>(*call, count);
  facts->at = facts->at + count;
  facts->left = facts->left - count;
  return call;
}

PyObject* take_item() {
  return made_once(
      [] { return checked(PyObject_GetAttrString(checked(import_module("operator")).get(), "getitem")).release(); });
}

}  // namespace

std::string DeferredCall::print() const { return "LazyVariableTracker()"; }

Reg DeferredCall::rebuild(PlanBuilder&) { throw InternalError("a call whose result only a run knows was not planned"); }

ValueRef DeferredBytes::get_item(Tracer& t, const ValueRef& key) {
  std::int64_t at;
  const ValueRef k = t.realize(key);
  if (k->kind != ValueKind::Constant || !constant_int(k, at)) return Value::get_item(t, key);
  if (guard_lt(size, Size(at < 0 ? -at : at + 1))) t.raise(PyExc_IndexError, "index out of range");
  return note_call(t, take_item(), {ValueRef(&call), k});
}

std::optional<std::int64_t> DeferredBytes::length(Tracer& t) {
  std::int64_t n;
  if (!constant_int(t.constant(SizeValue(size).as_constant()), n)) throw InternalError("a length is no int");
  return n;
}

ValueRef DeferredBytes::length_value(Tracer& t) { return size_value(t, size); }

bool DeferredBytes::truth(Tracer&) { return !guard_eq(size, Size(0)); }

ValueRef deferred_items(Tracer& t, PyObject* function, const CallArgs& args) {
  PyObject* const unpack = library_object("struct", "unpack");
  if (function != unpack || args.positional.size() != 2 || !args.keywords.empty()) return {};
  auto* bytes = as<DeferredBytes>(t.realize(args.positional[1]));
  const ValueRef format = t.realize(args.positional[0]);
  if (!bytes || format->kind != ValueKind::Constant) return {};
  PyObject* const calcsize = library_object("struct", "calcsize");
  PyRef size = calcsize ? PyRef::steal(PyObject_CallOneArg(calcsize, format->real.get())) : PyRef();
  PyRef zeros =
      size ? PyRef::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyBytes_Type), size.get())) : PyRef();
  PyRef like =
      zeros ? PyRef::steal(PyObject_CallFunctionObjArgs(unpack, format->real.get(), zeros.get(), nullptr)) : PyRef();
  clear_answer();
  if (!like || !guard_eq(bytes->size, Size(PyBytes_GET_SIZE(zeros.get())))) return {};
  const Ref<DeferredCall> call = note_call(t, function, {format, ValueRef(&bytes->call)});
  std::vector<ValueRef> items;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(like.get()); ++k)
    items.push_back(note_call(t, take_item(), {ValueRef(call), t.integer(k)}));
  return make_ref<TupleValue>(std::move(items));
}

bool is_deferred_draw(const Tracer& t, const ValueRef& method) {
  auto* m = as<MethodValue>(method);
  if (!m || !m->function->real) return false;
  PyTypeObject* type = m->self->python_type();
  return type && sort_of(t, m->function->real.get(), type) == Deferral::Draw;
}

namespace {

// A number drawn in the run, once the methods a draw calls are the library's own. Null: it is not to be deferred.
ValueRef draw(Tracer& t, PyObject* function, std::vector<ValueRef> arguments, PyRef names) {
  const ValueRef self = arguments[0];
  PyTypeObject* const type = self->python_type();
  // random.random is a method in C of the module's own generator, which the reference does not look into.
  if (!t.config.trace_more && name_of(function) == "random" && self->real.get() == library_object("random", "_inst"))
    return {};
  if (!is_generator(self, type) || !draws_as_written(t, self, type, name_of(function))) return {};
  const PyRef trial = drawn_on_trial(function, arguments, names);
  if (!trial) return {};
  const Ref<DeferredCall> call = note_call(t, function, std::move(arguments), std::move(names));
  call->draws = true;
  for (PyTypeObject* number : {&PyFloat_Type, &PyLong_Type})
    if (Py_TYPE(trial.get()) == number) call->realized = make_ref<NumberValue>(number, call.get());
  return call;
}

}  // namespace

ValueRef defer_call(Tracer& t, PyObject* function, const ValueRef& self, const CallArgs& args) {
  PyTypeObject* type = self->python_type();
  if (!type || !self->source) return {};
  const Deferral sort = sort_of(t, function, type);
  if (sort == Deferral::No || (sort == Deferral::Stream && (t.config.fullgraph || !args.keywords.empty()))) return {};
  if (sort == Deferral::Stream)
    if (ValueRef v = followed_call(t, function, self, args)) return v;
  std::vector<ValueRef> arguments{self};
  const auto take = [&](const ValueRef& a) {
    if (sort == Deferral::Draw) (void)t.realize(a);
    auto* lazy = as<LazyValue>(a);
    arguments.push_back(lazy && lazy->realized ? lazy->realized : a);
    return may_be_argument(t, arguments.back(), sort == Deferral::Draw);
  };
  for (auto& a : args.positional)
    if (!take(a)) return {};
  PyRef names = args.keywords.empty() ? PyRef() : checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
  Py_ssize_t at = 0;
  for (auto& [name, a] : args.keywords) {
    if (!take(a)) return {};
    PyTuple_SET_ITEM(names.get(), at++, Py_NewRef(name.get()));
  }
  if (sort == Deferral::Draw) return draw(t, function, std::move(arguments), std::move(names));
  // A call that fails has the frame run again as plain Python: before it nothing may have been done.
  if (!t.effects.deferred.empty() || !t.graphs.current->nodes.empty() || !t.graphs.outer.empty()) return {};
  const Ref<DeferredCall> call = note_call(t, function, std::move(arguments));
  call->may_fail = true;
  return call;
}

void plan_deferred_calls(PlanBuilder& b) {
  for (auto& v : b.tracer.effects.deferred) {
    if (v->kind != ValueKind::Lazy) continue;
    auto& call = static_cast<DeferredCall&>(*v);
    const auto computes = [](const auto& n) { return n->kind != NodeKind::Placeholder; };
    if ((call.may_fail || b.tracer.effects.stream) && std::ranges::any_of(b.tracer.graphs.current->nodes, computes))
      unmodelled(repr_of(call.function.get()), "call before the work of a graph");
    PlanStep s{StepOp::Call};
    s.a = b.load_constant(call.function);
    for (auto& a : call.arguments) s.regs.push_back(b.rebuild(a));
    s.object = call.names;
    s.index = call.draws;
    s.out = b.plan.registers++;
    b.remember(v.get(), s.out);
    if (call.realized) b.remember(call.realized.get(), s.out);
    b.plan.calls.push_back(std::move(s));
  }
  plan_graph_numbers(b);
}

}  // namespace md
