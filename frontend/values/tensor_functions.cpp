// What calls of library functions in Python have to look like where the reference sees one call of a graph.
#include "frontend/values/tensor_functions.h"

#include <algorithm>

#include "frontend/cpython/object_text.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

struct HandledMethod {
  const char* name;
  std::size_t least, most;            // arguments, by position or by name
  std::vector<std::string> keywords;  // those that may be named
  bool any_keyword = false;
};

const std::vector<HandledMethod>& handled_methods() {
  static const auto* rows = new std::vector<HandledMethod>{
      {"size", 0, 1, {"dim"}},
      {"stride", 0, 1, {"dim"}},
      {"dim", 0, 0, {}},
      {"ndimension", 0, 0, {}},
      {"numel", 0, 0, {}},
      {"nelement", 0, 0, {}},
      {"is_floating_point", 0, 0, {}},
      {"is_complex", 0, 0, {}},
      {"is_inference", 0, 0, {}},
      {"is_contiguous", 0, 1, {"memory_format"}},
      {"type", 0, 2, {"dtype", "non_blocking"}, true},
      {"as_subclass", 1, 1, {"cls"}},
      {"get_device", 0, 0, {}},
      {"element_size", 0, 0, {}},
      {"numpy", 0, 0, {"force"}},
      {"tolist", 0, 0, {}},
      {"backward", 0, 4, {"gradient", "retain_graph", "create_graph", "inputs"}},
      {"add_", 1, 1, {"other", "alpha"}},
      {"addcmul_", 2, 2, {"tensor1", "tensor2", "value"}},
      {"addcdiv_", 2, 2, {"tensor1", "tensor2", "value"}},
      {"requires_grad_", 0, 1, {"requires_grad"}},
      {"register_hook", 1, 1, {"hook"}},
      {"register_post_accumulate_grad_hook", 1, 1, {"hook"}},
      {"untyped_storage", 0, 0, {}},
      {"detach_", 0, 0, {}},
      {"share_memory_", 0, 0, {}},
      {"__len__", 0, 0, {}},
      {"__iter__", 0, 0, {}},
      {"__contains__", 1, 1, {"arg"}},
      {"__setitem__", 2, 2, {"key", "value"}},
  };
  return *rows;
}

bool fits_handler(const HandledMethod& m, const CallArgs& args) {
  std::size_t given = args.positional.size();
  if (given > m.most) return false;
  for (const auto& [key, value] : args.keywords) {
    const auto known = std::ranges::find(m.keywords, text_of(key.get()));
    if (known == m.keywords.end() && !m.any_keyword) return false;
    const auto place = static_cast<std::size_t>(known - m.keywords.begin());
    if (place < args.positional.size()) return false;  // a position gave it already
    given += place < m.least;
  }
  return given >= m.least;
}

const HandledMethod* handled_method(const std::string& name) {
  const auto found = std::ranges::find_if(handled_methods(), [&](const HandledMethod& m) { return name == m.name; });
  return found == handled_methods().end() ? nullptr : &*found;
}

// Where the library's functions for tensors stand that are no single op.
constexpr std::string_view kFunctionModules[] = {
    "minidynamo.functional",          "minidynamo.nn.functional",   "minidynamo.special",
    "minidynamo.scatter_functions",   "minidynamo.shape_functions", "minidynamo.real_tensors",
    "minidynamo.numerical_functions", "minidynamo.older_functions", "minidynamo.layer_functions",
    "minidynamo.copied_views",        "minidynamo.histograms"};

bool holds_tensor_functions(std::string_view module) {
  return std::ranges::find(kFunctionModules, module) != std::end(kFunctionModules) ||
         module.starts_with("minidynamo.linalg") ||
         (module.starts_with("minidynamo.nn.") && module.ends_with("_functions"));
}

// As the program knows it, which may be another than that of its code.
std::string shown_name(const FunctionValue& f) {
  if (f.real && PyFunction_Check(f.real.get()))
    return text_of(reinterpret_cast<PyFunctionObject*>(f.real.get())->func_name);
  return text_of(reinterpret_cast<PyCodeObject*>(f.code.get())->co_name);
}

bool is_tensor_method(const FunctionValue& f) {
  PyObject* const found = find_item(tensor_type->tp_dict, shown_name(f).c_str());
  return found && (found == f.real.get() || found == f.overridable.get());
}

}  // namespace

