// Sends operations of an array to their polyfills, and wraps results as arrays or NumPy scalars.
#include "frontend/values/array.h"

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/polyfills.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/rules.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {

// Row: (function, constants that come first...). What it cannot do, and what NumPy would refuse, is NumPy's own
// business: the graph breaks there, so that results, warnings and exceptions are NumPy's.
ValueRef call_row(Tracer& t, PyObject* row, const CallArgs& given, const std::string& module,
                  const std::string& qualname) {
  CallArgs args = given;
  std::vector<ValueRef> first;
  for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(row); ++k) first.push_back(from_folded(t, PyTuple_GET_ITEM(row, k)));
  args.positional.insert(args.positional.begin(), first.begin(), first.end());
  std::string reason;
  try {
    return t.call(t.wrap(PyTuple_GET_ITEM(row, 0), nullptr), std::move(args));
  } catch (const TracedRaise& e) {
    auto* x = as<ExceptionValue>(e.exception);
    reason = x ? type_name(x->type) : e.exception->print();
    if (x && !x->args.empty() && x->args[0]->as_constant()) reason += ": " + text_of(x->args[0]->as_constant().get());
  } catch (const OpError& e) {
    reason = e.what();
  }
  graph_break<GB0007_numpy>(module, qualname, reason, module + "." + qualname);
}

bool is_operand(const ValueRef& v) {
  switch (v->kind) {
    case ValueKind::Array:
    case ValueKind::Size:
    case ValueKind::List:
    case ValueKind::Tuple:
      return true;
    case ValueKind::Constant:
      return PyBool_Check(v->real.get()) || PyLong_CheckExact(v->real.get()) || PyFloat_CheckExact(v->real.get()) ||
             PyComplex_CheckExact(v->real.get());
    default:
      return false;
  }
}

// In a traced library function nothing is a name of the program's.
PyTypeObject* numpy_type(const char* name) {
  PyRef type = checked(PyObject_GetAttrString(checked(import_module("numpy")).get(), name));
  return reinterpret_cast<PyTypeObject*>(type.get());  // numpy's static types live as long as the process
}

}  // namespace

PyTypeObject* ArrayValue::python_type() const {
  if (real) return Py_TYPE(real.get());
  if (!scalar) return numpy_type("ndarray");
  const DType dtype = tensor->type.dtype;
  return numpy_type(dtype == DType::Bool ? "bool_" : std::string(info(dtype).name).c_str());
}

ValueRef ArrayValue::operate(Tracer& t, const std::string& dunder, std::vector<ValueRef> others) {
  PyObject* row = numpy_row("METHODS", interned(dunder.c_str()).get());
  if (!row) return {};
  CallArgs args{std::move(others), {}};
  args.positional.insert(args.positional.begin(), ValueRef(this));
  return call_row(t, row, args, "numpy", "ndarray." + dunder);
}

// Code that stands in for NumPy's asks for itself, getters of operator for the program.
static bool reads_for_library(Tracer& t) {
  PyObject* const name = find_item(t.frame().globals.get(), "__name__");
  return is_in_library(t) && text_of(name) != "minidynamo.polyfills.operator";
}

ValueRef ArrayValue::get_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(python_type()), nullptr);
  if (n == "dtype" && !scalar && !t.config.trace_more && !reads_for_library(t)) listed_break<GB0157>(print(), n);
  if (PyObject* row = numpy_row("ATTRIBUTES", name))
    return call_row(t, row, {{ValueRef(this)}, {}}, "numpy", "ndarray." + n);
  if (numpy_row("METHODS", name)) return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (n == "__version__") graph_break<GB0159>(print());
  PyObject* found = type_find(python_type(), name);
  if (!found)
    t.raise(PyExc_AttributeError, std::string("'") + python_type()->tp_name + "' object has no attribute '" + n + "'");
  if (!is_method(found)) graph_break<GB0157>(print(), n);
  return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
}

bool ArrayValue::has_attr(Tracer&, PyObject* name) {
  if (text_of(name) == "__version__") graph_break<GB0159>(print());
  return type_find(python_type(), name) != nullptr;
}

void ArrayValue::set_attr(Tracer& t, PyObject* name, ValueRef v) {
  if (!v) graph_break<GB0158>(print(), "__delattr__", print_list({t.constant(PyRef::borrow(name))}), "{}");
  graph_break<GB0157>(print(), text_of(name));
}

// The elements as numbers, by the tensor that holds them.
static ValueRef read_array(Tracer& t, ArrayValue& array, PyObject* method) {
  if (!t.config.capture_scalar_outputs && (text_of(method) == "item" || is_integral(array.tensor->type.dtype)))
    graph_break<GB0033>("numpy.ndarray." + text_of(method));
  return array.tensor->call_method(t, method, {});
}

