// Which Python functions are entered, and how calls of the others break.
#include <algorithm>
#include <iterator>

#include "frontend/cpython/library_classes.h"
#include "frontend/entries/frame_notes.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/caller_frames.h"
#include "frontend/values/constant.h"
#include "frontend/values/functions.h"
#include "frontend/values/inlining.h"
#include "frontend/values/marks.h"
#include "frontend/values/module_breaks.h"
#include "frontend/values/objects.h"
#include "frontend/values/process_questions.h"
#include "frontend/values/skipped_methods.h"
#include "frontend/values/tensor_functions.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

// TestCase.assertWarns and assertWarnsRegex look at warnings that traced code does not issue.
static bool watches_warnings(std::string_view module, std::string_view qualname) {
  return module == "unittest.case" && qualname.starts_with("TestCase.assertWarns");
}
static bool watches_warnings(const FunctionValue& f) {
  return watches_warnings(f.module_name(), text_of(f.qualname.get()));
}

namespace {

// Library modules whose functions are called as they are, and why. What is said of a module holds for those below it.
struct ClosedModule {
  const char *name, *reason;
};
constexpr const char* kNoReason = "<missing reason>";  // as the reference prints it: nobody noted one
constexpr ClosedModule kClosed[] = {
    {"minidynamo", kNoReason},
    {"random", "it draws from a random generator of Python's"},
    {"copy", "how objects are copied is up to them"},
    {"threading", "it deals with threads"},
    {"logging", "it hands records to the program's handlers"},
    {"warnings", "it keeps what was warned of"},
    {"traceback", "it looks at frames"},
    {"linecache", "it reads source files"},
    {"inspect", "it looks at frames and source files"},
    {"numpy", "NumPy itself runs it"},
    {"pdb", "it is a debugger"},
    {"subprocess", "it starts processes"},
    {"multiprocessing", "it starts processes"},
    {"pickle", "it calls what is named in the data"},
};
constexpr const char* kOpenBelow[] = {
    "minidynamo.polyfills",   "minidynamo.nn",          "minidynamo.distributions", "minidynamo.optim",
    "minidynamo.linalg",      "minidynamo.utils.tree_", "minidynamo.masked",        "minidynamo._higher_order_ops",
    "minidynamo._transforms", "minidynamo.amp.",        "minidynamo.cpu.amp",       "minidynamo.ao.",
    "minidynamo._decomp",     "minidynamo.backends",    "minidynamo.cuda",          "minidynamo.xpu"};
constexpr const char* kOpen[] = {"minidynamo.functional",
                                 "minidynamo._arguments",
                                 "minidynamo._limits",
                                 "minidynamo._symbolic_numbers",
                                 "minidynamo._checks",
                                 "minidynamo._dynamo.config_patches",
                                 "minidynamo.autograd.function",
                                 "minidynamo._determinism",
                                 "minidynamo.cuda",
                                 "minidynamo.onnx",
                                 "minidynamo.processor_settings",
                                 "minidynamo.autograd.in_mode",
                                 "minidynamo.autograd.forward_ad",
                                 "minidynamo._tensor_methods",
                                 "minidynamo.foreach_functions",
                                 "minidynamo._aten.implementations",
                                 "minidynamo._aten.losses",
                                 "minidynamo._aten.backward_operators",
                                 "minidynamo._aten.further_operators",
                                 "minidynamo.scatter_functions",
                                 "minidynamo.numerical_functions",
                                 "minidynamo.shape_functions",
                                 "minidynamo.layer_functions",
                                 "minidynamo.copied_views",
                                 "minidynamo.histograms",
                                 "minidynamo.mtia",
                                 "minidynamo.mps",
                                 "minidynamo.accelerator",
                                 "minidynamo._device_modules",
                                 "minidynamo.real_tensors",
                                 "minidynamo.fft",
                                 "minidynamo.spectrograms",
                                 "minidynamo.signal_windows",
                                 "minidynamo.jit",
                                 "minidynamo.utils._pytree",
                                 "minidynamo.autograd.profiler",
                                 "minidynamo.func",
                                 "minidynamo.special",
                                 "minidynamo.fake_quantization",
                                 "minidynamo.fx.experimental.symbolic_shapes",
                                 "minidynamo.signal_windows",
                                 "minidynamo._tensor_types",
                                 "minidynamo._layout_methods",
                                 "minidynamo.distributed._setup",
                                 "minidynamo.distributed._group",
                                 "minidynamo.distributed._collectives",
                                 "minidynamo.streams",
                                 "minidynamo.overrides",
                                 "minidynamo.utils._python_dispatch",
                                 "minidynamo.cuda",
                                 "minidynamo.xpu",
                                 "minidynamo.mps",
                                 "minidynamo.backends.mps",
                                 "minidynamo._aten.composites",
                                 "minidynamo._aten.implementations",
                                 "minidynamo._aten.losses",
                                 "minidynamo._tensors_of_parts",
                                 "minidynamo.nested.jagged",
                                 "minidynamo.nested.members"};

const ClosedModule* closed_module(std::string_view module) {
  const auto below = [&](std::string_view of) {
    return module.starts_with(of) && (module.size() == of.size() || module[of.size()] == '.');
  };
  if (std::ranges::any_of(kOpenBelow, [&](const char* open) { return module.starts_with(open); })) return nullptr;
  if (std::ranges::find(kOpen, module) != std::end(kOpen)) return nullptr;
  const auto found = std::ranges::find_if(kClosed, [&](const ClosedModule& c) { return below(c.name); });
  return found == std::end(kClosed) ? nullptr : found;
}

std::string reason_of_function(const std::string& module, const std::string& qualname) {
  if (watches_warnings(module, qualname)) return "it looks at warnings, which traced code does not issue";
  const ClosedModule* closed = closed_module(module);
  return closed ? closed->reason : kNoReason;
}

// The module of the class that a method in C belongs to, bound or not.
std::string owner_module(PyObject* method) {
  for (const char* name : {"__objclass__", "__self__"}) {
    PyRef owner = PyRef::steal(PyObject_GetAttrString(method, name));
    clear_answer();
    if (!owner || owner.get() == Py_None) continue;
    if (!PyType_Check(owner.get())) owner = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(owner.get())));
    const PyRef module = PyRef::steal(PyObject_GetAttrString(owner.get(), "__module__"));
    clear_answer();
    if (module && PyUnicode_Check(module.get())) return text_of(module.get());
  }
  return "";
}

