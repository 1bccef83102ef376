// Numbers, reductions over Python sequences, the operator module.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"
#include "frontend/operators/object_operators.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

ValueRef rule_abs(Tracer& t, CallArgs& args) {
  expect_args(t, "abs", args, 1, 1);
  if (args[0]->kind == ValueKind::Tensor) return t.call_operator("abs", args);
  if (auto* x = as<ArrayValue>(args[0])) return x->operate(t, "__abs__", {});
  if (auto* n = as<SizeValue>(args[0])) return guard_lt(n->size, Size(0)) ? size_value(t, Size(0) - n->size) : args[0];
  if (auto* o = as<ObjectValue>(args[0])) {
    if (ValueRef m = o->special(t, "__abs__")) return t.call(m, {});
    if (tensor_instance(args[0])) return t.call(o->get_attr(t, checked(PyUnicode_InternFromString("abs")).get()), {});
  }
  return {};
}

// A number that sum() adds up in C without asking it: among floats also one of a class below int.
PyRef plain_number(const ValueRef& v, bool among_floats) {
  auto* o = as<ObjectValue>(v);
  const bool below_int = o && o->payload && PyType_IsSubtype(o->type, &PyLong_Type);
  ValueRef held = among_floats && below_int ? data_of(v) : v;
  if (held->kind == ValueKind::Size && among_floats) return held->as_constant();
  if (held->kind != ValueKind::Constant) return {};
  PyObject* number = held->real.get();
  if (PyFloat_CheckExact(number)) return held->real;
  if (!PyLong_CheckExact(number) && !PyBool_Check(number)) return {};
  int overflow = 0;
  (void)PyLong_AsLongAndOverflow(number, &overflow);
  return overflow ? PyRef() : held->real;
}

PyRef added_in_c(const std::vector<PyRef>& numbers, const PyRef& start) {
  PyRef given = checked(PyList_New(0));
  for (auto& n : numbers) checked(PyList_Append(given.get(), n.get()));
  PyRef real = checked(PyObject_GetAttrString(checked(import_module("builtins")).get(), "sum"));
  return checked(PyObject_CallFunctionObjArgs(real.get(), given.get(), start.get(), nullptr));
}

// Whether sum() of floats keeps what rounding loses, as from CPython 3.12 on.
bool keeps_rounding_errors() {
  return made_once([] {
    PyRef large = checked(PyFloat_FromDouble(1e16)), one = checked(PyFloat_FromDouble(1.0));
    return PyFloat_AS_DOUBLE(added_in_c({one, one}, large).get()) != 1e16;
  });
}

// The sum as it is in C: of ints, then of ints and floats, up to the first value that is neither.
struct Sum {
  Sum(Tracer& t, ValueRef start) : t(t), total(std::move(start)) {
    PyRef number = plain_number(total, false);
    floats = (number && PyFloat_CheckExact(number.get())) || total->kind == ValueKind::Number;
    in_c = (number && !PyBool_Check(number.get())) || floats || total->kind == ValueKind::Size;
    terms = floats ? 1 : 0;
  }

  void add(const ValueRef& v) {
    const bool ints = in_c && !floats;
    PyRef number = in_c ? plain_number(v, floats) : PyRef();
    const bool at_run_time = v->kind == ValueKind::Number || total->kind == ValueKind::Number;
    if (++terms > 2 && in_c && at_run_time && keeps_rounding_errors())  // the sum of two is rounded once in any case
      unmodelled("sum", "several floats of which one is known only at run time");
    floats = floats || v->kind == ValueKind::Number || (number && PyFloat_CheckExact(number.get()));
    if (number && total->kind == ValueKind::Constant) return waiting.push_back(std::move(number));
    in_c = in_c && (number || at_run_time || v->kind == ValueKind::Size);
    total = t.binary_op(settled(), v, 0);
    PyRef sum = ints ? plain_number(total, false) : PyRef();
    if (sum && PyFloat_CheckExact(sum.get())) in_c = floats = true;  // whatever has made one of it
  }
  ValueRef settled() {
    if (!waiting.empty()) total = t.constant(added_in_c(waiting, total->real));
    waiting.clear();
    return total;
  }

