// Globals, attributes, imports.
#include <algorithm>
#include <iterator>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/opcodes/family.h"
#include "frontend/plan/plan.h"
#include "frontend/trace/polyfills.h"
#include "frontend/values/functions.h"
#include "frontend/values/hook_handles.h"
#include "frontend/values/let_go.h"
#include "frontend/values/module_breaks.h"
#include "frontend/values/objects.h"

namespace md {

static PyObject* name_of(const SymbolicFrame& f, int n) { return f.body->names[static_cast<std::size_t>(n)].get(); }

// The source of a name in a module's globals, as seen from the root frame.
static SourceRef global_source(Tracer& t, SymbolicFrame& f, PyObject* name) {
  if (f.own_globals) return t.recorder.sources.global(name);
  PyObject* module = find_item(f.globals.get(), "__name__");
  std::string printed = module ? text_of(module) : "?";
  for (std::size_t at = 0; (at = printed.find('.', at)) != std::string::npos;) printed.replace(at, 1, "_dot_");
  SourceRef dict = t.recorder.sources.constant(f.globals.get(), "G['__import_" + printed + "']");
  return t.recorder.sources.child(dict, SourceKind::DictItem, name);
}

static std::string stored_prefix(PyObject* globals) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(globals)) + ":";
}

static std::string stored_key(PyObject* globals, PyObject* name) { return stored_prefix(globals) + text_of(name); }

// A function over other globals may have builtins of its own.
static SourceRef builtin_source(Tracer& t, SymbolicFrame& f, PyObject* name) {
  if (f.builtins.get() == t.args.builtins) return t.recorder.sources.builtin(name);
  return t.recorder.sources.child(t.recorder.sources.constant(f.builtins.get(), "___builtins"), SourceKind::DictItem,
                                  name);
}

// Of code that polyfills a library's: nothing changes it, so nothing is guarded.
static ValueRef library_global(Tracer& t, SymbolicFrame& f, PyObject* name, PyObject* found) {
  if (!found) found = PyDict_GetItemWithError(f.builtins.get(), name);
  if (!found) throw InternalError("a polyfill uses the unknown name " + text_of(name));
  if (PyModule_Check(found)) return make_ref<ModuleValue>(PyRef::borrow(found));
  return t.from_object(found, nullptr);
}

OPCODE(LOAD_GLOBAL) {
  PyObject* name = name_of(f, i.a);
  if (ValueRef stored = t.stored_global(f.globals.get(), name)) return f.push(std::move(stored));
  if (!PyDict_CheckExact(f.globals.get()) || !PyDict_CheckExact(f.builtins.get()))
    unmodelled("global " + text_of(name), "globals or builtins that are no plain dictionary");
  PyObject* v = PyDict_GetItemWithError(f.globals.get(), name);
  if (f.is_library()) return f.push(library_global(t, f, name, v));
  if (v) {
    t.expect_present(global_source(t, f, name));
    return f.push(t.lazy(v, global_source(t, f, name)));
  }
  if (PyErr_Occurred()) throw PythonError{};
  t.guard(GuardKind::NotPresent, global_source(t, f, name));
  v = PyDict_GetItemWithError(f.builtins.get(), name);
  if (v) return f.push(t.lazy(v, builtin_source(t, f, name)));
  t.guard(GuardKind::NotPresent, builtin_source(t, f, name));
  t.raise(PyExc_NameError, "name '" + text_of(name) + "' is not defined");
}

OPCODE(STORE_GLOBAL) {
  ValueRef v = f.pop();
  PyObject* name = name_of(f, i.a);
  if (is_hook_handle(t, t.realize(v))) break_on_stored_handle(t, text_of(name));
  t.name_node(v, text_of(name));
  if (!f.own_globals && !t.graphs.outer.empty()) graph_break<GB0067>("the global " + text_of(name));
  if (!f.own_globals) return store_in_module(t, f.globals.get(), name, std::move(v));
  ValueRef& stored = t.effects.stored_globals[stored_key(f.globals.get(), name)];
  stored ? let_go(stored) : let_go_of_object(PyDict_GetItemWithError(f.globals.get(), name));
  stored = v;
  SideEffect e{EffectKind::GlobalSet, ValueRef()};
  e.name = PyRef::borrow(name);
  e.value = std::move(v);
  t.effects.record(std::move(e));
}