// Others of that module only note that the filters have changed.
bool issues_warning(const std::string& module, const std::string& qualname) {
  return module == "_warnings" && qualname.starts_with("warn");
}

// Why a function written in C is not called while tracing.
const char* reason_of_builtin(const std::string& module, const std::string& qualname) {
  if (issues_warning(module, qualname)) return "it issues a warning";
  PyObject* library = PySys_GetObject("stdlib_module_names");
  const PyRef top = checked(PyUnicode_FromString(module.substr(0, module.find('.')).c_str()));
  const int known = library ? PySequence_Contains(library, top.get()) : 0;
  if (known < 0) throw PythonError{};
  return known ? "Python's library implements it in C" : kNoReason;
}

}  // namespace

// What inspect tells of a function's parameters and of kinds of objects, without a look at frames or source files.
static bool asks_signature(const FunctionValue& f) {
  if (std::string_view(f.module_name()) != "inspect") return false;
  const std::string name = text_of(f.qualname.get());
  static constexpr std::string_view kBegins[] = {"signature",       "_signature_",     "Signature.",     "Parameter.",
                                                 "BoundArguments.", "_ParameterKind.", "_has_code_flag", "is",
                                                 "getmro"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
}

bool may_inline(const FunctionValue& f) {
  if (f.real && has_attribute(f.real.get(), "_torchdynamo_disable")) return false;
  if (f.real && is_dont_skip(f.real.get())) return true;
  return (!closed_module(f.module_name()) || asks_signature(f)) && !watches_warnings(f);
}

void break_on_skipped(Tracer& t, PyObject* o) {
  auto attr = [&](const char* name) -> std::string {
    PyRef v = PyRef::steal(PyObject_GetAttrString(o, name));
    if (!v || v.get() == Py_None) {
      clear_answer();
      return "";
    }
    return text_of(v.get());
  };
  std::string module = attr("__module__"), qualname = attr("__qualname__");
  if (qualname.empty()) qualname = attr("__name__");
  if (PyFunction_Check(o)) {
    const std::string file = text_of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o))->co_filename);
    GraphBreak b = make_break<GB0007>(module, qualname, reason_of_function(module, qualname), file);
    b.looks_at_frame = looks_at_frames(PyFunction_GET_CODE(o));
    throw b;
  }
  // A function that sets a trace function is not split: the parts would be frames that it sees.
  const bool observes = (module == "sys" && (qualname == "settrace" || qualname == "setprofile")) ||
                        (module == "sys.monitoring" && (qualname == "set_events" || qualname == "set_local_events"));
  if (observes && !t.config.fullgraph) throw SkipFrame{"it calls " + module + "." + qualname};
  const std::string owner = module.empty() ? owner_module(o) : module, reason = reason_of_builtin(owner, qualname);
  const bool nameless = module.empty() && (owner.empty() || owner == "builtins");
  const std::string full_name = nameless ? qualname : owner + "." + qualname;
  if (module.empty()) module = "<unknown module>";  // as the reference prints it
  if (issues_warning(module, qualname)) graph_break<GB0007_warning>(module, qualname, reason);
  graph_break<GB0007_builtin>(module, qualname, reason, full_name);
}