 private:
  Tracer& t;
  ValueRef total;
  std::vector<PyRef> waiting;  // numbers still to be added
  bool in_c, floats;
  int terms;
};

ValueRef rule_sum(Tracer& t, CallArgs& args) {
  ValueRef start = args.take_keyword("start");
  if (args.positional.size() == 2) start = args[1], args.positional.pop_back();
  expect_args(t, "sum", args, 1, 1);
  ValueRef total = start ? t.realize(start) : t.integer(0);
  for (PyTypeObject* joined : {&PyUnicode_Type, &PyBytes_Type, &PyByteArray_Type})
    if (total->python_type() && PyType_IsSubtype(total->python_type(), joined)) throw WrongArguments{};
  ValueRef it = args[0]->iter(t);
  Sum sum(t, total);
  while (ValueRef v = it->next(t)) sum.add(t.realize(v));
  return sum.settled();
}

// Of sizes and ints, nothing is assumed. Null: something else is among them, or the order says nothing of the type.
ValueRef extremum_of_sizes(Tracer& t, const std::vector<ValueRef>& values, bool largest) {
  Size best;
  bool any = false;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const ValueRef v = t.realize(values[k]);
    Size s;
    if (!as_size(v, s) || v->python_type() != &PyLong_Type) return {};
    any = any || v->kind == ValueKind::Size;
    best = k == 0 ? s : largest ? max(best, s) : min(best, s);
  }
  return any ? size_value(t, best) : ValueRef();
}

// min and max over arguments or one iterable, by < or > as Python does it: each value is compared when it comes.
ValueRef extremum(Tracer& t, CallArgs& args, bool largest) {
  ValueRef key = args.take_keyword("key"), fallback = args.take_keyword("default");
  const bool several = args.positional.size() > 1;
  if (args.positional.empty() || !args.keywords.empty() || (several && fallback)) throw WrongArguments{};
  if (key && is_true_constant(t.realize(key), Py_None)) key = {};
  if (several && !key)
    if (ValueRef size = extremum_of_sizes(t, args.positional, largest)) return size;
  ValueRef it = several ? make_ref<TupleValue>(args.positional)->iter(t) : t.realize(args[0]->iter(t));
  ValueRef best, best_key;
  while (ValueRef v = it->next(t)) {
    ValueRef candidate = key ? t.call(key, CallArgs{{v}, {}}) : v;
    if (!best || t.realize(t.compare(candidate, best_key, largest ? Py_GT : Py_LT))->truth(t))
      best = v, best_key = candidate;
  }
  if (best || fallback) return best ? best : fallback;
  PyRef real = checked(PyObject_GetAttrString(checked(import_module("builtins")).get(), largest ? "max" : "min"));
  if (PyRef::steal(PyObject_CallOneArg(real.get(), checked(PyTuple_New(0)).get()))) return {};
  t.raise_current();  // of nothing
}
ValueRef rule_max(Tracer& t, CallArgs& args) { return extremum(t, args, true); }
ValueRef rule_min(Tracer& t, CallArgs& args) { return extremum(t, args, false); }

[[noreturn]] void scalar_of_tensor(Tracer& t, const ValueRef& v) {
  t.item_break_seen = true;
  graph_break<GB0124>(v->print(), std::string("()"), std::string("{}"));
}

// A number has the method of its builtin type, which comes before __index__.
bool converts(PyTypeObject* type, std::string_view dunder) {
  const PyNumberMethods* n = type->tp_as_number;
  return n && (dunder == "__int__" ? n->nb_int : n->nb_float);
}

// What the method gives, which has to be of the type it stands for.
ValueRef answered(Tracer& t, const ObjectValue& o, const ValueRef& method, const std::string& dunder) {
  ValueRef v = t.realize(t.call(method, {}));
  const bool real = dunder == "__float__";
  PyTypeObject* given = v->python_type();
  if (given && !PyType_IsSubtype(given, real ? &PyFloat_Type : &PyLong_Type)) {
    const std::string owner = real ? type_name(o.python_type()) + "." : "";
    t.raise(PyExc_TypeError,
            owner + dunder + " returned non-" + (real ? "float" : "int") + " (type " + type_name(given) + ")");
  }
  return v;
}

