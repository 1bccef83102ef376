// Finding rules: real objects → rows, and what happens to a builtin without one.
#include "frontend/values/rules.h"

#include <unordered_map>

#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/values/array.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/c_function_breaks.h"
#include "frontend/values/cached_calls.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/class_stores.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/known_items.h"
#include "frontend/values/module_breaks.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/number_value.h"
#include "frontend/values/object_slots.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"

namespace md {

namespace {

// With the GIL held.
std::unordered_map<PyObject*, const BuiltinRow*>& rules() {
  static auto* map = new std::unordered_map<PyObject*, const BuiltinRow*>();
  return *map;
}

PyRef resolve(const BuiltinRow& row) {
  PyRef o = PyRef::steal(import_module(row.module));
  std::string name = row.name;
  while (o && !name.empty()) {
    const auto dot = name.find('.');
    o = PyRef::steal(PyObject_GetAttrString(o.get(), name.substr(0, dot).c_str()));
    name = dot == std::string::npos ? "" : name.substr(dot + 1);
  }
  return o;
}

// Modules this package does not import by itself. Their rules and polyfills wait for a program that does.
struct AwaitedModule {
  const char* name;
  bool has_polyfills, is_known = false;
};
std::span<AwaitedModule> awaited_modules() {
  static constinit AwaitedModule modules[] = {
      {"copy", true}, {"dataclasses", true}, {"inspect", true}, {"random", true}, {"typing", false}};
  return modules;
}
bool is_awaited(std::string_view module) {
  return std::ranges::any_of(awaited_modules(), [&](const AwaitedModule& m) { return module == m.name; });
}

std::vector<std::span<const BuiltinRow>>& families() {
  static auto* all = new std::vector<std::span<const BuiltinRow>>();
  return *all;
}

template <class Wanted>
void resolve_rules(Wanted wanted) {
  for (auto rows : families())
    for (const BuiltinRow& row : rows) {
      if (!wanted(std::string_view(row.module))) continue;
      PyRef o = resolve(row);
      if (!o) throw PythonError{};
      if (rules().insert_or_assign(o.get(), &row).second) (void)o.release();  // kept for the life of the process
    }
}

// C functions of constants that have no side effects: they run at trace time.
bool is_pure_module(const std::string& module) {
  for (const char* pure :
       {"math", "cmath", "_operator", "operator", "builtins", "_bisect", "binascii", "_struct", "unicodedata"})
    if (module == pure) return true;
  return is_facts_module(module);
}

// Of modules whose other functions are not.
bool is_pure_function(const std::string& module, const std::string& name) {
  static constexpr std::pair<const char*, const char*> kPure[] = {{"posix", "fspath"},
                                                                  {"posix", "_path_normpath"},
                                                                  {"posix", "_path_splitroot_ex"},
                                                                  {"sys", "intern"},
                                                                  {"_codecs", "utf_8_decode"}};
  for (auto& [m, f] : kPure)
    if (module == m && name == f) return true;
  return false;
}

// int.from_bytes, float.fromhex, str.maketrans, ...
bool is_pure_class_method(PyObject* callable) {
  // Static methods too: they show no __self__.
  PyObject* owner = PyCFunction_Check(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_self : nullptr;
  for (PyTypeObject* type : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type, &PyBytes_Type})
    if (owner == reinterpret_cast<PyObject*>(type)) return true;
  return owner && PyUnicode_CheckExact(owner);  // ", ".join
}

bool has_effects(const std::string& name) {
  for (const char* effect : {"print",      "input", "open",    "exec",   "eval",   "compile",    "breakpoint",
                             "__import__", "id",    "globals", "locals", "vars",   "dir",        "setattr",
                             "delattr",    "iter",  "next",    "super",  "object", "memoryview", "bytearray"})
    if (name == effect) return true;
  return false;
}

std::string attr_text(PyObject* o, const char* name) {
  PyRef v = PyRef::steal(PyObject_GetAttrString(o, name));
  if (!v || v.get() == Py_None) {
    clear_answer();
    return "";
  }
  return text_of(v.get());
}

// The lists among a call's arguments, which are copies made for it, as they were: a change would be lost.
struct GivenLists {
  std::vector<std::pair<PyRef, PyRef>> lists;

