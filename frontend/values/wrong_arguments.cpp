// Asks the method of an empty tensor.
#include "frontend/values/wrong_arguments.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"

namespace md {
namespace {

// Methods that only tell something, so that asking does nothing.
bool only_tells(const std::string& n) {
  static constexpr const char* kTelling[] = {"item",  "tolist",     "storage_offset", "stride",    "size",
                                             "numel", "nelement",   "data_ptr",       "__bool__",  "element_size",
                                             "dim",   "ndimension", "get_device",     "is_nonzero"};
  return n.starts_with("is_") || std::ranges::find(kTelling, n) != std::end(kTelling);
}

// A tensor stands for any other; values only the trace has stand for None: what is asked is whether there may be one.
PyRef argument_for(const ValueRef& v, const PyRef& tensor) {
  if (v->kind == ValueKind::Tensor) return tensor;
  PyRef c = v->as_constant();
  return c ? c : PyRef::borrow(Py_None);
}

PyRef any_tensor() { return checked(PyObject_CallMethod(own_module("minidynamo").get(), "empty", "i", 0)); }

void refuse(const std::string& name, const PyRef& callee, const PyRef& tensor, const CallArgs& args) {
  PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (std::size_t k = 0; k < args.positional.size(); ++k)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(k), argument_for(args.positional[k], tensor).release());
  PyRef keywords = checked(PyDict_New());
  for (auto& [key, value] : args.keywords)
    checked(PyDict_SetItem(keywords.get(), key.get(), argument_for(value, tensor).get()));
  if (PyRef answer = PyRef::steal(PyObject_Call(callee.get(), positional.get(), keywords.get()))) return;
  const bool wrong = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  const PyRef error = take_exception();
  if (wrong) graph_break<GB0112>(name, text_of(checked(PyObject_Str(error.get())).get()));
}

}  // namespace

void refuse_wrong_arguments(const std::string& method, const CallArgs& args) {
  if ((args.size() == 0 && args.keywords.empty()) || !only_tells(method)) return;
  const PyRef tensor = any_tensor();
  const PyRef bound = PyRef::steal(PyObject_GetAttrString(tensor.get(), method.c_str()));
  if (!bound) return PyErr_Clear();
  refuse(method, bound, tensor, args);
}

void refuse_wrong_call(Tracer& t, const std::string& function, CallArgs args) {
  static constexpr const char* kComparing[] = {"equal", "allclose", "result_type", "promote_types", "can_cast"};
  if (!only_tells(function) && std::ranges::find(kComparing, function) == std::end(kComparing)) return;
  const PyRef found = PyRef::steal(PyObject_GetAttrString(own_module("minidynamo").get(), function.c_str()));
  if (!found) return PyErr_Clear();
  for (ValueRef& v : args.positional) v = t.realize(v);
  for (auto& [key, value] : args.keywords) value = t.realize(value);
  // An object may answer for itself, and a size or number of the trace is one.
  const auto is_plain = [](const ValueRef& v) {
    return v->kind == ValueKind::Tensor || v->kind == ValueKind::List || v->kind == ValueKind::Tuple ||
           v->as_constant();
  };
  if (!std::ranges::all_of(args.positional, is_plain)) return;
  if (!std::ranges::all_of(args.keywords, [&](const auto& k) { return is_plain(k.second); })) return;
  refuse(function, found, any_tensor(), args);
}

}  // namespace md
