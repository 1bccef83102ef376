// The Python face of guards: parses sources and guards from tuples and runs what is compiled from them.
#include "frontend/guards/init.h"

#include <array>
#include <cstring>

#include "frontend/guards/arguments.h"
#include "frontend/guards/guards_object.h"
#include "frontend/guards/kinds.h"
#include "frontend/guards/text.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_object.h"

namespace md {
namespace {

// A source spec is a nested tuple: ("local", slot, name) ("free", slot, name) ("global", name) ("builtin", name)
// ("constant", object, printed), or (kind, base spec, key or index or None).
struct ChildKind {
  const char* name;
  SourceKind kind;
  bool indexed;
};
constexpr ChildKind kChildKinds[] = {
    {"cell_contents", SourceKind::CellContents, false},
    {"module_global", SourceKind::ModuleGlobal, false},
    {"attr", SourceKind::Attr, false},
    {"instance_dict", SourceKind::InstanceDict, false},
    {"type_of", SourceKind::TypeOf, false},
    {"type_attr", SourceKind::TypeAttr, false},
    {"class_attr", SourceKind::ClassAttr, false},
    {"field", SourceKind::Field, false},
    {"item", SourceKind::ListItem, true},
    {"dict_item", SourceKind::DictItem, false},
    {"dict_key", SourceKind::DictKey, true},
    {"code", SourceKind::FuncCode, false},
    {"default", SourceKind::FuncDefault, true},
    {"kwdefault", SourceKind::FuncKwDefault, false},
    {"closure", SourceKind::FuncClosure, true},
    {"method_self", SourceKind::MethodSelf, false},
    {"method_func", SourceKind::MethodFunc, false},
    {"partial_func", SourceKind::PartialFunc, false},
    {"partial_args", SourceKind::PartialArgs, false},
    {"partial_keywords", SourceKind::PartialKeywords, false},
    {"range_field", SourceKind::RangeField, false},
    {"tensor_attr", SourceKind::TensorAttr, false},
};

[[noreturn]] void bad_spec(const char* what) {
  PyErr_Format(PyExc_ValueError, "guards: %s", what);
  throw PythonError{};
}

const char* text(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonError{};
  return s;
}

PyObject* part(PyObject* spec, Py_ssize_t i) {
  if (!PyTuple_Check(spec) || i >= PyTuple_GET_SIZE(spec)) bad_spec("a source is a tuple such as ('local', 0, 'x')");
  return PyTuple_GET_ITEM(spec, i);
}

int index_of(PyObject* o) {
  const long i = PyLong_AsLong(o);
  if (i == -1 && PyErr_Occurred()) throw PythonError{};
  return static_cast<int>(i);
}

SourceRef parse_source(SourceTable& table, PyObject* spec) {
  const std::string_view kind = text(part(spec, 0));
  if (kind == "local") return table.local(index_of(part(spec, 1)), text(part(spec, 2)));
  if (kind == "free") return table.free_cell(index_of(part(spec, 1)), text(part(spec, 2)));
  if (kind == "global") return table.global(part(spec, 1));
  if (kind == "builtin") return table.builtin(part(spec, 1));
  if (kind == "constant") return table.constant(part(spec, 1), text(part(spec, 2)));
  for (const ChildKind& k : kChildKinds) {
    if (kind != k.name) continue;
    SourceRef base = parse_source(table, part(spec, 1));
    const bool keyed = PyTuple_GET_SIZE(spec) > 2;
    if (k.indexed) return table.child(base, k.kind, nullptr, index_of(part(spec, 2)));
    return table.child(base, k.kind, keyed ? part(spec, 2) : nullptr);
  }
  bad_spec("unknown source kind");
}

GuardKind parse_kind(PyObject* name) {
  const std::string_view wanted = text(name);
#define MD_GUARD(k) \
  if (wanted == #k) return GuardKind::k;
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
  bad_spec("unknown guard kind");
}

TensorType type_of_tensor(PyObject* o) {
  if (!is_tensor(o)) bad_spec("TensorMatch takes a tensor as payload");
  const TensorImpl& t = *tensor_impl(o);
  TensorType type;
  type.dtype = t.dtype;
  for (std::int64_t s : t.sizes) type.sizes.push_back(Size(s));
  for (std::int64_t s : t.strides) type.strides.push_back(Size(s));
  type.device = t.device();
  type.requires_grad = t.requires_grad;
  type.history = t.history;
  type.wrapped_number = t.wrapped_number;
  return type;
}

// (source or None, kind, payload, where or None): payload by kind; for relations a list of sources or (sources, pairs).
Guard parse_guard(SourceTable& table, PyObject* spec) {
  Guard g{parse_kind(part(spec, 1))};
  if (part(spec, 0) != Py_None) g.source = parse_source(table, part(spec, 0));
  PyObject* payload = part(spec, 2);
  if (g.kind == GuardKind::TensorMatch) {
    g.tensor = type_of_tensor(payload);
    if (!is_tensor_exact(payload)) g.object = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(payload)));
  } else if (g.kind == GuardKind::ArrayMatch) {
    PyRef over = array_tensor(payload);
    if (!over) bad_spec("ArrayMatch takes an array or a NumPy scalar as payload");
    g.tensor = type_of_tensor(over.get());
    g.object = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(payload)));
    g.value = ArrayView(payload).writeable();
  } else if (g.kind == GuardKind::Aliasing) {
    g.other = parse_source(table, payload);
  } else if (g.kind == GuardKind::NoAliasing) {
    PyObject* others = part(payload, 0);
    for (Py_ssize_t i = 0; i < PyTuple_Size(others); ++i) g.others.push_back(parse_source(table, part(others, i)));
    if (part(payload, 1) != Py_None) g.object = PyRef::borrow(part(payload, 1));
  } else if (g.kind == GuardKind::Distinct) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(payload); ++i) g.others.push_back(parse_source(table, part(payload, i)));
  } else if (g.kind == GuardKind::LengthCheck || g.kind == GuardKind::DictLength || g.kind == GuardKind::DequeMaxlen ||
             g.kind == GuardKind::AbcToken) {
    g.value = index_of(payload);
  } else {
    g.object = PyRef::borrow(payload);
  }
  if (g.kind == GuardKind::DictContains || g.kind == GuardKind::DictNotContains) {
    g.value = PyTuple_GET_SIZE(spec) > 4 && PyObject_IsTrue(part(spec, 4)) == 1;
  }
  if (PyTuple_GET_SIZE(spec) > 3 && part(spec, 3) != Py_None) {
    PyObject* w = part(spec, 3);
    g.where = {text(part(w, 0)), text(part(w, 2)), text(part(w, 3)), index_of(part(w, 1))};
  }
  return g;
}

