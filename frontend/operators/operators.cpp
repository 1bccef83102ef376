// Unary, binary, comparison, identity, membership, subscripts.
#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/opcodes/family.h"
#include "frontend/operators/object_operators.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/deque.h"
#include "frontend/values/iterators.h"
#include "frontend/values/methods.h"
#include "frontend/values/objects.h"
#include "frontend/values/refusals.h"
#include "frontend/values/size_value.h"
#include "frontend/values/stand_in.h"

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

std::string type_text(const ValueRef& v) { return v->python_type() ? type_name(v->python_type()) : "object"; }

[[noreturn]] void unsupported_operands(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& symbol) {
  t.raise(PyExc_TypeError,
          "unsupported operand type(s) for " + symbol + ": '" + type_text(a) + "' and '" + type_text(b) + "'");
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

bool is_set_view(const ValueRef& v) {
  auto* view = as<DictViewValue>(v);
  return view && view->is_set_like();
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

// Every element of `part` is in `whole`.
bool contains_all(Tracer& t, const ValueRef& whole, const ValueRef& part) {
  for (auto& x : collect(t, part))
    if (!whole->contains(t, x)) return false;
  return true;
}

// Comparisons of keys and items with each other and with sets; null: something else.
ValueRef compare_views(Tracer& t, const ValueRef& a, const ValueRef& b, int op) {
  const auto is_set = [](const ValueRef& v) { return v->kind == ValueKind::Set || is_set_view(v); };
  if ((!is_set_view(a) && !is_set_view(b)) || !is_set(a) || !is_set(b)) return {};
  const std::int64_t m = *a->length(t), n = *b->length(t);
  switch (op) {
    case Py_EQ:
      return t.boolean(m == n && contains_all(t, b, a));
    case Py_NE:
      return t.boolean(m != n || !contains_all(t, b, a));
    case Py_LT:
      return t.boolean(m < n && contains_all(t, b, a));
    case Py_LE:
      return t.boolean(m <= n && contains_all(t, b, a));
    case Py_GT:
      return t.boolean(m > n && contains_all(t, a, b));
    default:
      return t.boolean(m >= n && contains_all(t, a, b));
  }
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

ValueRef binary_op(Tracer& t, const ValueRef& ra, const ValueRef& rb, int number) {
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
      return binary_op(t, data_of(a), b, number);
    // What repeats a sequence may be anything with an __index__, unless it multiplies by itself.
    auto* times = op == kMul && is_sequence(a) ? as<ObjectValue>(b) : nullptr;
    if (times && !times->special(t, "__rmul__") && times->special(t, "__index__"))
      return binary_op(t, a, index_value(t, b), number);
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

ValueRef unary_op(Tracer& t, const ValueRef& raw, int op) {
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
    if (o->payload) return unary_op(t, o->payload, op);
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

static bool compares_by_identity(PyTypeObject* type) {
  return !type->tp_richcompare || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

static constexpr const char* kComparisons[] = {"lt", "le", "eq", "ne", "gt", "ge"};

// By a library object's own method; null: there is none, or it gave NotImplemented, and its object is in `declined`.
static ValueRef library_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op, const Value* (&declined)[2]) {
  static const int mirrored[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
  for (int side = 0; side < 2; ++side) {
    auto* library = as<StandInValue>(side == 0 ? a : b);
    const std::string name = "__" + std::string(kComparisons[side == 0 ? op : mirrored[op]]) + "__";
    ValueRef m = library ? library->method(t, name.c_str()) : ValueRef();
    if (!m) continue;
    ValueRef r = t.call(m, CallArgs{{side == 0 ? b : a}, {}});
    if (!is_true_constant(r, Py_NotImplemented)) return r;
    declined[side] = library;
  }
  return {};
}

ValueRef Tracer::compare(const ValueRef& ra, const ValueRef& rb, int op) {
  ValueRef a = realize(ra), b = realize(rb);
  if (is_tensor_value(a)) b = scalar_as_number(*this, b);
  if (is_tensor_value(b)) a = scalar_as_number(*this, a);
  if (a->kind == ValueKind::Array || b->kind == ValueKind::Array) return array_compare(*this, a, b, op);
  const Value* declined[] = {nullptr, nullptr};
  if (ValueRef r = library_compare(*this, a, b, op, declined)) return r;
  if (a->kind == ValueKind::Tensor) b = data_of(b);
  if (a->kind == ValueKind::Object || b->kind == ValueKind::Object) {
    if (ValueRef r = object_compare(*this, a, b, op)) return r;
    if (b->kind == ValueKind::Tensor) return compare(data_of(a), b, op);
    if ((op == Py_EQ || op == Py_NE) && a->kind != ValueKind::Tensor && b->kind != ValueKind::Tensor)
      return identity_compare(*this, a, b, op);
  }
  if (a->kind == ValueKind::Tensor || b->kind == ValueKind::Tensor) {
    const bool other_is_number = (a->kind == ValueKind::Tensor ? b : a)->kind == ValueKind::Tensor ||
                                 (a->kind == ValueKind::Tensor ? b : a)->kind == ValueKind::Constant ||
                                 (a->kind == ValueKind::Tensor ? b : a)->kind == ValueKind::Size ||
                                 (a->kind == ValueKind::Tensor ? b : a)->kind == ValueKind::Number;
    if (!other_is_number || is_true_constant(a, Py_None) || is_true_constant(b, Py_None))
      if (op == Py_EQ || op == Py_NE) return boolean(op == Py_NE);
    return call_operator(kComparisons[op], CallArgs{{a, b}, {}});
  }
  if (ValueRef r = size_compare(*this, a, b, op)) return r;
  const bool sequences = (a->kind == ValueKind::List || a->kind == ValueKind::Tuple) && a->kind == b->kind;
  const bool keep_symbols = sequences && (holds_size(a) || holds_size(b));
  PyRef x = keep_symbols ? PyRef() : a->as_constant(), y = keep_symbols ? PyRef() : b->as_constant();
  if (x && y) {
    PyRef r = PyRef::steal(PyObject_RichCompare(x.get(), y.get(), op));
    if (!r) raise_current();
    return from_result(*this, r.get());
  }
  if (auto *p = as<SliceValue>(a), *q = as<SliceValue>(b); p && q && p != q)
    return compare(make_ref<TupleValue>(std::vector<ValueRef>{p->start, p->stop, p->step}),
                   make_ref<TupleValue>(std::vector<ValueRef>{q->start, q->stop, q->step}), op);
  if (ValueRef r = compare_views(*this, a, b, op)) return r;
  if (auto *p = as<SetValue>(a), *q = as<SetValue>(b); p && q) {
    PyRef r = checked(PyObject_RichCompare(p->members.get(), q->members.get(), op));
    return from_folded(*this, r.get());
  }
  if (auto *p = as<SliceValue>(a), *q = as<SliceValue>(b); p && q)
    return compare(make_ref<TupleValue>(std::vector<ValueRef>{p->start, p->stop, p->step}),
                   make_ref<TupleValue>(std::vector<ValueRef>{q->start, q->stop, q->step}), op);
  for (const ValueRef* side : {&a, &b})
    if (((*side)->kind == ValueKind::Opaque || (*side)->kind == ValueKind::StandIn) && side->get() != declined[0] &&
        side->get() != declined[1] && !compares_by_identity((*side)->python_type()))
      not_modelled<GB0059>(std::string("operator.") + kComparisons[op], "[" + a->print() + ", " + b->print() + "]",
                           std::string("False"));
  if (op == Py_EQ || op == Py_NE) {
    const bool containers = (a->kind == b->kind) && (a->kind == ValueKind::List || a->kind == ValueKind::Tuple ||
                                                     a->kind == ValueKind::Dict || a->kind == ValueKind::Deque);
    if (PyTypeObject* type = a->python_type(); a->kind == b->kind && type && type->tp_iternext && !config.trace_more)
      listed_break<GB0023>(a->print(), std::string(kComparisons[op]), print_list({b}), std::string("{}"));
    if (!containers) return identity_compare(*this, a, b, op);
    return boolean(values_equal(*this, a, b) == (op == Py_EQ));
  }
  auto ordered_items = [](const ValueRef& v) -> const std::vector<ValueRef>* {
    if (auto* l = as<ListValue>(v)) return &l->items;
    if (auto* tup = as<TupleValue>(v)) return &tup->items;
    if (auto* d = as<DequeValue>(v)) return &d->items;
    return nullptr;
  };
  if (auto *p = ordered_items(a), *q = ordered_items(b); p && q && a->kind == b->kind) {
    for (std::size_t k = 0; k < std::min(p->size(), q->size()); ++k) {
      const ValueRef v = (*p)[k], w = (*q)[k];
      if (!values_equal(*this, v, w) && k < std::min(p->size(), q->size())) return compare((*p)[k], (*q)[k], op);
    }
    return compare(integer(static_cast<std::int64_t>(p->size())), integer(static_cast<std::int64_t>(q->size())), op);
  }
  static const char* const symbols[] = {"<", "<=", "==", "!=", ">", ">="};
  raise(PyExc_TypeError, std::string("'") + symbols[op] + "' not supported between instances of '" + type_text(a) +
                             "' and '" + type_text(b) + "'");
}

namespace {

OPCODE(UNARY_OP) { f.push(unary_op(t, f.pop(), i.a)); }

OPCODE(BINARY_OP) {
  ValueRef b = f.pop(), a = f.pop();
  f.push(binary_op(t, a, b, i.a));
}

OPCODE(COMPARE_OP) {
  ValueRef b = f.pop(), a = f.pop();
  ValueRef r = t.compare(a, b, i.a);
  if (i.b) {
    if (r->kind == ValueKind::Tensor || r->kind == ValueKind::Array) return f.push(r);  // the jump that follows decides
    r = t.boolean(t.realize(r)->truth(t));
  }
  f.push(std::move(r));
}

OPCODE(CONTAINS_OP) {
  ValueRef container = t.realize(f.pop()), item = f.pop();
  f.push(t.boolean(container->contains(t, item) != (i.a == 1)));
}

OPCODE(IS_OP) {
  ValueRef b = f.pop(), a = f.pop();
  f.push(t.boolean(same_object(t, a, b) != (i.a == 1)));
}

OPCODE(TO_BOOL) {
  ValueRef v = t.realize(f.top());
  if (v->kind == ValueKind::Tensor || v->kind == ValueKind::Array) return;  // the jump that follows decides
  f.pop();
  f.push(t.boolean(v->truth(t)));
}

OPCODE(BINARY_SUBSCR) {
  ValueRef key = f.pop(), container = t.realize(f.pop());
  f.push(container->get_item(t, key));
}

OPCODE(STORE_SUBSCR) {
  ValueRef key = f.pop(), container = t.realize(f.pop()), v = f.pop();
  container->set_item(t, key, v);
}

OPCODE(DELETE_SUBSCR) {
  ValueRef key = f.pop(), container = t.realize(f.pop());
  container->set_item(t, key, {});
}

constexpr OpcodeRow kRows[] = {{Opcode::UNARY_OP, UNARY_OP},
                               {Opcode::BINARY_OP, BINARY_OP},
                               {Opcode::COMPARE_OP, COMPARE_OP},
                               {Opcode::CONTAINS_OP, CONTAINS_OP},
                               {Opcode::IS_OP, IS_OP},
                               {Opcode::TO_BOOL, TO_BOOL},
                               {Opcode::BINARY_SUBSCR, BINARY_SUBSCR},
                               {Opcode::STORE_SUBSCR, STORE_SUBSCR},
                               {Opcode::DELETE_SUBSCR, DELETE_SUBSCR}};

}  // namespace

std::span<const OpcodeRow> operator_opcodes() { return kRows; }

}  // namespace md
