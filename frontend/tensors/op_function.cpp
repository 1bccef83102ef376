// The callable types of ops: overload, conversion of arguments, call, documentation, pickling.
#include "frontend/tensors/op_function.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/generator_object.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/out_argument.h"
#include "frontend/tensors/pinned_memory.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/written_tensors.h"
#include "ir/batching/levels.h"
#include "ir/infer/infer.h"
#include "ir/run/eager.h"
#include "ir/tensor/batched.h"

namespace md {

PyTypeObject* op_function_type = nullptr;
PyTypeObject* op_method_type = nullptr;

namespace {

OpFunctionObject* self_of(PyObject* o) { return reinterpret_cast<OpFunctionObject*>(o); }

Arg convert_argument(PyObject* o, const char* function, const char* label) {
  try {
    return to_arg(o);
  } catch (const PythonError&) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_Format(PyExc_TypeError, "%s(): %s: %S", function, label, value);
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    throw;
  }
}

// The generator `name` = `value` names, if some overload takes one; such an argument is not an op's.
bool names_generator(std::span<const OpId> overloads, const char* name) {
  if (std::strcmp(name, "generator") != 0) return false;
  return std::ranges::any_of(overloads, [](OpId id) { return takes_generator(op(id)); });
}

// Whether `name` = `value` asks for a layout other than torch.strided; such layouts are classes of minidynamo.sparse.
bool names_other_layout(const char* name, PyObject* value) {
  return std::strcmp(name, "layout") == 0 && std::strcmp(Py_TYPE(value)->tp_name, "_Layout") == 0;
}

// The layout other than torch.strided that a call names, or null.
PyObject* other_layout(const PassedArgs& call) {
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.kwnames, i));
    if (name && names_other_layout(name, call.args[call.nargs + i])) return call.args[call.nargs + i];
  }
  return nullptr;
}

// Arguments as ops take them; returns the generator object the call names, or null.
PyObject* convert_call(const PassedArgs& call, std::span<const OpId> overloads, const char* function,
                       std::vector<Arg>& args, KwArgs& kwargs) {
  PyObject* generator = nullptr;
  args.reserve(static_cast<std::size_t>(call.nargs));
  for (Py_ssize_t i = 0; i < call.nargs; ++i) {
    PyObject* o = call.args[i];
    if (is_tensor_exact(o)) {
      args.emplace_back(TensorRef(tensor_impl(o)));
    } else {
      char label[40];
      std::snprintf(label, sizeof label, "argument %zd", i + 1);
      args.push_back(convert_argument(o, function, label));
    }
  }
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(call.kwnames, i));
    if (!name) throw PythonError{};
    PyObject* value = call.args[call.nargs + i];
    if (names_generator(overloads, name)) {
      generator = named_generator(value, function) ? value : nullptr;
    } else if (names_other_layout(name, value)) {
      kwargs.emplace_back(name, Arg());  // the result is brought into it
    } else if (asks_for_pinned(name, value)) {
      kwargs.emplace_back(name, Arg(false));  // likewise
    } else {
      kwargs.emplace_back(name, convert_argument(value, function, name));
    }
  }
  return generator;
}

void require_tensor_self(const OpFunctionObject& f, const PassedArgs& call) {
  if (call.nargs == 0) throw_type_error("unbound method Tensor.%s() needs an argument", f.name);
  if (!is_tensor(call.args[0])) {
    throw_type_error("descriptor '%s' for 'Tensor' objects doesn't apply to a '%.200s' object", f.name,
                     Py_TYPE(call.args[0])->tp_name);
  }
}

// The call if it can go the short way; null if not.
PyObject* fast_call(const OpFunctionObject& f, const PassedArgs& call) {
  if (call.kwnames || call.nargs == 0 || call.nargs > static_cast<Py_ssize_t>(kMaxFastOperands)) return nullptr;
  if (f.method && !is_tensor(call.args[0])) return nullptr;
  const Op* op = f.fast[call.nargs - 1];
  FastArgs args;
  if (!op || (op->placed_by_default && !default_device().is_cpu())) return nullptr;
  if (!args.fill(*op, call.args, static_cast<std::size_t>(call.nargs))) return nullptr;
  if (f.inplace) {
    write_inplace(*op, args.bound());
    return Py_NewRef(call.args[0]);
  }
  return wrap_result(*op, call_op(*op, args.bound()), call).release();
}