struct GuardsObject {
  PyObject_HEAD
  std::shared_ptr<const CompiledGuards> guards;
};

const CompiledGuards& guards_of(PyObject* self) { return *reinterpret_cast<GuardsObject*>(self)->guards; }

PyObject* guards_check(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  ParsedArgs a;
  if (!parse_frame_args(args, n, a)) return nullptr;
  return PyBool_FromLong(check(guards_of(self), a.frame));
}

PyObject* guards_load(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  ParsedArgs a;
  if (!parse_frame_args(args, n, a)) return nullptr;
  const CompiledGuards& p = guards_of(self);
  std::vector<PyObject*> values(p.wanted.size());
  if (!check_and_load(p, a.frame, values.data())) Py_RETURN_NONE;
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (std::size_t i = 0; out && i < values.size(); ++i) {
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), Py_NewRef(values[i]));
  }
  return out;
}

PyObject* guards_explain(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    ParsedArgs a;
    if (!parse_frame_args(args, n, a)) return nullptr;
    return PyUnicode_FromString(explain_failure(guards_of(self), a.frame, true).c_str());
  });
}

PyObject* guards_tree(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(tree_text(guards_of(self)).c_str()); });
}

PyObject* guards_dead(PyObject* self, PyObject*) { return PyBool_FromLong(is_dead(guards_of(self))); }

PyObject* guards_memoized(PyObject* self, PyObject*) {
  const CompiledGuards& p = guards_of(self);
  return PyLong_FromSize_t(p.memo.any() ? p.ops.size() - p.memo.live().size() : 0);
}