  void add(PyObject* o) {
    if (PyList_CheckExact(o)) lists.emplace_back(PyRef::borrow(o), checked(PySequence_Tuple(o)));
  }
  bool changed() const {
    return std::ranges::any_of(lists, [](const auto& l) {
      PyObject** const now = PySequence_Fast_ITEMS(l.first.get());
      PyObject** const then = PySequence_Fast_ITEMS(l.second.get());
      return PyList_GET_SIZE(l.first.get()) != PyTuple_GET_SIZE(l.second.get()) ||
             !std::equal(now, now + PyList_GET_SIZE(l.first.get()), then);
    });
  }
};

ValueRef fold(Tracer& t, BuiltinValue& callee, const std::vector<PyRef>& positional, const PyRef& kwargs) {
  GivenLists given;
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i) {
    given.add(positional[i].get());
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef(positional[i]).release());
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs.get(), &at, &key, &value);) given.add(value);
  PyRef r = PyRef::steal(PyObject_Call(callee.real.get(), tuple.get(), kwargs.get()));
  if (given.changed()) {
    clear_answer();
    break_on_skipped(t, callee.real.get());
  }
  if (!r) t.raise_current();
  return from_result(t, r.get());
}

// Input and output: effects a graph cannot have, so the missing rule is meant.
bool acts_on_the_world(const std::string& builtin) { return builtin == "input" || builtin == "open"; }

// Nor has it code that is made while the program runs.
bool takes_code(const std::string& builtin) {
  return builtin == "exec" || builtin == "eval" || builtin == "compile" || builtin == "__import__";
}

// What looks at the names of a module: the reference has no rule for any argument of these.
bool looks_at_names(const std::string& builtin) {
  return builtin == "globals" || builtin == "locals" || builtin == "dir";
}

// int.__and__(True, False): bool has another.
ValueRef fold_method(Tracer& t, BuiltinValue& callee, const ValueRef& self, const CallArgs& args, PyTypeObject* of) {
  std::vector<PyRef> positional;
  PyRef kwargs;
  CallArgs all = args;
  all.positional.insert(all.positional.begin(), self);
  if (self->kind != ValueKind::Constant || of == &PyBaseObject_Type || !all_constant(all, positional, kwargs))
    return {};
  return fold(t, callee, positional, kwargs);
}

[[noreturn]] void no_rule(Tracer& t, BuiltinValue& callee, const CallArgs& args) {
  const std::string module = attr_text(callee.real.get(), "__module__"),
                    name = attr_text(callee.real.get(), "__name__");
  const bool is_public = !name.starts_with("_");  // __import__ is skipped as functions of C modules are
  if (is_public && (module == "builtins" || module == "_operator" ||
                    find_item(t.frame().builtins.get(), name.c_str()) == callee.real.get())) {
    const std::string types = argument_types(t, args), has_kwargs = args.keywords.empty() ? "False" : "True";
    if (name == "print") graph_break<GB0059_effect>(name, types, has_kwargs);
    if (name == "breakpoint") throw seen_whole(make_break<GB0059_world>(name, types, has_kwargs));
    if (acts_on_the_world(name)) graph_break<GB0059_world>(name, types, has_kwargs);
    if (takes_code(name)) graph_break<GB0059_code>(name, types, has_kwargs);
    if (find_builtin_rule(callee.real.get()) && refuses_arguments(t, callee.real.get(), args))
      graph_break<GB0193>(name, print_list(args.positional), print_keywords(args));
    if (looks_at_names(name)) graph_break<GB0059_names>(name, types, has_kwargs);
    const auto in_c = [&](const ValueRef& raw) {
      const ValueRef v = t.realize(raw);
      return v->kind == ValueKind::Opaque && is_c_type(v->python_type());
    };
    if (std::ranges::any_of(args.positional, in_c))
      graph_break<GB0059>(name, types, has_kwargs);  // only its C code knows
    not_modelled<GB0059>(name, types, has_kwargs);
  }
  break_on_c_function(t, callee.real.get(), args);
}

}  // namespace

// dict.fromkeys, which every look-up binds anew.
static bool is_fromkeys(PyObject* o, bool subclasses = false) {
  PyObject* const self = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
  if (!self || !PyType_Check(self)) return false;
  auto* const type = reinterpret_cast<PyTypeObject*>(self);
  if (type != &PyDict_Type && !(subclasses && PyType_IsSubtype(type, &PyDict_Type))) return false;
  return std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "fromkeys";
}

static bool is_unhashable_key(const ValueRef& key) {
  PyRef constant = key->as_constant();
  PyTypeObject* type = key->python_type();
  // A hash of a class's own is a call that the program sees: put() makes it, once.
  if (!constant || PyType_HasFeature(Py_TYPE(constant.get()), Py_TPFLAGS_HEAPTYPE))
    return type && type->tp_hash == PyObject_HashNotImplemented;
  const bool refused = PyObject_Hash(constant.get()) == -1;
  clear_answer();
  return refused;
}

