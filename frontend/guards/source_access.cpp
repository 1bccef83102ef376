// Executes an access of each kind of source with raw look-ups, and reads fields of builtin objects.
#include "frontend/guards/source_access.h"

#include <cstring>
#include <string_view>

#include "frontend/cpython/byte_stream.h"
#include "frontend/cpython/call_cache.h"
#include "frontend/cpython/exception_fields.h"
#include "frontend/cpython/held_mapping.h"
#include "frontend/cpython/iterator_state.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/suspended_fields.h"
#include "frontend/cpython/thread_local.h"
#include "frontend/tensors/gradients.h"
#include "frontend/tensors/tensor_object.h"

namespace md {
namespace {

PyObject* look_up(PyObject* dict, const SourceAccess& s, AccessMemo& memo) {
  // The version is trusted for exact dicts only; it covers every store, so a hit skips nothing but the look-up.
  const bool versioned = PyDict_CheckExact(dict) && dict_version_is_complete(dict);
  const std::uint64_t version = versioned ? dict_version(dict) : 0;
  if (version != 0 && version == memo.dict_version) return memo.value;
  PyObject* value;
  const int status = md_dict_find_hinted(dict, s.key, s.hash, &value, &memo.attr.hint);
  memo.value = value;
  memo.dict_version = status < 0 ? 0 : version;
  return value;
}

PyObject* attribute(PyObject* o, const SourceAccess& s, AccessMemo& memo) {
  if (PyModule_CheckExact(o)) {
    if (PyObject* found = look_up(PyModule_GetDict(o), s, memo)) return found;
  }
  return raw_attr(o, s.key, memo.attr);
}

PyObject* in_instance_dict(PyObject* o, const SourceAccess& s, AccessMemo& memo) {
  if (PyType_Check(o)) {
    auto* type = reinterpret_cast<PyTypeObject*>(o);
    return type->tp_dict ? look_up(type->tp_dict, s, memo) : nullptr;
  }
  PyObject* value;
  md_instance_find_hinted(o, s.key, &value, &memo.attr.hint);
  return value;
}

// `grad` is no attribute of the program's.
PyObject* tensor_attribute(PyObject* tensor, const SourceAccess& s, AccessMemo& memo) {
  if (PyUnicode_CompareWithASCIIString(s.key, "grad") != 0) return in_instance_dict(tensor, s, memo);
  PyObject* on_class = type_find(Py_TYPE(tensor), s.key);
  const bool is_own = is_tensor(tensor) && on_class && Py_IS_TYPE(on_class, &PyGetSetDescr_Type);
  return is_own ? grad_object(*tensor_impl(tensor)) : nullptr;
}

PyObject* key_at(PyObject* dict, int index) {
  DictKeyCursor keys(dict);
  PyObject* key = keys.next();
  while (key && index-- > 0) key = keys.next();
  return key;
}

PyObject* value_at(PyObject* dict, int index) {
  if (PyODict_Check(dict)) {
    PyObject* const key = key_at(dict, index);
    return key ? value_of_key(dict, key) : nullptr;
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
    if (index-- == 0) return value;
  return nullptr;
}

PyObject* item(PyObject* o, Py_ssize_t index) {
  if (index < 0) return nullptr;
  if (PyTuple_Check(o)) return index < PyTuple_GET_SIZE(o) ? PyTuple_GET_ITEM(o, index) : nullptr;
  if (PyList_Check(o)) return index < PyList_GET_SIZE(o) ? PyList_GET_ITEM(o, index) : nullptr;
  return is_tuple_iterator(o) ? tuple_iterator_item(o, index) : deque_item(o, index);
}

// The same code may run over other globals, and what it reads there is guarded where the traced function read it.
bool has_globals(const PyFunctionObject& f, const SourceAccess& s, const FrameArgs& args) {
  if (s.key) return reinterpret_cast<Py_hash_t>(f.func_globals) == s.hash;
  return s.index != kOverOwnGlobals || f.func_globals == args.globals;
}

PyObject* function_part(PyObject* o, const SourceAccess& s, const FrameArgs& args, AccessMemo& memo) {
  if (!PyFunction_Check(o)) return nullptr;
  const auto* f = reinterpret_cast<PyFunctionObject*>(o);
  switch (s.kind) {
    case SourceKind::FuncCode:
      return has_globals(*f, s, args) ? f->func_code : nullptr;
    case SourceKind::FuncDefault:
      return f->func_defaults ? item(f->func_defaults, s.index) : nullptr;
    case SourceKind::FuncClosure:
      return f->func_closure ? item(f->func_closure, s.index) : nullptr;
    case SourceKind::FuncKwDefault:
      return f->func_kwdefaults ? look_up(f->func_kwdefaults, s, memo) : nullptr;
    default:
      return look_up(f->func_globals, s, memo);
  }
}

PyObject* on_class(PyTypeObject* type, const SourceAccess& s, AccessMemo& memo) {
  if (memo.attr.type_version == 0 || memo.attr.type_version != type->tp_version_tag) {
    memo.attr.on_type = type_find(type, s.key);
    memo.attr.type_version = type->tp_version_tag;  // after the look-up, which assigns one
  }
  return memo.attr.on_type;
}

PyObject* method_self(PyObject* o) {
  if (PyMethod_Check(o)) return PyMethod_GET_SELF(o);
  return PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
}

RangePart range_part(PyObject* key) {
  const char* name = utf8_of(key);
  return name[2] == 'a' ? RangePart::Start : name[2] == 'o' ? RangePart::Stop : RangePart::Step;
}

// What staticmethod objects begin with.
struct StaticMethod {
  PyObject_HEAD
  PyObject* callable;
};

PyObject* function_field(const PyFunctionObject& f, std::string_view name) {
  if (name == "__name__") return f.func_name;
  if (name == "__qualname__") return f.func_qualname;
  if (name == "__doc__") return f.func_doc ? f.func_doc : Py_None;
  if (name == "__module__") return f.func_module ? f.func_module : Py_None;
  if (name == "__defaults__") return f.func_defaults ? f.func_defaults : Py_None;
  if (name == "__annotations__")
    return f.func_annotations && PyDict_Check(f.func_annotations) ? f.func_annotations : nullptr;
  if (name == "__kwdefaults__") return f.func_kwdefaults ? f.func_kwdefaults : Py_None;
  if (name == "__closure__") return f.func_closure ? f.func_closure : Py_None;
  if (name == "__globals__") return f.func_globals;
  if (name == "__builtins__") return f.func_builtins;
  return nullptr;
}

// Whether a stream is closed, what an exception, a generator, a frame, a mutable class, a static method, a view of a
// dictionary, a function, a weak reference and a cache of calls keep in their structs, and the dictionary of an
// instance or a namespace, which comes into being when it is asked for.
PyObject* field(PyObject* o, PyObject* key) {
  const std::string_view name = utf8_of(key);
  if (name == "__referent__") return PyWeakref_CheckRef(o) ? reinterpret_cast<PyWeakReference*>(o)->wr_object : nullptr;
  if (name == "closed") return stream_closed(o);
  if (name == "__dict__") {
    if (is_thread_local(o)) return thread_attributes(o);
    PyObject** held = _PyObject_GetDictPtr(o);
    return held ? *held : nullptr;
  }
  if (Py_IS_TYPE(o, &PyStaticMethod_Type))
    return name == "__func__" ? reinterpret_cast<StaticMethod*>(o)->callable : nullptr;
  if (PyType_Check(o)) {
    PyObject* const* const place = class_field(o, key);
    return place ? *place : nullptr;
  }
  for (PyTypeObject* view : {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type})
    if (Py_IS_TYPE(o, view)) return name == "mapping" ? held_mapping(o) : nullptr;  // the dictionary itself
  if (PyFunction_Check(o)) return function_field(*reinterpret_cast<PyFunctionObject*>(o), name);
  if (!is_call_cache(o)) {
    if (name == "result") return cached_result(o);
    return PyExceptionInstance_Check(o) ? exception_field(o, name) : suspended_field(o, name);
  }
  return name == "cache" ? cached_results(o) : name == "__wrapped__" ? cached_function(o) : nullptr;
}

}  // namespace

PyObject* const* class_field(PyObject* cls, PyObject* key) {
  if (!PyType_Check(cls)) return nullptr;
  auto* type = reinterpret_cast<PyHeapTypeObject*>(cls);
  if (!(type->ht_type.tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  const std::string_view name = utf8_of(key);
  if (name == "__mro__") return &type->ht_type.tp_mro;
  if (name == "__bases__") return &type->ht_type.tp_bases;
  return name == "__name__" ? &type->ht_name : name == "__qualname__" ? &type->ht_qualname : nullptr;
}

SourceAccess access_of(const Source& s) {
  PyObject* key = s.key.get();
  if (key && PyWeakref_CheckRefExact(key))
    key = reinterpret_cast<PyWeakReference*>(key)->wr_object;  // of an entry that is in use
  return {s.kind, s.index, key, key ? PyObject_Hash(key) : 0, nullptr};
}

PyObject* follow(const SourceAccess& s, PyObject* base, const FrameArgs& args, AccessMemo& memo) {
  switch (s.kind) {
    case SourceKind::Local:
    case SourceKind::FreeCell:
      return args.localsplus[s.index];
    case SourceKind::CellContents:
      return PyCell_Check(base) ? PyCell_GET(base) : nullptr;
    case SourceKind::Global:
      return s.key ? look_up(args.globals, s, memo) : args.globals;
    case SourceKind::Builtin:
      return look_up(args.builtins, s, memo);
    case SourceKind::Attr:
      return attribute(base, s, memo);
    case SourceKind::InstanceDict:
      return in_instance_dict(base, s, memo);
    case SourceKind::TypeOf:
      return reinterpret_cast<PyObject*>(Py_TYPE(base));
    case SourceKind::TypeAttr:
      return on_class(Py_TYPE(base), s, memo);
    case SourceKind::ClassAttr:
      return PyType_Check(base) ? on_class(reinterpret_cast<PyTypeObject*>(base), s, memo) : nullptr;
    case SourceKind::Field:
      return field(base, s.key);
    case SourceKind::ListItem:
      return item(base, s.index);
    case SourceKind::DictItem:
      return PyDict_Check(base) ? look_up(base, s, memo) : nullptr;
    case SourceKind::DictKey:
      if (!PyDict_Check(base)) return nullptr;
      return s.key ? value_at(base, s.index) : key_at(base, s.index);
    case SourceKind::ModuleGlobal:
    case SourceKind::FuncCode:
    case SourceKind::FuncDefault:
    case SourceKind::FuncKwDefault:
    case SourceKind::FuncClosure:
      return function_part(base, s, args, memo);
    case SourceKind::MethodSelf:
      return method_self(base);
    case SourceKind::MethodFunc:
      return PyMethod_Check(base) ? PyMethod_GET_FUNCTION(base) : nullptr;
    case SourceKind::PartialFunc:
      return partial_field(base, PartialPart::Func);
    case SourceKind::PartialArgs:
      return partial_field(base, PartialPart::Args);
    case SourceKind::PartialKeywords:
      return partial_field(base, PartialPart::Keywords);
    case SourceKind::RangeField:
      return range_field(base, range_part(s.key));
    case SourceKind::Constant:
      return *s.object;
    case SourceKind::TensorAttr:
      return is_tensor(base) ? tensor_attribute(base, s, memo) : nullptr;
    case SourceKind::Referent:     // to guards still a constant
    case SourceKind::ArrayTensor:  // no guard looks at it: it would be a new object each time
      return nullptr;
  }
  return nullptr;
}

}  // namespace md
