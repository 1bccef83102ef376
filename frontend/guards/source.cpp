// Interns sources, gives them their names (L['x'].w[0]) and loads through them, one access after the other.
#include "frontend/guards/source.h"

#include "frontend/cpython/plain_object.h"
#include "frontend/guards/source_access.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/core/error.h"

namespace md {
namespace {

std::string text_of(PyObject* str) {
  const char* s = PyUnicode_AsUTF8(str);
  if (!s) throw PythonError{};
  return s;
}

std::string quoted(PyObject* name) { return "['" + text_of(name) + "']"; }
std::string bracketed(PyObject* key) { return "[" + constant_repr(key) + "]"; }
std::string numbered(int index) { return "[" + std::to_string(index) + "]"; }

// What the names of a source's children begin with.
std::string spelled(const Source& base) {
  if (base.depth < kSpelledDepth) return base.name;
  const Source* top = &base;
  for (int k = 0; k < kSpelledDepth; ++k) top = top->base;
  return top->name.substr(0, top->name.find("...<#")) + "...<#" + std::to_string(base.id) + ">";
}

std::string child_name(const Source& base, SourceKind kind, PyObject* key, int index) {
  const std::string b = spelled(base);
  switch (kind) {
    // The cell of a free variable is never spelled: its content carries the variable's name.
    case SourceKind::CellContents:
      return base.kind == SourceKind::FreeCell ? b : b + ".cell_contents";
    case SourceKind::ModuleGlobal:
      return b + ".__globals__" + quoted(key);
    case SourceKind::Attr:
    case SourceKind::TensorAttr:
    case SourceKind::RangeField:
    case SourceKind::Field:
      return b + "." + text_of(key);
    case SourceKind::InstanceDict:
      return b + ".__dict__" + quoted(key);
    case SourceKind::TypeOf:
      return "type(" + b + ")";
    case SourceKind::TypeAttr:
      return "dict(type(" + b + ").__dict__)" + quoted(key);
    case SourceKind::ClassAttr:
      return "dict(" + b + ".__dict__)" + quoted(key);
    case SourceKind::ListItem:
      return b + numbered(index);
    case SourceKind::DictItem:
      return b + bracketed(key);
    case SourceKind::DictKey:
      return std::string("list(dict.") + (key ? "values(" : "keys(") + b + "))" + numbered(index);
    case SourceKind::FuncCode:
      return b + ".__code__";
    case SourceKind::FuncDefault:
      return b + ".__defaults__" + numbered(index);
    case SourceKind::FuncKwDefault:
      return b + ".__kwdefaults__" + bracketed(key);
    case SourceKind::FuncClosure:
      return b + ".__closure__" + numbered(index);
    case SourceKind::MethodSelf:
      return b + ".__self__";
    case SourceKind::MethodFunc:
      return b + ".__func__";
    case SourceKind::PartialFunc:
      return b + ".func";
    case SourceKind::PartialArgs:
      return b + ".args";
    case SourceKind::PartialKeywords:
      return b + ".keywords";
    case SourceKind::ArrayTensor:
      return "___from_numpy(" + b + ")";
    default:
      throw InternalError("source: this kind has no base");
  }
}

bool wants_name(SourceKind kind) {
  return kind == SourceKind::Attr || kind == SourceKind::TensorAttr || kind == SourceKind::InstanceDict ||
         kind == SourceKind::TypeAttr || kind == SourceKind::ClassAttr || kind == SourceKind::Field ||
         kind == SourceKind::ModuleGlobal || kind == SourceKind::RangeField || kind == SourceKind::Global ||
         kind == SourceKind::Builtin;
}

// Names are interned so that look-ups compare addresses. Dict keys are left alone: 3.12 never frees an interned str.
PyRef prepared_key(SourceKind kind, PyObject* key) {
  if (!key) return {};
  if (wants_name(kind) && !PyUnicode_CheckExact(key)) throw InternalError("source: a name must be a str");
  if (!is_plain(key)) throw InternalError("source: a key whose comparison runs user code");
  if (wants_name(kind)) {
    Py_INCREF(key);
    PyUnicode_InternInPlace(&key);
    return PyRef::steal(key);
  }
  if (PyObject_Hash(key) == -1) throw PythonError{};
  return PyRef::borrow(key);
}

bool is_repr_safe(PyObject* o) {
  if (PyTuple_CheckExact(o) || is_size_type(Py_TYPE(o))) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      if (!is_repr_safe(PyTuple_GET_ITEM(o, i))) return false;
    }
    return true;
  }
  if (PyFrozenSet_CheckExact(o)) return is_plain(o);
  DType ignored;
  MemoryFormat format;
  return o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PyUnicode_CheckExact(o) || PyLong_CheckExact(o) ||
         PyFloat_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o) || as_dtype(o, ignored) ||
         is_device(o) || as_memory_format(o, format);
}

std::size_t hash_of(const Source& s) {
  std::size_t h = static_cast<std::size_t>(s.kind) * 1000003u + static_cast<std::size_t>(s.index + 1);
  h = h * 1000003u + reinterpret_cast<std::size_t>(s.base);
  if (s.key) h = h * 1000003u + static_cast<std::size_t>(PyObject_Hash(s.key.get()));
  return h * 1000003u + reinterpret_cast<std::size_t>(s.object.get());
}