// fromkeys of a class below dict, which is left to the class: its keys are looked at before.
static void check_keys_of_subclass(Tracer& t, PyObject* function, const CallArgs& args) {
  if (is_fromkeys(function) || !is_fromkeys(function, true) || args.positional.empty()) return;
  const ValueRef from = t.realize(args.positional[0]);
  const auto* list = as<ListValue>(from);
  const auto* tuple = as<TupleValue>(from);
  if (!list && !tuple) return;
  for (const ValueRef& item : list ? list->items : tuple->items)
    if (is_unhashable_key(t.realize(item)))
      graph_break<GB0183>(type_name(reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(function))),
                          print_list(args.positional), print_keywords(args));
}

static ValueRef call_fromkeys(Tracer& t, CallArgs& args) {
  expect_args(t, "fromkeys", args, 1, 2);
  auto made = make_ref<DictValue>(&PyDict_Type);
  const ValueRef value = args.size() == 2 ? args[1] : t.none();
  for (auto& raw : collect(t, t.realize(args[0]))) {
    ValueRef key = t.realize(raw);
    if (is_unhashable_key(key)) graph_break<GB0183>("dict", print_list(args.positional), print_keywords(args));
    made->put(t, key, value);
  }
  return made;
}

static bool has_own_new(PyTypeObject* type) {
  PyObject* found = type_find(type, checked(PyUnicode_InternFromString("__new__")).get());
  return found && !PyCFunction_Check(found);
}

// object.__new__(cls), list.__new__(cls), and type.__call__(cls, ...): what a class is called with in the end.
static ValueRef call_constructor(Tracer& t, BuiltinValue& callee, CallArgs& args) {
  PyObject* o = callee.real.get();
  const bool is_new = PyCFunction_Check(o) && PyCFunction_GET_SELF(o) && PyType_Check(PyCFunction_GET_SELF(o)) &&
                      std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "__new__";
  const bool is_call = Py_TYPE(o) == &PyWrapperDescr_Type && o == own_attribute(&PyType_Type, "__call__");
  auto* cls = (is_new || is_call) && !args.positional.empty() ? as<ClassValue>(t.realize(args[0])) : nullptr;
  if (!cls) return {};
  Ref<ClassValue> keep(cls);
  CallArgs rest = args;
  rest.positional.erase(rest.positional.begin());
  if (is_call) return instantiate(t, *cls, std::move(rest));
  auto* base = reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(o));
  if (!PyType_IsSubtype(cls->type(), base) || PyType_IsSubtype(cls->type(), &PyType_Type)) return {};
  if (PyTypeObject* layout = layout_base(cls->type()); base == &PyBaseObject_Type && is_data_base(layout)) {
    PyTypeObject* usual = cls->type();  // the nearest class with the C type's own __new__
    while (usual->tp_new != layout->tp_new) usual = usual->tp_base;
    t.raise(PyExc_TypeError,
            "object.__new__(" + type_name(cls->type()) + ") is not safe, use " + type_name(usual) + ".__new__()");
  }
  PyObject* init = type_find(cls->type(), checked(PyUnicode_InternFromString("__init__")).get());
  if (base == &PyBaseObject_Type && rest.size() > 0 && has_own_new(cls->type()))
    t.raise(PyExc_TypeError, "object.__new__() takes exactly one argument (the type to instantiate)");
  if (base == &PyBaseObject_Type && rest.size() > 0 && (!init || !PyFunction_Check(init)))
    t.raise(PyExc_TypeError, type_name(cls->type()) + "() takes no arguments");
  return new_instance(t, *cls, base == &PyBaseObject_Type ? CallArgs{} : rest);
}

bool tables_are_ready() {
  static bool busy = false, ready = false;  // with the GIL held
  if (busy) return false;
  struct Busy {
    Busy() { busy = true; }
    ~Busy() { busy = false; }
  } here;
  if (!ready) {
    resolve_rules([](std::string_view module) { return !is_awaited(module); });
    load_polyfills();
    ready = true;
  }
  for (AwaitedModule& m : awaited_modules()) {
    if (m.is_known || !loaded_library(m.name)) continue;
    resolve_rules([&](std::string_view module) { return module == m.name; });
    if (m.has_polyfills) take_up_polyfills(m.name);
    m.is_known = true;
  }
  return true;
}

void add_rules(std::span<const BuiltinRow> family) { families().push_back(family); }