// An array is read as the tensor it shows, where the settings allow that.
void read_array(Tracer& t, ValueRef& v) {
  auto* const array = as<ArrayValue>(v);
  if (!array) return;
  if (!t.config.capture_scalar_outputs) graph_break<GB0033>("numpy.ndarray.item");
  v = array->tensor;
}

ValueRef to_number(Tracer& t, CallArgs& args, const char* dunder) {
  ObjectValue* const instance = args.size() == 1 && !args.positional.empty() ? tensor_instance(args[0]) : nullptr;
  if (instance && !instance->special(t, dunder)) {
    const PyRef item = checked(PyUnicode_InternFromString("item"));  // which Tensor's own method calls
    if (!t.config.trace_more && type_find(instance->type, item.get()) != type_find(tensor_type, item.get()))
      listed_break<GB0103>(std::string("item"));
    if (ValueRef answer = ask_tensor_method(t, dunder, args)) return answer;
    (void)strip_subclasses(t, args);
  }
  if (args.size() == 1 && !args.positional.empty()) {
    read_array(t, args.positional[0]);
    if (auto* x = as<TensorValue>(args[0])) {
      const bool to_int = std::string_view(dunder) == "__int__";
      const ValueRef v = to_int ? captured_int(t, *x) : captured_item(t, *x);
      if (v && v->kind != ValueKind::Size && v->kind != ValueKind::SizeTest) return v;
      if (v && to_int) return v;
      if (v && v->kind == ValueKind::Size)
        if (ValueRef number = call_on_numbers(t, reinterpret_cast<PyObject*>(&PyFloat_Type), CallArgs{{v}, {}}))
          return number;
    }
    if (args[0]->kind == ValueKind::Tensor || args[0]->kind == ValueKind::Array) scalar_of_tensor(t, args[0]);
    if (auto* o = as<ObjectValue>(args[0])) {
      if (ValueRef m = o->special(t, dunder)) return answered(t, *o, m, dunder);
      PyRef data = o->payload ? o->payload->as_constant() : PyRef();
      if (!data || !converts(Py_TYPE(data.get()), dunder))
        if (ValueRef m = o->special(t, "__index__")) {
          args.positional[0] = answered(t, *o, m, "__index__");
          return {};
        }
      if (data) args.positional[0] = o->payload;
    }
  }
  return {};
}
ValueRef rule_int(Tracer& t, CallArgs& args) {
  if (args.positional.size() == 1 && args.size() == 1 && args[0]->kind == ValueKind::Size) return args[0];
  return to_number(t, args, "__int__");
}
ValueRef rule_float(Tracer& t, CallArgs& args) { return to_number(t, args, "__float__"); }

// Constants run for real, and so do numbers, which are lengths; the elements of anything else are looked at first.
ValueRef rule_bytes(Tracer& t, CallArgs& args) {
  if (args.size() != 1 || args.positional.empty()) return {};
  auto* o = as<ObjectValue>(args[0]);
  if (o && o->special(t, "__bytes__")) return {};
  const bool asked = o && !PyType_IsSubtype(o->python_type(), &PyLong_Type);
  const ValueRef method = asked ? o->special(t, "__index__") : ValueRef();
  ValueRef& v = args.positional[0] = method ? answered(t, *o, method, "__index__") : data_of(args[0]);
  if (std::int64_t n; v->kind == ValueKind::Size && constant_int(v, n)) v = t.integer(n);
  if (v->kind != ValueKind::Constant) v = make_ref<ListValue>(collect_sized(t, o && !method ? ValueRef(o) : v));
  return {};
}

ValueRef rule_complex(Tracer&, CallArgs&) { return {}; }