// By way of the module, if the trace has met that: an entry that held the dictionary would keep what a module leaves
// behind. Null: it has not.
static SourceRef place_of_globals(Tracer& t, PyObject* globals) {
  for (const PyRef& met : t.objects.keep_alive)
    if (PyModule_Check(met.get()) && PyModule_GetDict(met.get()) == globals)
      if (SourceRef module = t.objects.known.at(met.get())->source)
        return t.recorder.sources.child(module, SourceKind::Field, interned("__dict__").get());
  return nullptr;
}

// The dictionary is given to dict.__setitem__ as it is: what it holds was not looked at.
void store_in_module(Tracer& t, PyObject* globals, PyObject* name, ValueRef v) {
  if (t.objects.known.contains(globals))
    unmodelled("global " + text_of(name), "global that is read as an item as well");
  ValueRef& stored = t.effects.stored_globals[stored_key(globals, name)];
  if (!stored) let_go_of_object(PyDict_GetItemWithError(globals, name));
  stored = v;
  SideEffect e{EffectKind::Call, make_ref<OpaqueValue>(PyRef::borrow(globals))};
  e.target->source = place_of_globals(t, globals);
  e.value =
      make_ref<BuiltinValue>(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__setitem__")));
  e.items = {e.target, t.constant(name), std::move(v)};
  t.effects.record(std::move(e));
}

// --- the namespace of a class body
// ---------------------------------------------------------------------------------------------------

static DictValue& names_of(SymbolicFrame& f, const Instruction& i) {
  if (!f.names) no_handler(f, i);  // code of a module or of exec()
  return static_cast<DictValue&>(*f.names);
}

OPCODE(LOAD_NAME) {
  if (ValueRef v = names_of(f, i).find(t, t.constant(name_of(f, i.a)))) return f.push(std::move(v));
  trace_LOAD_GLOBAL(t, f, i);
}

OPCODE(STORE_NAME) {
  DictValue& names = names_of(f, i);
  ValueRef v = f.pop();
  t.name_node(v, text_of(name_of(f, i.a)));
  names.put(t, t.constant(name_of(f, i.a)), std::move(v));
}

OPCODE(DELETE_NAME) {
  if (!names_of(f, i).remove(t, t.constant(name_of(f, i.a))))
    t.raise(PyExc_NameError, "name '" + text_of(name_of(f, i.a)) + "' is not defined");
}

OPCODE(LOAD_LOCALS) {
  (void)names_of(f, i);
  f.push(f.names);
}

// In the namespace on the stack; null: it is not there.
static ValueRef found_below(Tracer& t, SymbolicFrame& f, const Instruction& i, PyObject* name) {
  ValueRef below = t.realize(f.pop());
  auto* names = as<DictValue>(below);
  if (!names) no_handler(f, i);
  return names->find(t, t.constant(name));
}

// A variable of the class hides one of the function around it.
OPCODE(LOAD_FROM_DICT_OR_DEREF) {
  PyObject* name = f.body->slot_names[static_cast<std::size_t>(i.a)].get();
  if (ValueRef v = found_below(t, f, i, name)) return f.push(std::move(v));
  opcode_handler(Opcode::LOAD_DEREF)(t, f, i);
}

OPCODE(LOAD_FROM_DICT_OR_GLOBALS) {
  if (ValueRef v = found_below(t, f, i, name_of(f, i.a))) return f.push(std::move(v));
  trace_LOAD_GLOBAL(t, f, i);
}

OPCODE(SETUP_ANNOTATIONS) {
  DictValue& names = names_of(f, i);
  ValueRef key = t.constant(checked(PyUnicode_InternFromString("__annotations__")));
  if (!names.find(t, key)) names.put(t, key, make_ref<DictValue>(&PyDict_Type));
}

// A method whose call breaks the graph: looking it up is plain, so that the frame is split at the call.
namespace {
struct ListedMethodValue final : Value {
  ListedMethodValue(GraphBreak why, ValueRef method)
      : Value(ValueKind::Opaque), why(std::move(why)), method(std::move(method)) {}
  std::string print() const override { return method->print(); }
  PyTypeObject* python_type() const override { return method->python_type(); }
  ValueRef call(Tracer&, CallArgs) override { throw why; }
  Reg rebuild(PlanBuilder& b) override { return b.rebuild(method); }
  GraphBreak why;
  ValueRef method;
};
}  // namespace

static void push_method(SymbolicFrame& f, ValueRef v) {
  if (kNullBelowCallable) f.push(null_value());
  f.push(std::move(v));
  if (!kNullBelowCallable) f.push(null_value());
}

// What C code of `object` does with any instance; making, initialising and storing have rules of their own.
static bool is_native_of_object(const ValueRef& method, PyObject* name) {
  const auto* m = as<MethodValue>(method);
  PyObject* const function = m ? m->function->real.get() : nullptr;
  if (!function || function != own_attribute(&PyBaseObject_Type, name)) return false;
  static constexpr std::string_view kRuled[] = {"__init__",    "__new__",          "__setattr__",
                                                "__delattr__", "__getattribute__", "__init_subclass__"};
  return std::ranges::find(kRuled, text_of(name)) == std::end(kRuled);
}

// What the registry lists among method calls although it could be traced.
static void break_if_listed(Tracer& t, const ValueRef& owner, PyObject* name, const ValueRef& method) {
  if (t.config.trace_more) return;
  if (owner->kind == ValueKind::Super) {
    const ValueKind kind = t.realize(method)->kind;
    const bool data = kind == ValueKind::Object || kind == ValueKind::Partial || kind == ValueKind::Class ||
                      kind == ValueKind::Constant || kind == ValueKind::Opaque || kind == ValueKind::Marked ||
                      kind == ValueKind::Polyfilled ||
                      (kind == ValueKind::Builtin && PyType_Check(t.realize(method)->real.get()));
    if (data || is_native_of_object(t.realize(method), name)) listed_break<GB0006>(owner->print(), text_of(name));
  }
  if (auto* cls = as<ClassValue>(owner); cls && is_library_class(cls->type(), LibraryClass::AutogradFunction)) {
    PyObject* found = type_find(cls->type(), name);
    const bool of_object = found && (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type);
    if (of_object || (found && PyFunction_Check(found) && text_of(name) != "backward"))
      listed_break<GB0140>(owner->print(), text_of(name));
    if (!found && method->kind != ValueKind::Function && type_find(Py_TYPE(owner->real.get()), name))
      listed_break<GB0140>(owner->print(), text_of(name));
  }
  break_on_listed_method(t, owner, name);
}

static ValueRef unless_listed(Tracer& t, const ValueRef& owner, PyObject* name, ValueRef method) {
  try {
    break_if_listed(t, owner, name, method);
  } catch (GraphBreak& b) {
    return make_ref<ListedMethodValue>(std::move(b), std::move(method));
  }
  return method;
}

OPCODE(LOAD_ATTR) {
  ValueRef owner = t.realize(f.pop()), v = owner->get_attr(t, name_of(f, i.a));
  if (!i.b) return f.push(std::move(v));
  push_method(f, unless_listed(t, owner, name_of(f, i.a), std::move(v)));
}

OPCODE(LOAD_SUPER_ATTR) {
  ValueRef self = t.realize(f.pop()), cls = t.realize(f.pop());
  f.pop();  // the global `super`
  PyRef start = class_object(cls);
  if (!start || !PyType_Check(start.get())) graph_break<GB0113>(text_of(name_of(f, i.a)), cls->print());
  auto super = make_ref<SuperValue>(reinterpret_cast<PyTypeObject*>(start.get()), self);
  ValueRef v = super->get_attr(t, name_of(f, i.a));
  if (!(i.b & 1)) return f.push(std::move(v));
  push_method(f, unless_listed(t, super, name_of(f, i.a), std::move(v)));
}

OPCODE(STORE_ATTR) {
  ValueRef target = t.realize(f.pop()), v = f.pop();
  target->set_attr(t, name_of(f, i.a), v);
}

OPCODE(DELETE_ATTR) { t.realize(f.pop())->set_attr(t, name_of(f, i.a), {}); }

// What a relative import means in the module of `globals`; null: nothing, as in a module that is in no package.
static PyRef absolute_name(PyObject* globals, PyObject* name, std::int64_t level) {
  PyObject* const package = find_item(globals, "__package__");  // borrowed
  if (!package || !PyUnicode_Check(package) || PyUnicode_GET_LENGTH(package) == 0) return {};
  const PyRef bootstrap = checked(import_module("importlib._bootstrap"));
  PyRef full = PyRef::steal(
      PyObject_CallMethod(bootstrap.get(), "_resolve_name", "OOL", name, package, static_cast<long long>(level)));
  clear_answer();  // it is above all packages
  return full;
}

// Importing one has no effect but that it is there, apart from two jokes.
static bool is_of_standard_library(PyObject* name) {
  const std::string full = text_of(name), top = full.substr(0, full.find('.'));
  PyObject* const names = PySys_GetObject("stdlib_module_names");  // borrowed
  if (!names || top == "this" || top == "antigravity") return false;
  return checked(PySequence_Contains(names, checked(PyUnicode_FromString(top.c_str())).get()));
}

static bool module_exists(PyObject* name) {
  PyObject* const loaded = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (!loaded && PyErr_Occurred()) throw PythonError{};
  if (loaded) return loaded != Py_None;  // None forbids the import
  PyRef util = checked(import_module("importlib.util"));
  PyRef spec = PyRef::steal(PyObject_CallMethod(util.get(), "find_spec", "O", name));
  clear_answer();
  return spec && spec.get() != Py_None;
}

// Only modules already loaded: importing for real has effects of its own.
OPCODE(IMPORT_NAME) {
  PyRef fromlist = t.realize(f.pop())->as_constant();
  std::int64_t level = 0;
  const bool plain = constant_int(t.realize(f.pop()), level) && fromlist;
  const PyRef full =
      level > 0 ? absolute_name(f.globals.get(), name_of(f, i.a), level) : PyRef::borrow(name_of(f, i.a));
  if (plain && (!full || !module_exists(full.get())))
    graph_break<GB0069>(text_of(name_of(f, i.a)), repr_of(fromlist.get()), std::to_string(level));
  PyObject* const name = full.get();
  if (plain && is_of_standard_library(name)) (void)PyRef::steal(import_module(text_of(name).c_str())), clear_answer();
  if (!plain || !checked(PyDict_Contains(PyImport_GetModuleDict(), name)))
    unmodelled("import " + text_of(name_of(f, i.a)), "import of a module that is not loaded");
  // What sys.modules holds may be replaced.
  PyObject* const modules = PyImport_GetModuleDict();
  SourceRef loaded = t.recorder.sources.constant(modules, "sys.modules");
  SourceRef named = t.recorder.sources.child(loaded, SourceKind::DictItem, name);
  (void)t.from_object(PyDict_GetItemWithError(modules, name), named);
  PyRef m = PyRef::steal(PyImport_ImportModuleLevelObject(name, f.globals.get(), nullptr, fromlist.get(), 0));
  if (!m) t.raise_current();
  if (!PyModule_Check(m.get())) graph_break<GB0022>(repr_of(m.get()));
  // Without names to take from it, it is the package of a dotted name that is bound.
  SourceRef place = named;
  if (PyDict_GetItemWithError(modules, name) != m.get()) {
    PyRef parts = checked(PyObject_CallMethod(name, "partition", "s", "."));
    PyObject* const first = PyTuple_GET_ITEM(parts.get(), 0);
    const bool held = PyDict_GetItemWithError(modules, first) == m.get();
    place = held ? t.recorder.sources.child(loaded, SourceKind::DictItem, first) : nullptr;
  }
  f.push(t.from_object(m.get(), place));
}

OPCODE(IMPORT_FROM) { f.push(t.realize(f.top())->get_attr(t, name_of(f, i.a))); }

ValueRef Tracer::stored_global(PyObject* globals, PyObject* name) const {
  auto stored = effects.stored_globals.find(stored_key(globals, name));
  if (stored != effects.stored_globals.end()) return stored->second;
  if (text_of(name) != "__dict__") return {};
  const std::string prefix = stored_prefix(globals);
  for (const auto& [key, value] : effects.stored_globals)
    if (key.starts_with(prefix))
      unmodelled("__dict__", "the namespace of a module or class that the function has stored to");
  return {};
}

}  // namespace md