bool names_out(const OpFunctionObject& f, const PassedArgs& call) {
  if (f.method) return false;
  bool named = false;  // asked first: most calls name none
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    named |= PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.kwnames, i), "out") == 0;
  }
  return named && takes_out({f.overloads, static_cast<std::size_t>(f.overload_count)});
}

PyRef call_exactly(const Op& op, const PassedArgs& call) {
  std::vector<Arg> args;
  KwArgs kwargs;
  convert_call(call, {}, op.public_name.c_str(), args, kwargs);
  const BoundCall bound = md::bind(std::span<const OpId>(&op.id, 1), args, kwargs);
  return wrap_result(op, call_op(op, bound.args), call);
}

// A tensor that a native function made from other values than tensors.
void note_native(PyObject* made, const PassedArgs& call) {
  if (!is_tensor(made) || tensor_impl(made)->made_after != 0 || transform_levels().empty()) return;
  for (Py_ssize_t i = 0; i < call.nargs; ++i)
    if (is_tensor(call.args[i])) return;
  tensor_impl(made)->made_after = transforms_begun.load(std::memory_order_relaxed);
}

PyObject* call_function(PyObject* callable, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  const OpFunctionObject& f = *self_of(callable);
  const PassedArgs call{args, PyVectorcall_NARGS(nargsf), kwnames};
  return guarded([&]() -> PyObject* {
    if (PyObject* result = fast_call(f, call)) return result;
    if (f.method) require_tensor_self(f, call);
    if (f.undispatched) return f.native(call).release();
    PyRef overridden = try_torch_function(callable, call);
    if (overridden) return overridden.release();
    PyRef result = f.native             ? f.native(call)
                   : f.exact            ? call_exactly(op(*f.overloads), call)
                   : names_out(f, call) ? call_into(f, call)
                                        : call_overloads({f.overloads, static_cast<std::size_t>(f.overload_count)},
                                                         f.public_name, call, f.inplace);
    if (in_transform() && f.native) {
      note_native(result.get(), call);
      if (is_tensor(result.get()) && std::strcmp(f.name, "tensor") == 0) result = lifted(std::move(result));
    }
    return keep_subclass(std::move(result), call).release();
  });
}

void function_dealloc(PyObject* o) {
  Py_XDECREF(self_of(o)->doc);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* function_repr(PyObject* o) {
  const OpFunctionObject& f = *self_of(o);
  if (f.method) return PyUnicode_FromFormat("<method '%s' of 'torch.Tensor' objects>", f.name);
  return PyUnicode_FromFormat("<built-in method %s of type object at %p>", f.name, op_function_type);
}

PyObject* method_get(PyObject* o, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(o);
  return PyMethod_New(o, instance);
}

// Pickled and copied by name.
PyObject* function_reduce(PyObject* o, PyObject*) {
  const OpFunctionObject& f = *self_of(o);
  if (!f.method) return PyUnicode_FromString(f.name);
  return guarded([&]() -> PyObject* {
    PyRef builtins = checked(import_module("builtins"));
    PyRef getattr = checked(PyObject_GetAttrString(builtins.get(), "getattr"));
    return Py_BuildValue("(O(Os))", getattr.get(), reinterpret_cast<PyObject*>(tensor_type), f.name);
  });
}

PyObject* get_name(PyObject* o, void*) {
  const char* dot = std::strrchr(self_of(o)->name, '.');  // "special.expit"
  return PyUnicode_FromString(dot ? dot + 1 : self_of(o)->name);
}
PyObject* get_qualname(PyObject* o, void*) {
  return PyUnicode_FromFormat(self_of(o)->method ? "Tensor.%s" : "%s", self_of(o)->name);
}
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("minidynamo"); }
PyObject* get_doc(PyObject* o, void*) { return Py_NewRef(self_of(o)->doc); }
PyObject* get_objclass(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(tensor_type)); }