ValueRef ArrayValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  if ((n == "item" || n == "tolist") && args.size() == 0) return read_array(t, *this, name);
  if (n == "__len__" && args.size() == 0) return length_value(t);
  if (n == "__iter__" && args.size() == 0) return iter(t);
  if (PyObject* row = numpy_row("METHODS", name)) {
    args.positional.insert(args.positional.begin(), ValueRef(this));
    return call_row(t, row, args, "numpy", "ndarray." + n);
  }
  PyObject* found = type_find(python_type(), name);
  if (!found || !is_method(found)) return t.call(get_attr(t, name), std::move(args));
  graph_break<GB0158>(print(), n, print_list(args.positional), print_keywords(args));
}

ValueRef ArrayValue::get_item(Tracer& t, const ValueRef& key) {
  if (ValueRef r = operate(t, "__getitem__", {t.realize(key)})) return r;
  unmodelled_method(*this, "__getitem__");
}

void ArrayValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  if (!v) return Value::set_item(t, key, v);
  if (!operate(t, "__setitem__", {t.realize(key), t.realize(v)})) unmodelled_method(*this, "__setitem__");
}

std::optional<std::int64_t> ArrayValue::length(Tracer& t) {
  if (tensor->type.dim() == 0)
    graph_break<GB0158>(print(), std::string("__len__"), std::string("[]"), std::string("{}"));
  return tensor->length(t);
}

ValueRef ArrayValue::length_value(Tracer& t) {
  if (tensor->type.dim() == 0) return Value::length_value(t);
  return tensor->length_value(t);
}

bool ArrayValue::truth(Tracer&) { graph_break<GB0170>(print()); }

ValueRef ArrayValue::iter(Tracer& t) {
  std::vector<ValueRef> rows;
  const std::int64_t n = *length(t);
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(get_item(t, t.integer(i)));
  return make_ref<SequenceIterator>(std::move(rows), ValueRef(this));
}

bool ArrayValue::contains(Tracer& t, const ValueRef& item) {
  unmodelled_method(*this, "__contains__", CallArgs{{t.realize(item)}, {}});
}

Reg ArrayValue::rebuild(PlanBuilder& b) {
  if (source) return b.load_source(source);
  PlanStep s{StepOp::Call};
  if (base) {
    PyRef module = checked(import_module("operator"));
    s.a = b.load_constant(checked(PyObject_GetAttrString(module.get(), "getitem")));
    s.regs = {b.rebuild(base), b.load_constant(key)};
    return b.step(std::move(s));
  }
  s.a = b.load_constant(array_maker());
  s.regs = {b.rebuild(tensor), b.load_constant(PyRef::borrow(scalar ? Py_True : Py_False)),
            b.load_constant(PyRef::borrow(writeable ? Py_True : Py_False))};
  return b.step(std::move(s));
}

ValueRef input_array(Tracer& t, PyObject* array, SourceRef source) {
  bool writeable = false, fits = false;
  {
    const ArrayView view(array);
    fits = view.fits_tensor();
    writeable = fits && view.writeable();
  }
  if (!fits) {
    PyRef dtype = checked(PyObject_GetAttrString(array, "dtype"));
    graph_break<GB0185>(std::string("NumpyNdarrayVariable()"), text_of(dtype.get()));
  }
  PyRef over = array_tensor(array);
  ValueRef made = t.input_tensor(over.get(), t.recorder.sources.child(source, SourceKind::ArrayTensor));
  auto* tensor = as<TensorValue>(made);
  const bool scalar = !is_plain_array(array);
  auto v = make_ref<ArrayValue>(Ref<TensorValue>(tensor), scalar, writeable && !scalar);
  v->source = source;
  v->real = PyRef::borrow(array);
  Guard g{GuardKind::ArrayMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(array)))};
  g.tensor = tensor->type;
  g.value = writeable;
  g.where = t.user_frame();
  t.recorder.guards.add(std::move(g));
  return v;
}

ValueRef tensor_of_array(Tracer& t, const CallArgs& args, bool copy) {
  auto* a = args.positional.size() == 1 ? as<ArrayValue>(args[0]) : nullptr;
  if (!a || args.keywords.size() > 1) return {};
  // NumPy's float64 and complex128 are Python's numbers, too, which get the default dtype.
  const bool is_number =
      a->scalar && (a->tensor->type.dtype == DType::Float64 || a->tensor->type.dtype == DType::Complex128);
  if (is_number || (!a->scalar && !a->writeable)) return {};
  copy = copy || a->scalar;
  if (!args.keywords.empty()) {
    DType dtype;
    PyRef wanted = args.keywords[0].second->as_constant();
    if (text_of(args.keywords[0].first.get()) != "dtype" || !wanted || !as_dtype(wanted.get(), dtype)) return {};
    if (dtype != a->tensor->type.dtype)
      return t.call_op("to", Spelling::Method, CallArgs{{ValueRef(a->tensor), args.keywords[0].second}, {}});
  }
  if (copy) return t.call_op("clone", Spelling::Method, CallArgs{{ValueRef(a->tensor)}, {}});
  // Another object over the same memory: its sizes may change without those of the array's.
  return t.call_op("detach", Spelling::Method, CallArgs{{ValueRef(a->tensor)}, {}});
}

