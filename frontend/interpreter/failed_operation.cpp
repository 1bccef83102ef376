// Exceptions of code that stands for an operator, told as those of operators in C.
#include "frontend/interpreter/failed_operation.h"

#include <algorithm>
#include <string_view>

#include "frontend/cpython/object_text.h"
#include "frontend/marked_callables/fake_tensors.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/objects.h"

namespace md {
namespace {

constexpr std::string_view kPackage = "minidynamo.";

// Modules whose functions are one node each where the library is in C: those at the package's top, `linalg`, and the
// functions behind `nn.functional`. Modules, initialisers and optimisers are programs there as well.
bool defines_operators(std::string_view module) {
  constexpr std::string_view kLayers = "minidynamo.nn.";
  constexpr std::string_view kPrograms[] = {"minidynamo.func", "minidynamo.jit", "minidynamo.overrides",
                                            "minidynamo.streams", "minidynamo._checks"};
  if (std::ranges::find(kPrograms, module) != std::end(kPrograms)) return false;
  if (module.starts_with("minidynamo.linalg")) return true;
  if (module.starts_with(kLayers)) return module.ends_with("functions") || module.ends_with(".functional");
  return module.find('.', kPackage.size()) == std::string_view::npos;
}

std::string module_name_of(const SymbolicFrame& f) {
  PyObject* const name = PyDict_GetItemString(f.globals.get(), "__name__");
  return name && PyUnicode_Check(name) ? text_of(name) : std::string();
}

// The operator that the frames of the package at the end of the stack compute; null: none.
const SymbolicFrame* running_operator(const Tracer& t) {
  const SymbolicFrame* found = nullptr;
  for (auto f = t.stack.frames.rbegin(); f != t.stack.frames.rend(); ++f) {
    const std::string module = module_name_of(**f);
    if (!module.starts_with(kPackage)) break;
    if (defines_operators(module)) found = f->get();
  }
  return found;
}

PyRef real_exception(const ExceptionValue& x) {
  const PyRef args = checked(PyTuple_New(static_cast<Py_ssize_t>(x.args.size())));
  for (std::size_t k = 0; k < x.args.size(); ++k) {
    PyRef c = x.args[k]->as_constant();
    if (!c) c = checked(PyUnicode_FromString(x.args[k]->print().c_str()));
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(k), c.release());
  }
  return checked(PyObject_CallObject(reinterpret_cast<PyObject*>(x.type), args.get()));
}

}  // namespace

void refuse_operation(Tracer& t, const ExceptionValue& x) {
  for (PyObject* answer : {PyExc_StopIteration, PyExc_AttributeError})  // what asks for them goes on without
    if (PyType_IsSubtype(x.type, reinterpret_cast<PyTypeObject*>(answer))) return;
  const SymbolicFrame* const f = running_operator(t);
  if (!f || !t.uncaught()) return;
  const std::string call = "call_function " + f->printed_name;
  PyRef error = real_exception(x);
  const auto is = [&](PyObject* type) { return PyErr_GivenExceptionMatches(error.get(), type) != 0; };
  const std::string text = text_of(checked(PyObject_Str(error.get())).get());
  if (is(PyExc_TypeError)) graph_break<GB0112>(call, text);
  if (is(PyExc_NotImplementedError)) graph_break<GB0087>(f->printed_name, text);
  throw FailedFakeRun(std::move(error), call);
}

}  // namespace md
