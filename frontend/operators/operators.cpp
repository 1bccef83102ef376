// Unary and binary operators: by the kinds of the operands, in Python's order of attempts.
#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/operators/object_operators.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/instance_calls.h"
#include "frontend/values/iterators.h"
#include "frontend/values/methods.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

namespace {

struct BinaryRow {
  const char* name;  // operator module, not in place
  const char* dunder;
  const char* symbol;
  PyObject* (*fold)(PyObject*, PyObject*);
  PyObject* (*fold_inplace)(PyObject*, PyObject*);
};

PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
PyObject* inplace_power(PyObject* a, PyObject* b) { return PyNumber_InPlacePower(a, b, Py_None); }

constexpr BinaryRow kBinary[] = {{"add", "add", "+", PyNumber_Add, PyNumber_InPlaceAdd},
                                 {"and_", "and", "&", PyNumber_And, PyNumber_InPlaceAnd},
                                 {"floordiv", "floordiv", "//", PyNumber_FloorDivide, PyNumber_InPlaceFloorDivide},
                                 {"lshift", "lshift", "<<", PyNumber_Lshift, PyNumber_InPlaceLshift},
                                 {"matmul", "matmul", "@", PyNumber_MatrixMultiply, PyNumber_InPlaceMatrixMultiply},
                                 {"mul", "mul", "*", PyNumber_Multiply, PyNumber_InPlaceMultiply},
                                 {"mod", "mod", "%", PyNumber_Remainder, PyNumber_InPlaceRemainder},
                                 {"or_", "or", "|", PyNumber_Or, PyNumber_InPlaceOr},
                                 {"pow", "pow", "** or pow()", power, inplace_power},
                                 {"rshift", "rshift", ">>", PyNumber_Rshift, PyNumber_InPlaceRshift},
                                 {"sub", "sub", "-", PyNumber_Subtract, PyNumber_InPlaceSubtract},
                                 {"truediv", "truediv", "/", PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide},
                                 {"xor", "xor", "^", PyNumber_Xor, PyNumber_InPlaceXor}};
enum : int { kAdd = 0, kAnd = 1, kMul = 5, kMod = 6, kOr = 7, kSub = 10, kXor = 12 };

[[noreturn]] void unsupported_operands(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& symbol) {
  t.raise(PyExc_TypeError,
          "unsupported operand type(s) for " + symbol + ": '" + operand_type(a) + "' and '" + operand_type(b) + "'");
}

std::vector<ValueRef> joined(const std::vector<ValueRef>& a, const std::vector<ValueRef>& b) {
  std::vector<ValueRef> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

constexpr std::size_t kLongest = 1'000'000;  // elements of a sequence whose every element is a value

std::vector<ValueRef> repeated(Tracer& t, const std::vector<ValueRef>& items, std::int64_t n) {
  std::vector<ValueRef> out;
  if (n > 0 && items.size() > kLongest / static_cast<std::size_t>(n))
    unmodelled("sequence * " + std::to_string(n), "a sequence this long");
  (void)t;
  for (std::int64_t k = 0; k < n; ++k) out.insert(out.end(), items.begin(), items.end());
  return out;
}

// One of two tuples that are added is a Size, and so is the sum: bools are ints there.
ValueRef sum_of_sizes(Tracer& t, const TupleValue& a, const TupleValue& b) {
  std::vector<ValueRef> items = joined(a.items, b.items);
  for (ValueRef& item : items)
    if (is_true_constant(item, Py_True) || is_true_constant(item, Py_False))
      item = t.integer(is_true_constant(item, Py_True));
  return make_ref<TupleValue>(std::move(items), is_size_type(b.type) ? b.type : a.type);
}

// Concatenation and repetition of lists and tuples, which keep their elements' identity.
ValueRef sequence_op(Tracer& t, const ValueRef& a, const ValueRef& b, int op, bool inplace) {
  std::int64_t n;
  if (auto* x = as<ListValue>(a)) {
    if (op == kAdd && inplace) {
      extend_list(t, *x, b);
      return a;
    }
    if (auto* y = as<ListValue>(b); op == kAdd && y) return make_ref<ListValue>(joined(x->items, y->items));
    if (op == kMul && constant_int(b, n)) {
      if (!inplace) return make_ref<ListValue>(repeated(t, x->items, n));
      x->items = repeated(t, x->items, n);
      x->changed(t);
      return a;
    }
  }
  if (auto* x = as<TupleValue>(a)) {
    auto* y = as<TupleValue>(b);
    if (op == kAdd && y && (is_size_type(x->type) || is_size_type(y->type))) return sum_of_sizes(t, *x, *y);
    if (op == kAdd && y && x->is_exact() && y->items.empty()) return a;
    if (op == kAdd && y && y->is_exact() && x->items.empty()) return b;
    if (op == kMul && x->is_exact() && constant_int(b, n) && n == 1) return a;
    if (op == kAdd && y) return make_ref<TupleValue>(joined(x->items, y->items));
    if (op == kMul && constant_int(b, n)) return make_ref<TupleValue>(repeated(t, x->items, n), plain_or_size(x->type));
  }
  if (op == kMul && constant_int(a, n) && (b->kind == ValueKind::List || b->kind == ValueKind::Tuple))
    return sequence_op(t, b, a, op, false);
  return {};
}

// | & - ^ where one side is the keys or items of a dict: a set, made by Python from the key objects of both sides.
ValueRef view_op(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  if (op != kOr && op != kAnd && op != kSub && op != kXor) return {};
  if (!is_set_view(a) && !is_set_view(b)) return {};
  std::vector<std::pair<PyRef, ValueRef>> known;  // by key object
  const auto keys_of = [&](const ValueRef& v) -> PyRef {
    auto* view = as<DictViewValue>(v);
    auto* set = as<SetValue>(v);
    const auto items = set ? set->items(t) : collect(t, v);
    if (view && view->is_set_like()) {
      PyRef real = view->real_view(t);
      if (!real) unmodelled(v->print(), "a set of items that are no constants");
      if (view->which == ViewKind::Keys)
        for (auto& x : items) known.emplace_back(key_object(t, x), t.realize(x));
      return real;
    }
    PyRef list = checked(PyList_New(0));
    for (auto& x : items) {
      known.emplace_back(key_object(t, x), t.realize(x));
      checked(PyList_Append(list.get(), known.back().first.get()));
    }
    return set ? set->members : list;
  };
  if (b->kind == ValueKind::Constant && !Py_TYPE(b->real.get())->tp_iter) return {};
  if (a->kind == ValueKind::Constant && !Py_TYPE(a->real.get())->tp_iter) return {};
  PyRef x = keys_of(a), y = keys_of(b);
  PyRef r = PyRef::steal(kBinary[op].fold(x.get(), y.get()));
  if (!r) t.raise_current();
  auto out = make_ref<SetValue>(false);
  out->members = r;
  PyRef it = checked(PyObject_GetIter(r.get()));
  while (PyRef k = PyRef::steal(PyIter_Next(it.get()))) {
    checked(PyDict_SetItem(out->values.get(), k.get(), checked(PyLong_FromSize_t(out->held.size())).get()));
    const auto place = std::find_if(known.begin(), known.end(), [&](auto& e) { return e.first.get() == k.get(); });
    out->held.push_back(place != known.end() ? place->second : from_folded(t, k.get()));
  }
  return out;
}

bool is_sequence(const ValueRef& v) {
  PyTypeObject* type = v->kind == ValueKind::Object ? nullptr : v->python_type();
  return type && type->tp_as_sequence && (type->tp_as_sequence->sq_concat || type->tp_as_sequence->sq_repeat);
}

// A string's % looks at what its operand holds.
bool formats(const ValueRef& a, int op) {
  return op == kMod && a->kind == ValueKind::Constant &&
         (PyUnicode_Check(a->real.get()) || PyBytes_Check(a->real.get()));
}
bool holds_any_tensor(Tracer& t, const ValueRef& v) {
  const auto is_tensor_value = [&](const ValueRef& x) { return t.realize(x)->kind == ValueKind::Tensor; };
  if (auto* tuple = as<TupleValue>(v)) return std::ranges::any_of(tuple->items, is_tensor_value);
  if (auto* dict = as<DictValue>(v))
    return std::ranges::any_of(dict->live(), [&](const auto& e) { return is_tensor_value(e.value); });
  return v->kind == ValueKind::Tensor;
}
void realize_parts(Tracer& t, const ValueRef& v, int depth = 0) {
  if (depth > 16) return;
  const auto part = [&](const ValueRef& x) { realize_parts(t, t.realize(x), depth + 1); };
  if (auto* tuple = as<TupleValue>(v)) std::ranges::for_each(tuple->items, part);
  if (auto* list = as<ListValue>(v)) std::ranges::for_each(list->items, part);
  if (auto* dict = as<DictValue>(v)) {
    for (auto& e : dict->live()) part(e.value);
  }
}

constexpr int kInplace = 13;  // BINARY_OP numbers the operators in place from here

// One operation on its way through the rows.
struct Operation {
  Tracer& t;
  ValueRef a, b;
  int number;

  bool inplace() const { return number >= kInplace; }
  int op() const { return number % kInplace; }
  const BinaryRow& row() const { return kBinary[op()]; }
  bool either(ValueKind k) const { return a->kind == k || b->kind == k; }
  std::string symbol() const { return std::string(row().symbol) + (inplace() ? "=" : ""); }
  [[noreturn]] void no_rule() const {
    const auto in_c = [](const ValueRef& v) { return v->kind == ValueKind::Opaque && is_c_type(v->python_type()); };
    if (in_c(a) || in_c(b))  // only its C code knows
      graph_break<GB0059>(std::string("operator.") + row().name, listed_types(t, {a, b}), std::string("False"));
    not_modelled<GB0059>(std::string("operator.") + row().name, listed_types(t, {a, b}), std::string("False"));
  }
};

// A row answers, or gives null: the next one is asked.
using OperatorRow = ValueRef (*)(Operation& o);

ValueRef arrays(Operation& o) {
  if (!o.either(ValueKind::Array)) return {};
  for (const auto& [number, beside] : {std::pair{&o.b, &o.a}, std::pair{&o.a, &o.b}}) {
    if (number == &o.a && o.inplace()) break;  // the number is what is bound anew
    if (ValueRef tensor = number_beside(*number, *beside)) {
      *number = std::move(tensor);
      return {};
    }
  }
  if (ValueRef r = array_binary(o.t, o.a, o.b, o.row().dunder, o.inplace())) return r;
  o.no_rule();
}

// Instances of classes of the program.
ValueRef objects(Operation& o) {
  if (tensor_instance(o.a) || tensor_instance(o.b)) return object_op(o.t, o.a, o.b, o.row().dunder, o.inplace());
  if (o.a->kind == ValueKind::Tensor) o.b = data_of(o.b);
  if (o.a->kind == ValueKind::Size) {
    // A reflected method of the right operand's own class comes first, as that class is derived from int.
    auto* right = as<ObjectValue>(o.b);
    const std::string reflected = "__r" + std::string(o.row().dunder) + "__";
    if (!right || !right->special(o.t, reflected.c_str())) o.b = data_of(o.b);
  }
  const bool below_c = (is_below_c(*o.a) || is_below_c(*o.b)) && !o.either(ValueKind::Tensor);
  if (!o.either(ValueKind::Object) && !below_c) return {};
  const std::string method = "__" + std::string(o.row().dunder) + "__";
  if (o.b->kind == ValueKind::Tensor && data_of(o.a).get() != o.a.get() &&
      !static_cast<ObjectValue&>(*o.a).special(o.t, method.c_str()))
    return o.t.binary_op(data_of(o.a), o.b, o.number);
  // What repeats a sequence may be anything with an __index__, unless it multiplies by itself.
  auto* times = o.op() == kMul && is_sequence(o.a) ? as<ObjectValue>(o.b) : nullptr;
  if (times && !times->special(o.t, "__rmul__") && times->special(o.t, "__index__"))
    return o.t.binary_op(o.a, index_value(o.t, o.b), o.number);
  if (ValueRef r = object_op(o.t, o.a, o.b, o.row().dunder, o.inplace())) return r;
  if (is_sequence(o.a) || (is_sequence(o.b) && o.op() == kMul)) o.no_rule();  // their types have a say of their own
  unsupported_operands(o.t, o.a, o.b, o.symbol());
}

// A sequence asks the tensor how often to repeat it.
bool needs_content(const Operation& o) {
  const auto repeats = [](const ValueRef& v) {
    const bool text =
        v->kind == ValueKind::Constant && (PyUnicode_Check(v->real.get()) || PyBytes_Check(v->real.get()));
    return text || v->kind == ValueKind::List || v->kind == ValueKind::Tuple;
  };
  const auto* tensor = as<TensorValue>(o.a->kind == ValueKind::Tensor ? o.a : o.b);
  return o.op() == kMul && tensor && is_integral(tensor->type.dtype) && (repeats(o.a) || repeats(o.b));
}

ValueRef tensors(Operation& o) {
  if (!o.either(ValueKind::Tensor)) return {};
  if (needs_content(o)) graph_break<GB0033>(std::string("operator.") + o.row().name);
  std::string name = o.row().name;
  if (o.inplace() && o.a->kind == ValueKind::Tensor)
    name = "i" + (name.back() == '_' ? name.substr(0, name.size() - 1) : name);
  return o.t.call_operator(name, CallArgs{{o.a, o.b}, {}});
}

ValueRef sizes(Operation& o) {
  if (formats(o.a, o.op())) realize_parts(o.t, o.b);
  return size_binary(o.t, o.a, o.b, o.row().name);
}

ValueRef numbers(Operation& o) {
  if (!o.either(ValueKind::Number)) return {};
  return number_operator(o.t, (o.inplace() && !o.t.config.trace_more ? "i" : "") + std::string(o.row().name),
                         {o.a, o.b});
}

// Sizes and floats, and sizes where the result is a float.
ValueRef floats_of_sizes(Operation& o) {
  const auto is_number = [](const ValueRef& v) {
    return v->kind == ValueKind::Size ||
           (v->kind == ValueKind::Constant && (PyFloat_CheckExact(v->real.get()) || PyLong_CheckExact(v->real.get())));
  };
  if (!o.either(ValueKind::Size) || !is_number(o.a) || !is_number(o.b)) return {};
  const std::string name = o.row().name;
  const bool floats = o.a->python_type() == &PyFloat_Type || o.b->python_type() == &PyFloat_Type;
  return floats || name == "truediv" || name == "pow" ? number_operator(o.t, name, {o.a, o.b}) : ValueRef();
}

ValueRef sequences(Operation& o) { return sequence_op(o.t, o.a, o.b, o.op(), o.inplace()); }

// | & - ^ of sets.
ValueRef sets(Operation& o) {
  struct Methods {
    int op;
    const char *name, *update;
  };
  static constexpr Methods kMethods[] = {{kOr, "union", "update"},
                                         {kAnd, "intersection", "intersection_update"},
                                         {kSub, "difference", "difference_update"},
                                         {kXor, "symmetric_difference", "symmetric_difference_update"}};
  const auto methods = std::ranges::find(kMethods, o.op(), &Methods::op);
  if (methods == std::end(kMethods) || !o.either(ValueKind::Set)) return {};
  const ValueRef left = frozen_as_set(o.t, o.a), right = frozen_as_set(o.t, o.b);
  auto *x = as<SetValue>(left), *y = as<SetValue>(right);
  if (!x || !y) return {};
  const bool updates = o.inplace() && !x->frozen;
  const PyRef name = checked(PyUnicode_FromString(updates ? methods->update : methods->name));
  ValueRef r = x->call_method(o.t, name.get(), CallArgs{{right}, {}});
  return updates ? o.a : r;
}

ValueRef views(Operation& o) {
  if (o.a->kind == ValueKind::Dict && o.inplace() && o.op() == kOr) return {};  // which takes pairs first
  return view_op(o.t, o.a, o.b, o.op());
}

// | of dicts.
ValueRef dicts(Operation& o) {
  Tracer& t = o.t;
  const ValueRef a = o.inplace() ? o.a : shown_mapping(o.a), b = shown_mapping(o.b);
  auto *d = as<DictValue>(a), *e = as<DictValue>(b);
  if (!d || o.op() != kOr) return {};
  if (!e && o.inplace()) {
    fill_dict(t, *d, o.b);
    return o.a;
  }
  if (!e) return {};
  d->observe_keys(t), e->observe_keys(t);
  auto* shape = d->type != &PyDict_Type ? d : e;  // of a subclass and a dict the result is of the subclass
  Ref<DictValue> out = o.inplace() ? Ref<DictValue>(d) : make_ref<DictValue>(shape->type);
  if (!o.inplace()) {
    out->default_factory = shape->default_factory;
    for (auto& item : d->live()) out->put(t, item.key, item.value);
  }
  for (auto& item : e->live()) out->put(t, item.key, item.value);
  return out;
}

ValueRef constants(Operation& o) {
  if (!o.either(ValueKind::Constant) && o.a->kind != ValueKind::Size && o.a->kind != ValueKind::Class &&
      o.a->kind != ValueKind::Builtin)
    return {};
  PyRef x = o.a->as_constant(), y = o.b->as_constant();
  if (!x || !y) return {};
  PyRef r = PyRef::steal((o.inplace() ? o.row().fold_inplace : o.row().fold)(x.get(), y.get()));
  if (!r) o.t.raise_current();
  const bool can_change = Py_TYPE(x.get())->tp_hash == PyObject_HashNotImplemented;
  if (r.get() == x.get() && can_change) return {};  // what has changed is a copy
  return from_result(o.t, r.get());
}

ValueRef library_objects(Operation& o) { return library_operator(o.t, o.a, o.b, o.row().dunder, o.inplace()); }

// Some of its places take any object: %s, %r, %a.
bool writes_text(const ValueRef& format) {
  if (!PyUnicode_Check(format->real.get())) return true;
  const std::string text = text_of(format->real.get());
  return text.find_first_of("sra", std::min(text.find('%'), text.size())) != std::string::npos;
}

bool holds_any_object(Tracer& t, const ValueRef& v) {
  const auto is_object = [&](const ValueRef& x) { return t.realize(x)->kind == ValueKind::Object; };
  if (auto* tuple = as<TupleValue>(v)) return std::ranges::any_of(tuple->items, is_object);
  if (auto* dict = as<DictValue>(v))
    return std::ranges::any_of(dict->live(), [&](const auto& e) { return is_object(e.value); });
  return is_object(v);
}

// "%s" % x: what is written for a tensor only a run knows.
ValueRef texts(Operation& o) {
  if (formats(o.a, o.op()) && o.b->kind == ValueKind::Tensor && !writes_text(o.a)) graph_break<GB0033>("operator.mod");
  if (formats(o.a, o.op()) && holds_any_tensor(o.t, o.b)) o.no_rule();
  if (formats(o.a, o.op()) && PyUnicode_Check(o.a->real.get()) && writes_text(o.a) && holds_any_object(o.t, o.b))
    return call_polyfill(o.t, "text", "percent", {o.a, o.b});
  return {};
}

constexpr OperatorRow kOperatorRows[] = {texts, arrays,          objects,        tensors, numbers,
                                         sizes, floats_of_sizes, sequences,      sets,    views,
                                         dicts, constants,       library_objects};

}  // namespace

ValueRef Tracer::binary_op(const ValueRef& ra, const ValueRef& rb, int number) {
  Operation o{*this, realize(ra), realize(rb), number};
  if (ValueRef answer = ask_modes_about_binary(*this, o.a, o.b, number)) return answer;
  if (o.a->kind == ValueKind::Tensor) o.b = scalar_as_number(*this, o.b);
  if (o.b->kind == ValueKind::Tensor) o.a = scalar_as_number(*this, o.a);
  for (OperatorRow row : kOperatorRows)
    if (ValueRef r = row(o)) return r;
  if (!formats(o.a, o.op()) && empty_like(o.a) && empty_like(o.b))
    refuse_operands(*this, o.a, o.b, o.inplace() ? o.row().fold_inplace : o.row().fold, o.row().name);
  if (o.a->kind <= ValueKind::Range && o.b->kind <= ValueKind::Range) unsupported_operands(*this, o.a, o.b, o.symbol());
  o.no_rule();
}

ValueRef Tracer::unary_op(const ValueRef& raw, int op) {
  Tracer& t = *this;
  ValueRef v = t.realize(raw);
  if (auto* n = as<NumberValue>(v); n && (n->drawn || op != kUnaryNot)) {
    static const char* const of_numbers[] = {"pos", "neg", "invert"};
    if (op == kUnaryNot) break_on_drawn("not_", {v});
    if (ValueRef r = number_operator(t, of_numbers[op], {v})) return r;
  }
  if (op == kUnaryNot) {
    if (v->kind == ValueKind::Tensor || v->kind == ValueKind::Array) graph_break<GB0170>(v->print());
    if (auto* test = as<SizeTestValue>(v)) {
      static constexpr int kOpposite[] = {Py_GE, Py_GT, Py_NE, Py_EQ, Py_LE, Py_LT};  // by Py_LT ... Py_GE
      return make_ref<SizeTestValue>(test->lhs, test->rhs, kOpposite[test->op]);
    }
    return t.boolean(!v->truth(t));
  }
  static const char* const names[] = {"pos", "neg", "invert"};
  if (v->kind == ValueKind::Tensor && t.overrides.asks_modes()) return tensor_instance_unary(t, v, op);
  if (v->kind == ValueKind::Tensor) return t.call_operator(names[op], CallArgs{{v}, {}});
  if (auto* x = as<ArrayValue>(v))
    if (ValueRef r = x->operate(t, std::string("__") + names[op] + "__", {})) return r;
  if (auto* o = as<ObjectValue>(v)) {
    if (ValueRef m = o->special(t, (std::string("__") + names[op] + "__").c_str())) return t.call(m, {});
    if (tensor_instance(v)) return tensor_instance_unary(t, v, op);
    if (o->payload) return t.unary_op(o->payload, op);
  }
  if (ValueRef r = asked_instance(t, *v, (std::string("__") + names[op] + "__").c_str())) return r;
  if (auto* n = as<SizeValue>(v); n && op != kUnaryInvert)
    return op == kUnaryNegative ? size_value(t, Size(0) - n->size) : v;
  PyRef c = v->as_constant();
  if (!c) unmodelled_method(*v, std::string("__") + names[op] + "__");
  PyRef r = PyRef::steal(op == kUnaryPositive   ? PyNumber_Positive(c.get())
                         : op == kUnaryNegative ? PyNumber_Negative(c.get())
                                                : PyNumber_Invert(c.get()));
  if (!r) t.raise_current();
  return from_result(t, r.get());
}

}  // namespace md
