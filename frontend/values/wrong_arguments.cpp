// Asks the method of an empty tensor.
#include "frontend/values/wrong_arguments.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/trace/breaks.h"
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

// Values only the trace has stand for None: what is asked is whether there may be one.
PyRef argument_for(const ValueRef& v) {
  PyRef c = v->as_constant();
  return c ? c : PyRef::borrow(Py_None);
}

}  // namespace

void refuse_wrong_arguments(const std::string& method, const CallArgs& args) {
  if ((args.size() == 0 && args.keywords.empty()) || !only_tells(method)) return;
  PyRef tensor = checked(PyObject_CallMethod(own_module("minidynamo").get(), "empty", "i", 0));
  PyRef bound = PyRef::steal(PyObject_GetAttrString(tensor.get(), method.c_str()));
  if (!bound) return PyErr_Clear();
  PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
  for (std::size_t k = 0; k < args.size(); ++k)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(k), argument_for(args[k]).release());
  PyRef keywords = checked(PyDict_New());
  for (auto& [name, value] : args.keywords)
    checked(PyDict_SetItem(keywords.get(), name.get(), argument_for(value).get()));
  if (PyRef answer = PyRef::steal(PyObject_Call(bound.get(), positional.get(), keywords.get()))) return;
  const bool wrong = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  const PyRef error = take_exception();
  if (wrong) graph_break<GB0112>(method, text_of(checked(PyObject_Str(error.get())).get()));
}

}  // namespace md