const BuiltinRow* find_builtin_rule(PyObject* object) {
  auto it = rules().find(object);
  return it == rules().end() ? nullptr : it->second;
}

// Instances of subclasses of int, str, ... that change nothing a builtin function asks for count as what they hold.
static void unwrap_plain_data(Tracer& t, CallArgs& args) {
  static const char* const asked[] = {
      "__int__",     "__index__", "__float__", "__trunc__",  "__abs__",  "__round__",   "__floor__",   "__ceil__",
      "__complex__", "__str__",   "__repr__",  "__format__", "__bool__", "__hash__",    "__eq__",      "__lt__",
      "__le__",      "__gt__",    "__ge__",    "__len__",    "__iter__", "__getitem__", "__contains__"};
  for (ValueRef& v : args.positional) {
    auto* o = as<ObjectValue>(v);
    if (!o || !o->payload || o->payload->kind != ValueKind::Constant) continue;
    bool changed = false;
    for (const char* name : asked) changed = changed || o->special(t, name);
    if (!changed) v = o->payload;
  }
}

namespace {

// One call on its way through the rows.
struct BuiltinCall {
  Tracer& t;
  BuiltinValue& callee;
  CallArgs args;

  PyObject* function() const { return callee.real.get(); }
  void realize() {
    for (auto& a : args.positional) a = t.realize(a);
    for (auto& k : args.keywords) k.second = t.realize(k.second);
  }
};

// Null: the rule leaves the call to Python, if its arguments are constants.
ValueRef by_rule(BuiltinCall& c, const BuiltinRow& row) {
  if (row.realize) c.realize();
  if (ValueRef r = call_on_numbers(c.t, c.function(), c.args)) return r;
  const CallArgs given = c.args;
  try {
    return row.rule(c.t, c.args);
  } catch (const WrongArguments&) {
    // The error of a builtin function is not traced, even if it is caught: the registry lists it. A call of constants
    // is made by Python itself.
    std::vector<PyRef> positional;
    PyRef kwargs;
    const bool listed = std::string_view(row.module) == "builtins" && !all_constant(given, positional, kwargs);
    if (listed && !c.t.config.trace_more)
      graph_break<GB0193>(std::string(row.name), print_list(given.positional), print_keywords(given));
    refuse_arguments(c.t, c.function(), given);
  }
}

// Method `name` of type `of`, on `self`; null: nobody knows it.
ValueRef unbound_method(BuiltinCall& c, const ValueRef& self, PyTypeObject* of, PyObject* name) {
  Tracer& t = c.t;
  if (ValueRef deferred = defer_call(t, c.function(), self, c.args)) return deferred;
  for (auto& a : c.args.positional) a = t.realize(a);
  const auto is_of = [&](PyTypeObject* type) { return type_find(type, name) == c.function(); };
  if (auto* o = as<ObjectValue>(self); o && is_of(layout_base(o->type)))
    if (ValueRef r = call_base_method(t, *o, name, c.args)) return r;
  if (ValueRef r = call_object_slot(t, self, text_of(name), c.args)) return r;
  if (of == &PyType_Type && c.args.positional.size() == 2 && text_of(name) == "__setattr__" &&
      plain_store_on_class(t, *self, attr_name(c.args.positional[0]).get(), c.args.positional[1]))
    return t.none();
  if (self->kind == ValueKind::Object && is_library_class(self->python_type(), LibraryClass::Module))
    graph_break<GB0121>(self->print(), text_of(name), print_list(c.args.positional), print_keywords(c.args));
  if (PyObject* row = self->kind == ValueKind::Exception ? library_method(of, name) : nullptr) {
    c.args.positional.insert(c.args.positional.begin(), self);
    return call_library(t, c.function(), row, std::move(c.args));
  }
  // bool has an int's methods of its own, OrderedDict a dict's, all of them object's.
  PyTypeObject* type = self->python_type();
  const bool overridden = type && !is_of(type);
  if (self->kind != ValueKind::Object && !overridden) return self->call_method(t, name, std::move(c.args));
  return fold_method(t, c.callee, self, c.args, of);
}

// list.append(x, v): the method of its first argument.
ValueRef descriptors(BuiltinCall& c) {
  if (Py_TYPE(c.function()) != &PyMethodDescr_Type && Py_TYPE(c.function()) != &PyWrapperDescr_Type) return {};
  if (!c.args.positional.empty()) {
    const ValueRef self = c.t.realize(c.args.positional[0]);
    const PyRef name = checked(PyObject_GetAttrString(c.function(), "__name__"));
    PyTypeObject* of = reinterpret_cast<PyDescrObject*>(c.function())->d_type;
    if (self->kind == ValueKind::Constant && !PyType_IsSubtype(self->python_type(), of))
      refuse_arguments(c.t, c.function(), c.args);
    c.args.positional.erase(c.args.positional.begin());
    if (ValueRef r = unbound_method(c, self, of, name.get())) return r;
    break_on_listed_method(c.t, self, name.get());
  } else if (!c.t.uncaught()) {
    refuse_arguments(c.t, c.function(), c.args);
  }
  break_on_c_function(c.t, c.function(), c.args);
}

ValueRef dict_fromkeys(BuiltinCall& c) {
  check_keys_of_subclass(c.t, c.function(), c.args);
  if (!is_fromkeys(c.function()))
    return is_fromkeys(c.function(), true) ? inherited_fromkeys(c.t, c.function(), c.args) : ValueRef();
  const CallArgs given = c.args;
  try {
    return call_fromkeys(c.t, c.args);
  } catch (const WrongArguments&) {
    refuse_arguments(c.t, c.function(), given);
  }
}

ValueRef call_caches(BuiltinCall& c) {
  return is_call_cache(c.function()) ? call_cached(c.t, c.callee, std::move(c.args)) : ValueRef();
}

ValueRef deferred_results(BuiltinCall& c) { return deferred_items(c.t, c.function(), c.args); }

ValueRef polyfilled_functions(BuiltinCall& c) {
  PyObject* row = library_row(c.function());
  return row ? call_library(c.t, c.function(), row, std::move(c.args)) : ValueRef();
}

ValueRef numpy_functions(BuiltinCall& c) { return call_numpy(c.t, c.function(), c.args); }

// Pure functions of constants are called for real; null: it is none.
ValueRef folded(BuiltinCall& c) {
  c.realize();
  const std::string module = attr_text(c.function(), "__module__"), name = attr_text(c.function(), "__name__");
  const bool pure = (is_pure_module(module) && !has_effects(name)) || is_pure_class_method(c.function()) ||
                    (c.t.config.trace_more && is_pure_function(module, name));
  if (!pure) return {};
  unwrap_plain_data(c.t, c.args);
  std::vector<PyRef> positional;
  PyRef kwargs;
  return all_known(c.t, c.args, positional, kwargs) ? fold(c.t, c.callee, positional, kwargs) : ValueRef();
}

// Of builtins without a rule of their own. A row answers, or gives null: the next one is asked.
using BuiltinKind = ValueRef (*)(BuiltinCall& c);
constexpr BuiltinKind kKinds[] = {call_caches,      descriptors,          dict_fromkeys,
                                  deferred_results, polyfilled_functions, numpy_functions};

}  // namespace

