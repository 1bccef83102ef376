// Unary and binary operators: by the kinds of the operands, in Python's order of attempts.
#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/operators/object_operators.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/iterators.h"
#include "frontend/values/methods.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/refusals.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"

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
    if (auto* y = as<TupleValue>(b); op == kAdd && y)
      return make_ref<TupleValue>(joined(x->items, y->items), plain_or_size(is_size_type(y->type) ? y->type : x->type));
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

// | & - ^ of sets, | of dicts.
ValueRef set_op(Tracer& t, const ValueRef& a, const ValueRef& b, int op, bool inplace) {
  auto *x = as<SetValue>(a), *y = as<SetValue>(b);
  if (x && y && (op == kOr || op == kAnd || op == kSub || op == kXor)) {
    static const std::pair<int, const char*> names[] = {
        {kOr, "union"}, {kAnd, "intersection"}, {kSub, "difference"}, {kXor, "symmetric_difference"}};
    for (auto& [code, name] : names)
      if (op == code) {
        if (inplace && !x->frozen) {
          const std::string update = op == kOr ? "update" : std::string(name) + "_update";
          x->call_method(t, checked(PyUnicode_FromString(update.c_str())).get(), CallArgs{{b}, {}});
          return a;
        }
        return x->call_method(t, checked(PyUnicode_FromString(name)).get(), CallArgs{{b}, {}});
      }
  }
  if (ValueRef r = view_op(t, a, b, op)) return r;
  auto *d = as<DictValue>(a), *e = as<DictValue>(b);
  if (d && !e && op == kOr && inplace) {
    fill_dict(t, *d, b);
    return a;
  }
  if (d && e && op == kOr) {
    d->observe_keys(t), e->observe_keys(t);
    auto* shape = d->type != &PyDict_Type ? d : e;  // of a subclass and a dict the result is of the subclass
    Ref<DictValue> out = inplace ? Ref<DictValue>(d) : make_ref<DictValue>(shape->type);
    if (!inplace) out->default_factory = shape->default_factory;
    if (!inplace)
      for (auto& item : d->live()) out->put(t, item.key, item.value);
    for (auto& item : e->live()) out->put(t, item.key, item.value);
    return out;
  }
  return {};
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
void realize_parts(Tracer& t, const ValueRef& v, int depth = 0) {
  if (depth > 16) return;
  const auto part = [&](const ValueRef& x) { realize_parts(t, t.realize(x), depth + 1); };
  if (auto* tuple = as<TupleValue>(v)) std::ranges::for_each(tuple->items, part);
  if (auto* list = as<ListValue>(v)) std::ranges::for_each(list->items, part);
  if (auto* dict = as<DictValue>(v)) {
    for (auto& e : dict->live()) part(e.value);
  }
}

bool is_tensor_value(const ValueRef& v) { return v->kind == ValueKind::Tensor; }
bool is_array_value(const ValueRef& v) { return v->kind == ValueKind::Array; }

}  // namespace

ValueRef Tracer::binary_op(const ValueRef& ra, const ValueRef& rb, int number) {
  Tracer& t = *this;
  ValueRef a = t.realize(ra), b = t.realize(rb);
  const bool inplace = number >= 13;
  const int op = number % 13;
  const BinaryRow& row = kBinary[op];
  const std::string symbol = std::string(row.symbol) + (inplace ? "=" : "");
  if (is_tensor_value(a)) b = scalar_as_number(t, b);
  if (is_tensor_value(b)) a = scalar_as_number(t, a);
  if (is_array_value(a) || is_array_value(b)) {
    if (ValueRef r = array_binary(t, a, b, row.dunder, inplace)) return r;
    not_modelled<GB0059>(std::string("operator.") + row.name, "[" + a->print() + ", " + b->print() + "]",
                         std::string("False"));
  }
  if (is_tensor_value(a) || a->kind == ValueKind::Size) b = data_of(b);
  if (a->kind == ValueKind::Object || b->kind == ValueKind::Object) {
    if (is_tensor_value(b) && data_of(a).get() != a.get() &&
        !static_cast<ObjectValue&>(*a).special(t, ("__" + std::string(row.dunder) + "__").c_str()))
      return t.binary_op(data_of(a), b, number);
    // What repeats a sequence may be anything with an __index__, unless it multiplies by itself.
    auto* times = op == kMul && is_sequence(a) ? as<ObjectValue>(b) : nullptr;
    if (times && !times->special(t, "__rmul__") && times->special(t, "__index__"))
      return t.binary_op(a, index_value(t, b), number);
    if (ValueRef r = object_op(t, a, b, row.dunder, inplace)) return r;
    if (is_sequence(a) || (is_sequence(b) && op == kMul))  // their types have a say of their own
      not_modelled<GB0059>(std::string("operator.") + row.name, "[" + a->print() + ", " + b->print() + "]",
                           std::string("False"));
    unsupported_operands(t, a, b, symbol);
  }
  if (is_tensor_value(a) || is_tensor_value(b)) {
    std::string name = row.name;
    if (inplace && is_tensor_value(a)) name = "i" + (name.back() == '_' ? name.substr(0, name.size() - 1) : name);
    return t.call_operator(name, CallArgs{{a, b}, {}});
  }
  if (formats(a, op)) realize_parts(t, b);
  if (ValueRef r = size_binary(t, a, b, row.name)) return r;
  if (ValueRef r = sequence_op(t, a, b, op, inplace)) return r;
  if (ValueRef r = set_op(t, a, b, op, inplace)) return r;
  if (a->kind == ValueKind::Constant || b->kind == ValueKind::Constant || a->kind == ValueKind::Size ||
      a->kind == ValueKind::Class || a->kind == ValueKind::Builtin) {
    PyRef x = a->as_constant(), y = b->as_constant();
    if (x && y) {
      PyRef r = PyRef::steal(row.fold(x.get(), y.get()));
      if (!r) t.raise_current();
      return from_result(t, r.get());
    }
  }
  if (ValueRef r = library_operator(t, a, b, row.dunder, inplace)) return r;
  if (!formats(a, op) && empty_like(a) && empty_like(b))
    refuse_operands(t, a, b, inplace ? row.fold_inplace : row.fold, row.name);
  if (a->kind <= ValueKind::Range && b->kind <= ValueKind::Range) unsupported_operands(t, a, b, symbol);
  not_modelled<GB0059>(std::string("operator.") + row.name, "[" + a->print() + ", " + b->print() + "]",
                       std::string("False"));
}

ValueRef Tracer::unary_op(const ValueRef& raw, int op) {
  Tracer& t = *this;
  ValueRef v = t.realize(raw);
  if (op == kUnaryNot) {
    if (v->kind == ValueKind::Tensor || v->kind == ValueKind::Array) graph_break<GB0170>(v->print());
    return t.boolean(!v->truth(t));
  }
  static const char* const names[] = {"pos", "neg", "invert"};
  if (v->kind == ValueKind::Tensor) return t.call_operator(names[op], CallArgs{{v}, {}});
  if (auto* x = as<ArrayValue>(v))
    if (ValueRef r = x->operate(t, std::string("__") + names[op] + "__", {})) return r;
  if (auto* o = as<ObjectValue>(v)) {
    if (ValueRef m = o->special(t, (std::string("__") + names[op] + "__").c_str())) return t.call(m, {});
    if (o->payload) return t.unary_op(o->payload, op);
  }
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