// compiler.disable() marks the wrapper it makes (recursive) or the function itself.
// The module disable(module) gave, of whose call this is the function; null if it is another function.
static const Source* disabled_module(const FunctionValue& f) {
  if (!has_attribute(f.real.get(), "_torchdynamo_disabled_module")) return nullptr;
  const Source* s = f.source;
  while (s && !s->is_module) s = s->base;
  return s;
}

static void break_if_disabled(const FunctionValue& f, bool as_method) {
  if (!f.real || !has_attribute(f.real.get(), "_torchdynamo_disable")) return;
  PyRef reason = PyRef::steal(PyObject_GetAttrString(f.real.get(), "_torchdynamo_disable_msg"));
  clear_answer();
  const std::string why = reason && reason.get() != Py_None ? text_of(reason.get()) : "none was given";
  if (const Source* module = disabled_module(f))
    graph_break<GB0148>(module->name, "It is a module that compiler.disable() gave; its reason: " + why + ".");
  if (!as_method && has_attribute(f.real.get(), "_torchdynamo_orig_callable"))
    graph_break<GB0098>(repr_of(f.real.get()), why);
  graph_break<GB0099>(repr_of(f.real.get()), why);
}
void break_if_disabled(const FunctionValue& f) { break_if_disabled(f, false); }

// Of these modules only what is borrowed breaks: where they are called as their own names say, they are traced.
static bool is_borrowed(const FunctionValue& f) {
  const std::string_view module = f.module_name();
  bool closed = false;
  for (const char* name : {"re", "importlib", "unittest"})
    closed |= module == name || module.starts_with(std::string(name) + ".");
  return closed && text_of(f.qualname.get()).find('.') == std::string::npos;
}

[[noreturn]] static void refuse_method(const FunctionValue& f) {
  const std::string module(f.module_name()), name = text_of(f.qualname.get());
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f.real.get()));
  GraphBreak b = make_break<GB0008>(module + "." + name, text_of(code->co_name), text_of(code->co_filename),
                                    reason_of_function(module, name));
  b.looks_at_frame = looks_at_frames(f.code.get());
  throw b;
}

void break_on_skipped_method(Tracer& t, const FunctionValue& f) {
  const std::string_view module = f.module_name();
  if (f.real && has_attribute(f.real.get(), "_torchdynamo_disable")) break_if_disabled(f, true);
  if (!f.real || module == "minidynamo" || module.starts_with("minidynamo.")) return;
  if (is_dont_skip(f.real.get())) return;
  if (!is_borrowed(f) && may_inline(t, f)) return;
  if (watches_warnings(f)) return;  // has its own code
  refuse_method(f);
}