ValueRef scalar_as_number(Tracer& t, const ValueRef& v) {
  auto* a = as<ArrayValue>(v);
  PyRef number = a && a->scalar && a->source ? scalar_number(a->real.get()) : PyRef();
  if (!number) return v;
  t.guard(GuardKind::DataMatch, a->source, number);
  return t.constant(number);
}

ValueRef array_binary(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace) {
  auto *x = as<ArrayValue>(a), *y = as<ArrayValue>(b);
  if (!is_operand(a) || !is_operand(b)) return {};
  if (x) return x->operate(t, "__" + std::string(inplace && !x->scalar ? "i" : "") + dunder + "__", {b});
  return y->operate(t, "__r" + dunder + "__", {a});
}

ValueRef array_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  static const char* const names[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  static const int mirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  auto *x = as<ArrayValue>(a), *y = as<ArrayValue>(b);
  ValueRef r;
  if (is_operand(a) && is_operand(b)) r = x ? x->operate(t, names[op], {b}) : y->operate(t, names[mirrored[op]], {a});
  if (!r) unmodelled(print_list({a, b}), "a comparison of an array with such an object");
  return r;
}

static bool is_of_numpy(PyObject* module) {
  const std::string name = module && PyUnicode_Check(module) ? text_of(module) : "";
  return name == "numpy" || name.rfind("numpy.", 0) == 0;
}

// Looks at fields only: an attribute of a class may be the program's own code.
bool is_numpy_constant(PyObject* o) {
  const std::string type = Py_TYPE(o)->tp_name;
  if (type == "numpy.ufunc" || type == "numpy._ArrayFunctionDispatcher" || type.rfind("numpy.dtypes.", 0) == 0)
    return true;
  if (PyCFunction_Check(o)) {
    PyObject* self = PyCFunction_GET_SELF(o);
    if (self && !PyModule_Check(self)) return std::string(Py_TYPE(self)->tp_name) == "numpy.ufunc";  // numpy.add.reduce
    return is_of_numpy(reinterpret_cast<PyCFunctionObject*>(o)->m_module);
  }
  if (PyFunction_Check(o))
    return is_of_numpy(reinterpret_cast<PyFunctionObject*>(o)->func_module) && numpy_row("FUNCTIONS", o);
  if (!PyType_Check(o)) return false;
  auto* cls = reinterpret_cast<PyTypeObject*>(o);
  return !(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) && std::string(cls->tp_name).rfind("numpy.", 0) == 0 &&
         numpy_row("FUNCTIONS", o);
}

ValueRef call_numpy(Tracer& t, PyObject* callable, CallArgs& args) {
  if (!is_numpy_constant(callable) || !t.config.trace_numpy) return {};
  for (auto& a : args.positional) a = t.realize(a);
  for (auto& k : args.keywords) k.second = t.realize(k.second);
  PyObject* row = nullptr;
  PyRef own;
  PyObject* bound = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
  if (!name) {  // a dtype is not called
    clear_answer();
    return {};
  }
  std::string qualname = text_of(name.get());
  if (bound && !PyModule_Check(bound)) {  // numpy.add.reduce
    PyRef ufunc = checked(PyObject_GetAttrString(bound, "__name__"));
    own = checked(PyTuple_Pack(2, ufunc.get(), name.get()));
    qualname = text_of(ufunc.get()) + "." + qualname;
    row = numpy_row("UFUNC_METHODS", own.get());
  } else {
    row = numpy_row("FUNCTIONS", callable);
  }
  if (!row)
    graph_break<GB0007_numpy>(std::string("numpy"), qualname, std::string("it is not in the tables"),
                              "numpy." + qualname);
  if (PyTuple_GET_SIZE(row) > 0) return call_row(t, row, args, "numpy", qualname);
  std::vector<PyRef> positional;  // answers that depend on nothing but constants
  PyRef kwargs;
  if (!all_constant(args, positional, kwargs)) return {};
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  PyRef r = PyRef::steal(PyObject_Call(callable, tuple.get(), kwargs.get()));
  if (!r) t.raise_current();
  return from_folded(t, r.get());
}

}  // namespace md