// Methods answer while tracing; the functions of the same names are calls like others.
static bool has_own_handler(const FunctionValue& f, const std::string& name) {
  return is_tensor_method(f) && handled_method(name);
}

bool handles_arguments(const std::string& method, const CallArgs& args) {
  const HandledMethod* const m = handled_method(method);
  return !m || fits_handler(*m, args);
}

bool is_in_library(Tracer& t) {
  PyObject* const name = find_item(t.frame().globals.get(), "__name__");
  return name && PyUnicode_Check(name) && text_of(name).starts_with("minidynamo");
}

bool is_tensor_function(Tracer& t, const FunctionValue& f) {
  if (!f.real || !std::string_view(f.module_name()).starts_with("minidynamo") || is_in_library(t)) return false;
  if (is_tensor_method(f)) return true;
  const std::string name = text_of(f.qualname.get());
  if (name.starts_with("_") || name.find('.') != std::string::npos) return false;
  return holds_tensor_functions(f.module_name());
}

// A TypeError on the way through the library says that an argument is wrong, unless functions of the program run there.
static bool blames_arguments(const ExceptionValue& e, const CallArgs& args) {
  const bool of_program = std::ranges::any_of(args.positional, [](const ValueRef& v) {
    return v->kind == ValueKind::Function || v->kind == ValueKind::Method || v->kind == ValueKind::Object;
  });
  return !of_program && reinterpret_cast<PyObject*>(e.type) == PyExc_TypeError;
}

ValueRef run_tensor_function(Tracer& t, FunctionValue& f, CallArgs args) {
  const std::string name = shown_name(f);
  if (is_tensor_method(f) && !args.positional.empty()) {
    const CallArgs rest{{args.positional.begin() + 1, args.positional.end()}, args.keywords};
    if (!handles_arguments(name, rest))
      graph_break<GB0117>(args.positional[0]->print(), name, print_list(rest.positional), print_keywords(rest));
  }
  try {
    return t.run_nested(t.make_frame(f, args));
  } catch (const TracedRaise& e) {
    const auto* raised = as<ExceptionValue>(e.exception);
    const PyRef text = raised && raised->args.size() == 1 ? raised->args[0]->as_constant() : PyRef();
    if (!text || !PyUnicode_Check(text.get()) || !blames_arguments(*raised, args)) throw;
    graph_break<GB0112>(name, text_of(text.get()));
  }
}

void check_tensor_question(const FunctionValue& f) {
  const std::string name = shown_name(f);
  if (name == "is_nonzero") graph_break<GB0033>(name);
  if ((!name.starts_with("is_") && !name.starts_with("has_")) || has_own_handler(f, name)) return;
  listed_break<GB0208>(std::string("bool"), std::string(is_tensor_method(f) ? "call_method" : "call_function"), name);
}

void check_tensor_answer(const FunctionValue& f, bool asks_tensor, const ValueRef& answer) {
  const PyRef c = asks_tensor && answer && answer->kind == ValueKind::Constant ? answer->as_constant() : PyRef();
  if (!c || !(PyLong_Check(c.get()) || PyUnicode_Check(c.get())) || has_own_handler(f, shown_name(f))) return;
  listed_break<GB0208>(std::string(Py_TYPE(c.get())->tp_name),
                       std::string(is_tensor_method(f) ? "call_method" : "call_function"), shown_name(f));
}

bool calls_for_each_element(const std::string& n) { return n == "apply_" || n == "map_" || n == "map2_"; }

void break_on_other_answer(const std::string& n) {
  constexpr std::pair<const char*, const char*> answers[] = {
      {"__reduce_ex__", "tuple"}, {"__reduce__", "tuple"}, {"__copy__", "tuple"}, {"__dir__", "list"},
      {"__sizeof__", "int"},      {"__format__", "str"},   {"__hash__", "int"},   {"storage", "TypedStorage"},
      {"_is_view", "bool"},       {"__repr__", "str"},     {"__str__", "str"},    {"__array__", "ndarray"},
      {"storage_offset", "int"}};
  for (const auto& [method, answer] : answers)
    if (n == method) graph_break<GB0208>(answer, "call_method", n);
}

}  // namespace md