// The functions of module random are methods of an object nobody sees.
static bool was_reached_by_class(const FunctionValue& f, const CallArgs& args) {
  if (args.positional.empty() || !PyFunction_Check(f.real.get()) || std::string_view(f.module_name()) == "random")
    return false;
  const std::string qualname = text_of(f.qualname.get());
  return qualname.find('.') != std::string::npos && qualname.find("<locals>") == std::string::npos;
}

void break_on_skipped(Tracer& t, const FunctionValue& f, const CallArgs& args) {
  if (was_reached_by_class(f, args)) refuse_method(f);
  break_on_skipped(t, f.real.get());
}

// An ordinary method rebinds a variable around its class, and the object it is called on is of this trace. The function
// has no source then, and neither have its cells.
static bool writes_unknown_cell(const FunctionValue& f, const CallArgs& args) {
  if (!f.real || f.closure.empty() || args.positional.empty()) return false;
  const ValueRef first = args.positional[0];
  // What nobody has looked at yet comes from outside.
  auto* const self = as<ObjectValue>(first);
  if (!self || self->source || self->real) return false;
  PyObject* const name = reinterpret_cast<PyCodeObject*>(f.code.get())->co_name;
  PyObject* const found = type_find(self->type, name);
  if (!found || (found != f.real.get() && Py_TYPE(found) != &PyProperty_Type)) return false;
  const auto body = decoded_body(reinterpret_cast<PyCodeObject*>(f.code.get()));
  return std::ranges::any_of(body->instructions, [&](const Instruction& i) {
    return (i.op == Opcode::STORE_DEREF || i.op == Opcode::DELETE_DEREF) &&
           (body->slot_kinds[static_cast<std::size_t>(i.a)] & kSlotFree);
  });
}

// The class that a function was read off as a plain one: Class.function, called later.
static const ClassValue* class_read(Tracer& t, const FunctionValue& f) {
  if (!f.source || f.source->kind != SourceKind::Attr || !f.source->base) return nullptr;
  if (text_of(f.qualname.get()).find('.') == std::string::npos) return nullptr;
  for (const PyRef& o : t.objects.keep_alive) {
    const ValueRef& v = t.objects.known.at(o.get());
    if (v->source == f.source->base) return as<ClassValue>(v);
  }
  return nullptr;
}

// What the registry lists among calls of Python functions although their code could be traced.
static void break_if_listed(Tracer& t, const FunctionValue& f, const CallArgs& args) {
  PyObject* own =
      f.real && PyFunction_Check(f.real.get()) ? reinterpret_cast<PyFunctionObject*>(f.real.get())->func_dict : nullptr;
  if (PyObject* self = own ? find_item(own, "__self__") : nullptr; self && self != Py_None)
    listed_break<GB0071>(f.print());
  const ClassValue* const of = class_read(t, f);
  if (of && is_library_class(of->type(), LibraryClass::AutogradFunction) && !is_in_library(t))
    listed_break<GB0140>(of->print(), text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name));
  const ValueRef* by_name = nullptr;  // what is given for the first parameter
  if (args.positional.empty()) {
    if (args.keywords.empty()) return;
    const auto body = decoded_body(reinterpret_cast<PyCodeObject*>(f.code.get()));
    for (const auto& [key, value] : args.keywords)
      if (body->argcount > 0 && body->slot(text_of(key.get()).c_str()) == 0) by_name = &value;
    if (!by_name) return;
  }
  const std::string name = text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name);
  auto first = [&] { return t.realize(args.positional.empty() ? *by_name : args.positional[0]); };
  if (writes_unknown_cell(f, args)) listed_break<GB0169>(std::string("CellVariable()"), std::string("a new value"));
  if (name == "__setitem__" || name == "__setattr__" || name == "__delitem__" || name == "__delattr__") {
    const ValueRef on = first();
    if ((on->kind != ValueKind::Object || tensor_instance(on)) && on->kind != ValueKind::Class)
      listed_break<GB0131>(name, print_list(args.positional));
  } else if (name == "fields" && std::string_view(f.module_name()) == "dataclasses") {
    const std::string given = first()->print();
    if (first()->kind != ValueKind::Object) listed_break<GB0180>(given, given.substr(0, given.find('(')));
  } else if (name == "__init__") {
    const std::string place = f.module_name() + ("." + text_of(f.qualname.get()));
    if (place == "minidynamo.nn.module.Module.__init__" && (first()->source || args.size() > 1))
      listed_break<GB0162>(first()->print(), print_list({args.positional.begin() + 1, args.positional.end()}),
                           print_keywords(args));
    if (place != "contextlib._GeneratorContextManagerBase.__init__" || args.positional.size() < 2) return;
    auto* manager = as<FunctionValue>(t.realize(args.positional[1]));
    const int flags = manager ? reinterpret_cast<PyCodeObject*>(manager->code.get())->co_flags : CO_GENERATOR;
    if (!(flags & (CO_GENERATOR | CO_ASYNC_GENERATOR))) listed_break<GB0221>(manager->print());
  }
}