PyMethodDef function_methods[] = {{"__reduce__", function_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef function_getset[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                                 {"__qualname__", get_qualname, nullptr, nullptr, nullptr},
                                 {"__module__", get_module, nullptr, nullptr, nullptr},
                                 {"__doc__", get_doc, nullptr, nullptr, nullptr},
                                 {}};
PyGetSetDef method_getset[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                               {"__qualname__", get_qualname, nullptr, nullptr, nullptr},
                               {"__module__", get_module, nullptr, nullptr, nullptr},
                               {"__doc__", get_doc, nullptr, nullptr, nullptr},
                               {"__objclass__", get_objclass, nullptr, nullptr, nullptr},
                               {}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunctionObject, vectorcall), READONLY, nullptr}, {}};

PyType_Slot function_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, function_getset},
    {Py_tp_members, function_members},
    {0, nullptr},
};
PyType_Slot method_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, method_getset},
    {Py_tp_members, function_members},
    {Py_tp_descr_get, reinterpret_cast<void*>(method_get)},
    {0, nullptr},
};
constexpr unsigned kFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
PyType_Spec function_spec = {"minidynamo._C.op_function", sizeof(OpFunctionObject), 0, kFlags, function_slots};
PyType_Spec method_spec = {"minidynamo._C.op_method", sizeof(OpFunctionObject), 0,
                           kFlags | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

PyRef make_function(PyTypeObject* type, const char* name) {
  PyRef made = checked(type->tp_alloc(type, 0));
  OpFunctionObject& f = *self_of(made.get());
  f.vectorcall = call_function;
  f.name = f.public_name = name;
  f.method = type == op_method_type;
  return made;
}

PyRef doc_of(std::span<const OpId> ids) {
  std::string text;
  for (OpId id : ids) {
    const Op& o = op(id);
    text += (text.empty() ? "" : "\n\n") + o.schema.text + "\n\n" + std::string(o.decl->doc);
  }
  return checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// A name that lives for ever: the interpreter interns it.
const char* lasting(const std::string& s) {
  PyRef o = checked(PyUnicode_InternFromString(s.c_str()));
  const char* text = PyUnicode_AsUTF8(o.get());
  if (!text) throw PythonError{};
  o.release();
  return text;
}

PyRef make_table_function(PyTypeObject* type, const std::string& public_name, bool inplace) {
  const char* base = lasting(public_name);
  PyRef made = make_function(type, inplace ? lasting(public_name + "_") : base);
  OpFunctionObject& f = *self_of(made.get());
  const std::span<const OpId> ids = overloads(base);
  f.public_name = base;
  f.overloads = ids.data(), f.overload_count = static_cast<Py_ssize_t>(ids.size());
  f.inplace = inplace;
  for (std::size_t i = 0; i < kMaxFastOperands; ++i) f.fast[i] = sole_overload(ids, i + 1, inplace);
  f.doc = doc_of(ids).release();
  return made;
}

void set_attribute(PyObject* where, const std::string& name, const PyRef& value) {
  checked(PyObject_SetAttrString(where, name.c_str(), value.get()));
}

// The functions and methods called `name`, which may be an alias.
void add_public_op(PyObject* module, const std::string& name) {
  bool function = false, method = false, inplace = false;
  for (OpId id : overloads(name)) {
    const OpDecl& d = *op(id).decl;
    function |= d.function, method |= d.method, inplace |= d.inplace;
  }
  PyObject* type = reinterpret_cast<PyObject*>(tensor_type);
  if (function) set_attribute(module, name, make_table_function(op_function_type, name, false));
  if (method) set_attribute(type, name, make_table_function(op_method_type, name, false));
  if (inplace) set_attribute(type, name + "_", make_table_function(op_method_type, name, true));
}

// "special.expit" goes into the dict `namespaces`["special"], "Tensor.where" is a method.
void add_alias(PyObject* module, PyObject* namespaces, const std::string& alias) {
  const std::size_t dot = alias.rfind('.');
  if (dot == std::string::npos) return add_public_op(module, alias);
  const std::string space = alias.substr(0, dot), name = alias.substr(dot + 1);
  if (space == "Tensor") {
    PyRef method = make_table_function(op_method_type, alias, false);
    self_of(method.get())->name = lasting(name);
    return set_attribute(reinterpret_cast<PyObject*>(tensor_type), name, method);
  }
  PyRef members = PyRef::borrow(find_item(namespaces, space.c_str()));
  if (!members) {
    members = checked(PyDict_New());
    checked(PyDict_SetItemString(namespaces, space.c_str(), members.get()));
  }
  checked(PyDict_SetItemString(members.get(), name.c_str(), make_table_function(op_function_type, alias, false).get()));
}

PyRef make_native(PyTypeObject* type, const NativeRow& row) {
  PyRef made = make_function(type, row.name);
  self_of(made.get())->native = row.call;
  self_of(made.get())->undispatched = row.undispatched;
  self_of(made.get())->doc = checked(PyUnicode_FromString(row.doc)).release();
  return made;
}

int add_natives(PyObject* where, PyTypeObject* type, std::span<const NativeRow> rows) {
  return guarded([&]() -> PyObject* {
    for (const NativeRow& row : rows) {
      checked(PyObject_SetAttrString(where, row.name, make_native(type, row).get()));
    }
    return Py_None;
  })
             ? 0
             : -1;
}

}  // namespace

int init_op_functions(PyObject* module) {
  op_function_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &function_spec, nullptr));
  op_method_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &method_spec, nullptr));
  return op_function_type && op_method_type ? 0 : -1;
}