PyObject* guards_rows(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef out = checked(PyList_New(0));
    for (const GuardRow& row : guard_rows(guards_of(self))) {
      PyRef code = checked(PyList_New(0));
      for (const std::string& c : row.code)
        checked(PyList_Append(code.get(), checked(PyUnicode_FromString(c.c_str())).get()));
      const PyRef item =
          checked(Py_BuildValue("sssO", row.name.c_str(), row.source.c_str(), row.create_fn.c_str(), code.get()));
      checked(PyList_Append(out.get(), item.get()));
    }
    return out.release();
  });
}

// Rounds of check() on the same arguments, for measuring and counting instructions.
PyObject* guards_repeat(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  ParsedArgs a;
  if (n != 4 || !parse_frame_args(args, 3, a)) return nullptr;
  long passed = 0;
  for (long i = PyLong_AsLong(args[3]); i > 0; --i) {
    passed += check(guards_of(self), a.frame);
    asm volatile("" ::: "memory");
  }
  return PyLong_FromLong(passed);
}

int guards_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return visit_held(guards_of(self), visit, arg);
}

void guards_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  reinterpret_cast<GuardsObject*>(self)->guards.~shared_ptr();
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyTypeObject* guards_type = nullptr;  // made once by init_guards, with the GIL held

PyObject* new_guards(std::shared_ptr<const CompiledGuards> guards) {
  auto* self = PyObject_GC_New(GuardsObject, guards_type);
  if (!self) throw PythonError{};
  new (&self->guards) std::shared_ptr<const CompiledGuards>(std::move(guards));
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return reinterpret_cast<PyObject*>(self);
}

PyObject* make_guards(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n < 1 || n > 2) bad_spec("expected (guards, wanted sources)");
    SourceTable table;
    GuardSet set;
    const PyRef specs = checked(PySequence_Tuple(args[0]));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(specs.get()); ++i) set.add(parse_guard(table, part(specs.get(), i)));
    std::vector<SourceRef> wanted;
    const PyRef wants = n > 1 ? checked(PySequence_Tuple(args[1])) : PyRef();
    for (Py_ssize_t i = 0; wants && i < PyTuple_GET_SIZE(wants.get()); ++i) {
      wanted.push_back(parse_source(table, part(wants.get(), i)));
    }
    return new_guards(compile_guards(set, table, wanted));
  });
}

PyObject* kind_names(PyObject*, PyObject*) {
  constexpr std::array kNames = {
#define MD_GUARD(k) #k,
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
  };
  PyObject* out = PyTuple_New(kNames.size());
  for (std::size_t i = 0; out && i < kNames.size(); ++i) {
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyUnicode_FromString(kNames[i]));
  }
  return out;
}

// One guard: how the tensors at the sources share memory now.
PyObject* aliasing_guards(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    ParsedArgs a;
    if (n != 4 || !PyTuple_Check(args[0]) || !parse_frame_args(args + 1, 3, a))
      bad_spec("expected (sources, arguments, …)");
    SourceTable table;
    std::vector<SourceRef> sources;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i) sources.push_back(parse_source(table, part(args[0], i)));
    GuardSet set;
    set.add(aliasing_guard(sources, a.frame));
    return new_guards(compile_guards(set, table));
  });
}

PyObject* source_name(PyObject*, PyObject* spec) {
  return guarded([&] {
    SourceTable table;
    return PyUnicode_FromString(parse_source(table, spec)->name.c_str());
  });
}

PyObject* load_source(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    ParsedArgs a;
    if (n != 4 || !parse_frame_args(args + 1, 3, a)) bad_spec("expected (source, arguments, globals, builtins)");
    SourceTable table;
    PyRef found = load(parse_source(table, args[0]), a.frame);
    return found ? PyTuple_Pack(1, found.get()) : Py_NewRef(Py_None);
  });
}