bool same_place(const Source& a, const Source& b) {
  if (a.kind != b.kind || a.base != b.base || a.index != b.index || a.object.get() != b.object.get()) return false;
  if (!a.key || !b.key) return !a.key && !b.key;
  return plain_equal(a.key.get(), b.key.get());
}

}  // namespace

std::string constant_repr(PyObject* o) {
  if (PyWeakref_CheckRefExact(o)) o = reinterpret_cast<PyWeakReference*>(o)->wr_object;  // a guard's key
  if (!is_repr_safe(o)) return std::string("<") + Py_TYPE(o)->tp_name + " object>";
  const PyRef r = PyRef::steal(PyObject_Repr(o));
  const char* text = r ? PyUnicode_AsUTF8(r.get()) : nullptr;
  if (text) return text;
  clear_answer();  // a lone surrogate, or an int too long to print
  return std::string("<") + Py_TYPE(o)->tp_name + " object>";
}

SourceRef SourceTable::intern(Source s) {
  const std::size_t h = hash_of(s);
  auto [first, last] = index_.equal_range(h);
  for (; first != last; ++first) {
    if (same_place(*first->second, s)) return first->second;
  }
  s.id = static_cast<int>(sources_.size());
  sources_.push_back(std::make_unique<Source>(std::move(s)));
  index_.emplace(h, sources_.back().get());
  return sources_.back().get();
}

SourceRef SourceTable::local(int slot, const std::string& name) {
  Source s{SourceKind::Local};
  s.index = slot;
  s.name = "L['" + name + "']";
  return intern(std::move(s));
}

SourceRef SourceTable::free_cell(int slot, const std::string& name) {
  Source s{SourceKind::FreeCell};
  s.index = slot;
  s.name = "L['" + name + "']";
  return intern(std::move(s));
}

SourceRef SourceTable::global(PyObject* name) {
  Source s{SourceKind::Global};
  s.key = prepared_key(s.kind, name);
  s.name = name ? "G" + quoted(name) : "G";
  s.global_rooted = true;
  return intern(std::move(s));
}

SourceRef SourceTable::builtin(PyObject* name) {
  Source s{SourceKind::Builtin};
  s.key = prepared_key(s.kind, name);
  s.name = "G['__builtins_dict___0']" + quoted(name);
  s.global_rooted = true;
  return intern(std::move(s));
}

SourceRef SourceTable::constant(PyObject* object, const std::string& printed) {
  Source s{SourceKind::Constant};
  s.object = PyRef::borrow(object);
  s.name = printed;
  s.global_rooted = true;
  return intern(std::move(s));
}

SourceRef SourceTable::child(SourceRef base, SourceKind kind, PyObject* key, int index) {
  if (wants_name(kind) && !key) throw InternalError("source: a name is missing");
  const bool indexed = kind == SourceKind::ListItem || kind == SourceKind::DictKey || kind == SourceKind::FuncDefault ||
                       kind == SourceKind::FuncClosure;
  if (indexed && index < 0) throw InternalError("source: an index is missing or negative");
  Source s{kind};
  s.base = base;
  s.index = index;
  s.key = prepared_key(kind, key);
  s.name = child_name(*base, kind, s.key.get(), index);
  s.global_rooted = base->global_rooted;
  s.in_module = base->in_module || base->is_module;
  s.depth = base->depth + 1;
  return intern(std::move(s));
}

NumberPlace place_of_number(const Source& s) {
  if (s.global_rooted) return NumberPlace::Global;
  switch (s.kind) {
    case SourceKind::Local:
    case SourceKind::ListItem:
    case SourceKind::DictItem:
    case SourceKind::CellContents:
      return NumberPlace::Argument;
    case SourceKind::DictKey:
      return s.key ? NumberPlace::Argument : NumberPlace::Elsewhere;
    case SourceKind::Attr:
    case SourceKind::InstanceDict:
    case SourceKind::RangeField:
      break;
    default:
      return NumberPlace::Elsewhere;
  }
  return s.in_module ? NumberPlace::Module : NumberPlace::Argument;
}

PyRef referent(PyObject* weak_reference) {
  PyObject* o = reinterpret_cast<PyWeakReference*>(weak_reference)->wr_object;
  return o == Py_None ? PyRef() : PyRef::borrow(o);
}

static PyRef load_access(const Source& s, PyObject* base, const FrameArgs& args) {
  if (s.kind == SourceKind::Constant) return s.object;
  if (s.kind == SourceKind::Referent) return referent(s.object.get());
  if (s.kind == SourceKind::ArrayTensor) return array_tensor(base);
  AccessMemo memo;
  return PyRef::borrow(follow(access_of(s), base, args, memo));
}

PyRef load(SourceRef s, const FrameArgs& args) {
  std::vector<const Source*> way;
  for (const Source* at = s; at; at = at->base) way.push_back(at);
  PyRef o;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    o = load_access(**at, o.get(), args);
    if (!o) return {};
  }
  return o;
}

}  // namespace md