int add_table_ops(PyObject* module) {
  return guarded([&]() -> PyObject* {
    std::set<std::string> seen;
    PyRef namespaces = checked(PyDict_New());
    for (const Op& o : all_ops()) {
      if (seen.insert(o.public_name).second) add_public_op(module, o.public_name);
      for_each_alias(o, [&](std::string_view alias) { add_alias(module, namespaces.get(), std::string(alias)); });
    }
    set_attribute(module, "_namespaces", namespaces);
    return Py_None;
  })
             ? 0
             : -1;
}

// Kept by who asks for it; what it calls is that overload and no other.
PyRef op_function_named(const PassedArgs& call) {
  static const char* const names[] = {"name"};
  PyObject* out[1];
  parse_native({"_op_function", names, 1}, call, out);
  const OpId id = PyUnicode_Check(out[0]) ? find_op(utf8_of(out[0])) : kNoOp;
  if (id == kNoOp || !has_form(op(id), false)) {
    PyErr_SetObject(PyExc_KeyError, out[0]);
    throw PythonError{};
  }
  const Op& o = op(id);
  PyRef made = make_function(op_function_type, lasting(o.public_name));
  OpFunctionObject& f = *self_of(made.get());
  f.overloads = &o.id, f.overload_count = 1, f.exact = true;
  f.doc = doc_of({&o.id, 1}).release();
  return made;
}

int add_native_functions(PyObject* module, std::span<const NativeRow> rows) {
  return add_natives(module, op_function_type, rows);
}
int add_native_methods(std::span<const NativeRow> rows) {
  return add_natives(reinterpret_cast<PyObject*>(tensor_type), op_method_type, rows);
}

namespace {

bool holds(PyObject* o, const TensorRef& t) { return is_tensor(o) && tensor_impl(o) == t.get(); }

// The argument that is this tensor, also within a list or tuple of them; else a new object.
PyRef own_object(const TensorRef& t, const PassedArgs& call) {
  for (Py_ssize_t i = 0; i < call.nargs + call.keyword_count(); ++i) {
    PyObject* o = call.args[i];
    if (holds(o, t)) return PyRef::borrow(o);
    if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
      if (holds(PySequence_Fast_GET_ITEM(o, k), t)) return PyRef::borrow(PySequence_Fast_GET_ITEM(o, k));
    }
  }
  return wrap_tensor(t);
}