// The slots a call would fill, `...` for unbound; None if bind() refuses.
PyObject* bind_call(PyObject*, PyObject* const* args, Py_ssize_t nargsf, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t n = PyVectorcall_NARGS(static_cast<std::size_t>(nargsf));
    if (n < 1 || !PyFunction_Check(args[0])) bad_spec("expected a Python function first");
    auto* fn = reinterpret_cast<PyFunctionObject*>(args[0]);
    BoundArguments bound;
    if (!bound.bind(fn, args + 1, static_cast<std::size_t>(n - 1), kwnames)) Py_RETURN_NONE;
    if (!bound.complete()) throw PythonError{};
    const int count = reinterpret_cast<PyCodeObject*>(fn->func_code)->co_nlocalsplus;
    PyRef out = checked(PyTuple_New(count));
    for (int i = 0; i < count; ++i) {
      PyObject* o = bound.slots()[i] ? bound.slots()[i] : Py_Ellipsis;
      PyTuple_SET_ITEM(out.get(), i, Py_NewRef(o));
    }
    return out.release();
  });
}

template <class F>
PyCFunction method(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef guards_methods[] = {
    {"check", method(guards_check), METH_FASTCALL, "check(arguments, globals, builtins) -> bool"},
    {"load", method(guards_load), METH_FASTCALL,
     "load(arguments, globals, builtins) -> tuple of wanted objects, or None"},
    {"explain", method(guards_explain), METH_FASTCALL, "explain(arguments, globals, builtins) -> first failure, or ''"},
    {"tree", guards_tree, METH_NOARGS, "the printed guard tree"},
    {"rows", guards_rows, METH_NOARGS, "[(name, source, create function, [code])]"},
    {"memoized", guards_memoized, METH_NOARGS,
     "how many operations need not run while what they looked at is unchanged"},
    {"dead", guards_dead, METH_NOARGS, "does it refer to a dead object?"},
    {"repeat", method(guards_repeat), METH_FASTCALL,
     "repeat(arguments, globals, builtins, n) -> how many checks passed"},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot guards_slots[] = {
    {Py_tp_methods, guards_methods},
    {Py_tp_traverse, reinterpret_cast<void*>(guards_traverse)},
    {Py_tp_dealloc, reinterpret_cast<void*>(guards_dealloc)},
    {0, nullptr},
};
PyType_Spec guards_spec = {"minidynamo._C._guards.CompiledGuards", sizeof(GuardsObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, guards_slots};

PyMethodDef functions[] = {
    {"compile", method(make_guards), METH_FASTCALL,
     "compile([(source, kind, payload, place)], wanted) -> CompiledGuards"},
    {"kinds", kind_names, METH_NOARGS, "kinds() -> names of every guard kind"},
    {"aliasing", method(aliasing_guards), METH_FASTCALL,
     "aliasing(sources, arguments, globals, builtins) -> CompiledGuards"},
    {"source_name", source_name, METH_O, "source_name(source) -> str"},
    {"load", method(load_source), METH_FASTCALL, "load(source, arguments, globals, builtins) -> (object,) or None"},
    {"bind", method(bind_call), METH_FASTCALL | METH_KEYWORDS, "bind(function, *args, **kwargs) -> slots or None"},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "minidynamo._C._guards", nullptr, -1, functions};

}  // namespace

int init_guards(PyObject* module) {
  if (!guards_type) guards_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&guards_spec));
  if (!guards_type) return -1;
  PyObject* guards = PyModule_Create(&definition);
  if (!guards) return -1;
  if (PyModule_AddFunctions(guards, code_cache_functions) < 0) {
    Py_DECREF(guards);
    return -1;
  }
  if (PyModule_AddObject(module, "_guards", guards) < 0) {
    Py_DECREF(guards);
    return -1;
  }
  return 0;
}

std::shared_ptr<const CompiledGuards> guards_of_object(PyObject* o) {
  return Py_IS_TYPE(o, guards_type) ? reinterpret_cast<GuardsObject*>(o)->guards : nullptr;
}

bool parse_frame_args(PyObject* const* args, Py_ssize_t n, ParsedArgs& out) {
  if (n != 3 || !PyTuple_Check(args[0]) || !PyDict_Check(args[1]) || !PyDict_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "expected (tuple of arguments, globals dict, builtins dict)");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i) {
    PyObject* o = PyTuple_GET_ITEM(args[0], i);
    out.slots.push_back(o == Py_Ellipsis ? nullptr : o);
  }
  out.frame = {out.slots.data(), args[1], args[2]};
  return true;
}

}  // namespace md