// As a value, of a tensor the one it has; where the program only branches on it nobody asks for that.
ValueRef truth_value(Tracer& t, ValueRef v) {
  if (v->kind == ValueKind::SizeTest) return v;
  read_array(t, v);
  auto* const x = as<TensorValue>(v);
  if (!x) return t.boolean(v->truth(t));
  if (ValueRef test = captured_test(t, *x)) return test;
  scalar_of_tensor(t, v);
}
ValueRef rule_bool(Tracer& t, CallArgs& args) {
  expect_args(t, "bool", args, 0, 1);
  return args.size() ? truth_value(t, args[0]) : t.boolean(false);
}

ValueRef rule_pow(Tracer& t, CallArgs& args) {
  return args.positional.size() == 2 && args.keywords.empty() ? t.binary_op(args[0], args[1], 8) : ValueRef();
}

// __divmod__, then __rdivmod__ of the other; data of builtin bases answer for themselves.
ValueRef object_divmod(Tracer& t, CallArgs& args) {
  if (ValueRef r = object_op(t, args[0], args[1], "divmod", false)) return r;
  for (auto& a : args.positional) a = data_of(a);
  const auto name = [](const ValueRef& v) { return v->python_type() ? type_name(v->python_type()) : "object"; };
  if (args[0]->kind == ValueKind::Object || args[1]->kind == ValueKind::Object)
    t.raise(PyExc_TypeError,
            "unsupported operand type(s) for divmod(): '" + name(args[0]) + "' and '" + name(args[1]) + "'");
  return {};
}

// Tensors have // and % and no divmod(), as do containers, which have neither.
bool knows_no_divmod(const ValueRef& v) {
  return v->kind == ValueKind::Tensor || v->kind == ValueKind::List || v->kind == ValueKind::Tuple ||
         v->kind == ValueKind::Dict || v->kind == ValueKind::Set;
}

ValueRef rule_divmod(Tracer& t, CallArgs& args) {
  expect_args(t, "divmod", args, 2, 2);
  const auto plain = [](const ValueRef& v) {
    return knows_no_divmod(v) || v->kind == ValueKind::Constant || v->kind == ValueKind::Size;
  };
  if (plain(args[0]) && plain(args[1]) && (knows_no_divmod(args[0]) || knows_no_divmod(args[1])))
    t.raise(PyExc_TypeError, "unsupported operand type(s) for divmod(): '" + type_name(args[0]->python_type()) +
                                 "' and '" + type_name(args[1]->python_type()) + "'");
  if (args[0]->kind == ValueKind::Object || args[1]->kind == ValueKind::Object) return object_divmod(t, args);
  const bool symbolic = args[0]->kind == ValueKind::Size || args[1]->kind == ValueKind::Size;
  if (!symbolic && args[0]->as_constant() && args[1]->as_constant()) return {};
  return make_ref<TupleValue>(
      std::vector<ValueRef>{t.binary_op(args[0], args[1], 2), t.binary_op(args[0], args[1], 6)});
}

ValueRef rule_round(Tracer& t, CallArgs& args) {
  if (auto* o = args.positional.empty() ? nullptr : as<ObjectValue>(args[0]); o && args.keywords.empty()) {
    CallArgs digits{{args.positional.begin() + 1, args.positional.end()}, {}};
    if (digits.positional.size() == 1 && is_true_constant(digits[0], Py_None)) digits.positional.clear();
    if (ValueRef m = o->special(t, "__round__"); m && digits.size() < 2) return t.call(m, std::move(digits));
    args.positional[0] = data_of(args[0]);
    return {};
  }
  if (args.positional.empty() || args[0]->kind != ValueKind::Tensor) return {};
  unmodelled_method(*args[0], "__round__", args);
}

// --- operator.*
// --------------------------------------------------------------------------------------------------------