Arg value_of(const TensorImpl& t) { return to_arg(item(t).get()); }

}  // namespace

PyRef wrap_result(const Op& op, const Arg& result, const PassedArgs& call) {
  if (auto* t = result.get_if<TensorRef>()) return own_object(*t, call);
  if (!op.schema.result_names.empty()) return named_result(op, result);
  const auto& items = result.get<ListArg>().items;
  PyRef made = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), own_object(items[i].get<TensorRef>(), call).release());
  }
  return made;
}

PyRef call_overloads(std::span<const OpId> overloads, const char* public_name, const PassedArgs& call, bool inplace) {
  std::vector<Arg> args;
  KwArgs kwargs;
  std::optional<DrawFrom> source;
  PyObject* const generator = convert_call(call, overloads, public_name, args, kwargs);
  if (generator) source.emplace(generator_of(generator));
  BoundArgs bound;
  const Op* chosen = nullptr;
  const auto choose = [&](auto&& fits) {
    for (const OpId id : overloads) {
      if (!chosen && has_form(op(id), inplace) && fits(op(id))) chosen = &op(id);
    }
  };
  choose([&](const Op& candidate) { return try_bind(candidate, args, kwargs, bound); });
  if (!chosen) choose([&](const Op& candidate) { return try_bind_reading(candidate, args, kwargs, bound, value_of); });
  if (!chosen) {
    BoundCall b = md::bind_any_order(forms_of(overloads, inplace), args, kwargs);  // throws what the user should read
    chosen = &op(b.op);
    bound = std::move(b.args);
  }
  place_by_default(*chosen, bound);
  if (generator) expect_device(generator, device_of_call(*chosen, bound));
  if (inplace) {
    write_inplace(*chosen, bound);
    return PyRef::borrow(call.args[0]);
  }
  PyRef made = wrap_result(*chosen, call_op(*chosen, bound), call);
  if (kwargs.empty()) return made;
  if (asks_for_pinned(call)) made = made_pinned(made);
  PyObject* const layout = other_layout(call);
  if (!layout) return made;
  if (chosen->public_name.find("empty") != std::string::npos)
    checked(PyObject_CallMethod(made.get(), "zero_", nullptr));  // it has no entries
  const PyRef to_sparse = checked(PyObject_GetAttrString(made.get(), "to_sparse"));
  const PyRef no_args = checked(PyTuple_New(0)), named = checked(Py_BuildValue("{s:O}", "layout", layout));
  return checked(PyObject_Call(to_sparse.get(), no_args.get(), named.get()));
}

bool has_form(const Op& o, bool inplace) {
  const OpDecl& d = *o.decl;
  return inplace ? d.inplace : !d.inplace || d.function || d.method || !d.also.empty();
}

std::vector<OpId> forms_of(std::span<const OpId> overloads, bool inplace) {
  std::vector<OpId> forms;
  for (OpId id : overloads) {
    if (has_form(op(id), inplace)) forms.push_back(id);
  }
  return forms;
}

bool is_op_function(PyObject* o) { return Py_TYPE(o) == op_function_type || Py_TYPE(o) == op_method_type; }
const char* op_function_name(PyObject* o) { return self_of(o)->name; }
bool op_function_is_method(PyObject* o) { return self_of(o)->method; }

bool op_function_asks(PyObject* o) { return is_op_function(o) && !self_of(o)->undispatched; }
bool tensor_has_method(const std::string& name) {
  PyObject* found = find_item(tensor_type->tp_dict, name.c_str());  // borrowed
  return found && is_op_function(found);
}
bool tensor_method_is_op(const std::string& name) {
  PyObject* found = find_item(tensor_type->tp_dict, name.c_str());  // borrowed
  return found && is_op_function(found) && !self_of(found)->native;
}
bool tensor_has_attr(const std::string& name) {
  PyObject* found = find_item(tensor_type->tp_dict, name.c_str());  // borrowed
  return found && Py_TYPE(found) == &PyGetSetDescr_Type;
}

}  // namespace md