// A collective that is to go on behind the call, and methods of events that are about times.
static void break_on_listed_device_call(Tracer& t, const FunctionValue& f, const CallArgs& args) {
  const std::string_view module = f.module_name();
  const std::string name = text_of(f.qualname.get());
  if (module == "minidynamo.autograd.function" && name.starts_with("_ImperativeEngine.") &&
      !name.ends_with(".queue_callback") && !args.positional.empty())
    listed_break<GB0165>(t.realize(args.positional[0])->print(), name.substr(name.find('.') + 1));
  if (module == "minidynamo.streams" && name.starts_with("Event.") && !name.ends_with("__init__")) {
    const std::string method = name.substr(name.find('.') + 1);
    for (const char* known : {"wait", "record", "synchronize", "query"})
      if (method == known) return;
    listed_break<GB0146>(method);
  }
  if (!module.starts_with("minidynamo.distributed")) return;
  const auto is_on = [&](const ValueRef& raw) {
    const PyRef c = t.realize(raw)->as_constant();
    return c && PyObject_IsTrue(c.get()) == 1;
  };
  bool waits = true;
  for (const auto& [key, value] : args.keywords)
    if (text_of(key.get()) == "async_op" && is_on(value)) waits = false;
  const auto body = decoded_body(reinterpret_cast<PyCodeObject*>(f.code.get()));
  const int at = body->slot("async_op");
  if (at >= 0 && at < body->argcount && static_cast<std::size_t>(at) < args.positional.size())
    waits &= !is_on(args.positional[static_cast<std::size_t>(at)]);
  if (!waits) listed_break<GB0172>(f.print(), print_list(args.positional), print_keywords(args));
}

void break_on_watched_warnings(PyObject* method) {
  if (!PyFunction_Check(method)) return;
  const PyRef module = checked(PyObject_GetAttrString(method, "__module__"));
  const PyRef name = checked(PyObject_GetAttrString(method, "__qualname__"));
  if (!PyUnicode_Check(module.get()) || !watches_warnings(text_of(module.get()), text_of(name.get()))) return;
  graph_break<GB0060>(text_of(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(method))->co_name));
}

void break_if_known(Tracer& t, const FunctionValue& f, const CallArgs& args) {
  break_on_process_question(t, f);
  if (!t.config.trace_more) break_on_listed_device_call(t, f, args);
  if (!t.config.trace_more && !in_polyfills(f.globals.get())) break_if_listed(t, f, args);
  if (t.config.enable_trace_unittest && watches_warnings(f))
    graph_break<GB0060>(text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name));
  break_on_listed_module_call(t, f.module_name(), text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name),
                              args);
  break_on_listed_group(t, f.module_name(), text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name), args);
  if (std::string_view(f.module_name()) != "inspect" || text_of(f.qualname.get()) != "signature") return;
  const ValueRef of = args.positional.empty() ? ValueRef() : t.realize(args[0]);
  if (of && of->kind != ValueKind::Function && of->kind != ValueKind::Method) graph_break<GB0151>(of->print());
}

}  // namespace md
