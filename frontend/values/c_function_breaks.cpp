// Which code a call of something written in C has when no rule knows it.
#include "frontend/values/c_function_breaks.h"

#include <algorithm>
#include <string>

#include "frontend/cpython/object_text.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/functions.h"
#include "frontend/values/wrong_arguments.h"

namespace md {

namespace {

std::string text_attribute(PyObject* o, const char* name) {
  PyRef v = PyRef::steal(PyObject_GetAttrString(o, name));
  if (!v || !PyUnicode_Check(v.get())) {
    clear_answer();
    return "";
  }
  return text_of(v.get());
}

// The object a method is bound to, or the class an unbound one was taken off; null: it is a function.
PyRef owner_of_method(PyObject* f) {
  PyRef owner;
  if (PyCFunction_Check(f))
    owner = PyRef::borrow(PyCFunction_GET_SELF(f));
  else
    for (const char* name : {"__self__", "__objclass__"}) {
      owner = PyRef::steal(PyObject_GetAttrString(f, name));
      clear_answer();
      if (owner) break;
    }
  if (!owner || owner.get() == Py_None || PyModule_Check(owner.get())) return {};
  if (PyCapsule_CheckExact(owner.get())) return {};  // as what pybind11 keeps its functions
  // The functions of module random are methods of an object nobody sees.
  PyObject* const type = PyType_Check(owner.get()) ? owner.get() : reinterpret_cast<PyObject*>(Py_TYPE(owner.get()));
  const std::string module = text_attribute(type, "__module__");
  return module == "random" || module == "_random" || module.starts_with("minidynamo") ? PyRef() : owner;
}

// Asks for something the library keeps, and changes nothing.
bool asks_library(const std::string& name) {
  return name.starts_with("get_") || name.starts_with("is_anomaly_") || name == "initial_seed";
}

}  // namespace

void break_on_c_function(Tracer& t, PyObject* function, const CallArgs& args) {
  const std::string module = text_attribute(function, "__module__"), name = text_attribute(function, "__name__");
  const bool of_tensor =
      std::ranges::any_of(args.positional, [&](const ValueRef& v) { return t.realize(v)->kind == ValueKind::Tensor; });
  if (of_tensor && (module == "math" || module == "cmath")) graph_break<GB0033>(module + "." + name);
  const bool of_library = module == "minidynamo" || module.starts_with("minidynamo.");
  if (module == "minidynamo") refuse_wrong_call(t, name, args);
  if (of_library && asks_library(name) && args.size() == 0) {
    const PyRef answer = PyRef::steal(PyObject_CallNoArgs(function));
    clear_answer();
    if (answer) graph_break<GB0208>(std::string(Py_TYPE(answer.get())->tp_name), "call_function", name);
  }
  if (const PyRef owner = owner_of_method(function); owner && !PyType_Check(function))
    graph_break<GB0156>(t.from_object(owner.get(), nullptr)->print(), type_name(Py_TYPE(owner.get())), name,
                        print_list(args.positional), print_keywords(args));
  break_on_skipped(t, function);
}

}  // namespace md