ValueRef call_builtin(Tracer& t, BuiltinValue& callee, CallArgs args) {
  BuiltinCall c{t, callee, std::move(args)};
  if (ValueRef r = call_constructor(t, callee, c.args)) return r;
  if (ValueRef r = call_on_numbers(t, c.function(), c.args)) return r;
  if (const BuiltinRow* row = find_builtin_rule(c.function())) {
    if (ValueRef r = by_rule(c, *row)) return r;
  } else {
    for (BuiltinKind kind : kKinds)
      if (ValueRef r = kind(c)) return r;
  }
  if (ValueRef r = folded(c)) return r;
  no_rule(t, callee, c.args);
}

ValueRef call_op_function(Tracer& t, const std::string& name, CallArgs args) {
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  if (overloads(name).empty()) {
    PyRef fn = checked(PyObject_GetAttrString(checked(import_module("minidynamo")).get(), name.c_str()));
    break_on_c_function(t, fn.get(), args);
  }
  return t.call_op(name, Spelling::Function, args);
}

void expect_at_most(Tracer& t, const char* name, const CallArgs& args, std::size_t most) {
  const std::size_t n = args.positional.size();
  if (n > most)
    t.raise(PyExc_TypeError, std::string(name) + " expected at most " + std::to_string(most) + " argument" +
                                 (most == 1 ? "" : "s") + ", got " + std::to_string(n));
}

void expect_args(Tracer& t, const char* name, const CallArgs& args, std::size_t least, std::size_t most) {
  const std::size_t n = args.positional.size();
  if (args.keywords.empty() && n >= least && n <= most) return;
  if (t.uncaught()) graph_break<GB0193>(std::string(name), print_list(args.positional), print_keywords(args));
  throw WrongArguments{};
}

}  // namespace md