template <int number>
ValueRef rule_binary(Tracer& t, CallArgs& args) {
  expect_args(t, "operator", args, 2, 2);
  return t.binary_op(args[0], args[1], number);
}
template <int op>
ValueRef rule_compare(Tracer& t, CallArgs& args) {
  expect_args(t, "operator", args, 2, 2);
  return t.compare(args[0], args[1], op);
}
template <int op>
ValueRef rule_unary(Tracer& t, CallArgs& args) {
  expect_args(t, "operator", args, 1, 1);
  return t.unary_op(args[0], op);
}
ValueRef rule_getitem(Tracer& t, CallArgs& args) {
  expect_args(t, "getitem", args, 2, 2);
  return args[0]->get_item(t, args[1]);
}
ValueRef rule_setitem(Tracer& t, CallArgs& args) {
  expect_args(t, "setitem", args, 3, 3);
  args[0]->set_item(t, args[1], args[2]);
  return t.none();
}
ValueRef rule_is(Tracer& t, CallArgs& args) {
  expect_args(t, "is_", args, 2, 2);
  return t.boolean(same_object(t, args[0], args[1]));
}
ValueRef rule_truth(Tracer& t, CallArgs& args) {
  expect_args(t, "truth", args, 1, 1);
  return truth_value(t, args[0]);
}
ValueRef rule_contains(Tracer& t, CallArgs& args) {
  expect_args(t, "contains", args, 2, 2);
  return t.boolean(args[0]->contains(t, args[1]));
}
ValueRef rule_index(Tracer& t, CallArgs& args) {
  if (args.size() == 1 && args[0]->kind == ValueKind::Tensor) graph_break<GB0218>(args[0]->print());
  if (args.size() == 1 && args[0]->kind == ValueKind::Size) return args[0];
  if (args.positional.size() == 1) args.positional[0] = index_value(t, args[0]);
  return {};
}

constexpr BuiltinRow kNumberRules[] = {{"builtins", "abs", rule_abs},
                                       {"builtins", "sum", rule_sum},
                                       {"builtins", "max", rule_max},
                                       {"builtins", "min", rule_min},
                                       {"builtins", "int", rule_int},
                                       {"builtins", "float", rule_float},
                                       {"builtins", "bool", rule_bool},
                                       {"builtins", "bytes", rule_bytes},
                                       {"builtins", "complex", rule_complex},
                                       {"builtins", "pow", rule_pow},
                                       {"builtins", "divmod", rule_divmod},
                                       {"builtins", "round", rule_round},
                                       {"operator", "add", rule_binary<0>},
                                       {"operator", "and_", rule_binary<1>},
                                       {"operator", "floordiv", rule_binary<2>},
                                       {"operator", "matmul", rule_binary<4>},
                                       {"operator", "mul", rule_binary<5>},
                                       {"operator", "mod", rule_binary<6>},
                                       {"operator", "or_", rule_binary<7>},
                                       {"operator", "pow", rule_binary<8>},
                                       {"operator", "sub", rule_binary<10>},
                                       {"operator", "truediv", rule_binary<11>},
                                       {"operator", "xor", rule_binary<12>},
                                       {"operator", "iadd", rule_binary<13>},
                                       {"operator", "isub", rule_binary<23>},
                                       {"operator", "imul", rule_binary<18>},
                                       {"operator", "itruediv", rule_binary<24>},
                                       {"operator", "lt", rule_compare<Py_LT>},
                                       {"operator", "le", rule_compare<Py_LE>},
                                       {"operator", "eq", rule_compare<Py_EQ>},
                                       {"operator", "ne", rule_compare<Py_NE>},
                                       {"operator", "gt", rule_compare<Py_GT>},
                                       {"operator", "ge", rule_compare<Py_GE>},
                                       {"operator", "neg", rule_unary<kUnaryNegative>},
                                       {"operator", "pos", rule_unary<kUnaryPositive>},
                                       {"operator", "not_", rule_unary<kUnaryNot>},
                                       {"operator", "invert", rule_unary<kUnaryInvert>},
                                       {"operator", "getitem", rule_getitem},
                                       {"operator", "setitem", rule_setitem},
                                       {"operator", "is_", rule_is},
                                       {"operator", "truth", rule_truth},
                                       {"operator", "contains", rule_contains},
                                       {"operator", "index", rule_index}};

}  // namespace

std::span<const BuiltinRow> number_rules() { return kNumberRules; }

}  // namespace md
