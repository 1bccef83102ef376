// Building, unpacking and formatting.
#include "frontend/cpython/object_attr.h"
#include "frontend/marked_callables/texts.h"
#include "frontend/opcodes/family.h"
#include "frontend/trace/listed_raises.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/call_errors.h"
#include "frontend/values/enumerations.h"
#include "frontend/values/iterators.h"
#include "frontend/values/length_hint.h"
#include "frontend/values/methods.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/slices.h"

namespace md {

static std::vector<ValueRef> pop_n(SymbolicFrame& f, int n) {
  std::vector<ValueRef> out(f.stack.end() - n, f.stack.end());
  f.stack.resize(f.stack.size() - static_cast<std::size_t>(n));
  return out;
}

OPCODE(BUILD_TUPLE) { f.push(make_ref<TupleValue>(pop_n(f, i.a))); }
OPCODE(BUILD_LIST) { f.push(make_ref<ListValue>(pop_n(f, i.a))); }

OPCODE(BUILD_SET) {
  if (t.config.no_build_set) graph_break<GB0200>();
  auto s = make_ref<SetValue>(false);
  for (auto& v : pop_n(f, i.a)) s->add(t, v);
  f.push(s);
}

OPCODE(BUILD_STRING) {
  PyRef parts = checked(PyList_New(0));
  std::vector<ValueRef> pieces = pop_n(f, i.a);
  for (ValueRef& v : pieces) v = t.realize(v);
  if (ValueRef text = joined_text(pieces)) return f.push(text);
  for (auto& v : pieces) {
    PyRef c = t.realize(v)->as_constant();
    if (!c) graph_break<GB0021>(v->print());
    checked(PyList_Append(parts.get(), c.get()));
  }
  f.push(t.constant(checked(PyUnicode_Join(checked(PyUnicode_FromString("")).get(), parts.get()))));
}

OPCODE(BUILD_MAP) {
  auto d = make_ref<DictValue>(&PyDict_Type);
  auto items = pop_n(f, 2 * i.a);
  for (std::size_t k = 0; k + 1 < items.size(); k += 2) d->put(t, items[k], items[k + 1]);
  f.push(d);
}

OPCODE(BUILD_CONST_KEY_MAP) {
  auto* keys = as<TupleValue>(f.top());
  if (!keys) throw InternalError("BUILD_CONST_KEY_MAP without a tuple of keys");
  auto names = keys->items;
  f.pop();
  auto values = pop_n(f, i.a);
  auto d = make_ref<DictValue>(&PyDict_Type);
  for (std::size_t k = 0; k < values.size(); ++k) d->put(t, names[k], values[k]);
  f.push(d);
}

OPCODE(BUILD_SLICE) {
  auto p = pop_n(f, i.a);
  for (auto& v : p) v = t.realize(v);
  f.push(slice_between(p[0], p[1], i.a == 3 ? p[2] : t.none()));
}

OPCODE(LIST_APPEND) {
  ValueRef v = f.pop();
  as<ListValue>(t.realize(f.top(i.a)))->append(t, v);
}

OPCODE(SET_ADD) {
  ValueRef v = f.pop();
  as<SetValue>(t.realize(f.top(i.a)))->add(t, v);
}

OPCODE(MAP_ADD) {
  ValueRef v = f.pop(), k = f.pop();
  as<DictValue>(t.realize(f.top(i.a)))->put(t, k, v);
}

OPCODE(LIST_EXTEND) {
  ValueRef v = f.pop();
  auto* list = as<ListValue>(t.realize(f.top(i.a)));
  if (is_no_iterable(t.realize(v)))
    t.raise(PyExc_TypeError, "Value after * must be an iterable, not " + given_type(t.realize(v)));
  for (auto& x : collect_sized(t, v)) list->append(t, x);
}

OPCODE(SET_UPDATE) {
  ValueRef v = f.pop();
  auto* set = as<SetValue>(t.realize(f.top(i.a)));
  set->update(t, v);
}

// What is to be called with the dictionary that the instruction fills; 3.13 has a NULL above it.
static ValueRef called_with(SymbolicFrame& f, const Instruction& i) {
  ValueRef callee = f.top(i.a + 2);
  return is_null(callee) ? f.top(i.a + 3) : callee;
}

// {**a} and f(**a): the latter refuses a key twice.
static void merge(Tracer& t, SymbolicFrame& f, const Instruction& i, bool once) {
  ValueRef v = t.realize(f.pop());
  auto* into = as<DictValue>(t.realize(f.top(i.a)));
  ValueRef mapping = shown_mapping(v);
  auto* from = as<DictValue>(mapping);
  if (!from && is_no_mapping(v)) {
    const std::string type = given_type(v);
    t.raise(PyExc_TypeError,
            once ? callable_text(t.realize(called_with(f, i))) + " argument after ** must be a mapping, not " + type
                 : "'" + type + "' object is not a mapping");
  }
  if (!from) {
    if (v->kind != ValueKind::Object && v->kind != ValueKind::Polyfilled && v->kind != ValueKind::AttributeDict)
      unmodelled(v->print(), "** of a mapping that is not a dict");
    from = static_cast<DictValue*>((mapping = make_ref<DictValue>(&PyDict_Type)).get());
    fill_dict(t, *from, v);
  }
  from->observe_keys(t);
  for (auto& e : from->live()) {
    if (once && into->find(t, e.key)) {
      PyRef key = e.key->as_constant();
      if (!key || !PyUnicode_Check(key.get())) t.raise(PyExc_TypeError, "keywords must be strings");
      t.raise(PyExc_TypeError, callable_text(t.realize(called_with(f, i))) +
                                   " got multiple values for keyword argument '" + text_of(key.get()) + "'");
    }
    into->put(t, e.key, e.value);
  }
}

OPCODE(DICT_UPDATE) { merge(t, f, i, false); }
OPCODE(DICT_MERGE) { merge(t, f, i, true); }

// By its type, as Python finds out; what has a type of its own in the trace only says so when asked.
static bool can_iterate(const ValueRef& v) {
  if (v->kind == ValueKind::Tensor || v->kind == ValueKind::Array || v->kind == ValueKind::Polyfilled) return true;
  PyTypeObject* const type = v->kind == ValueKind::Constant ? Py_TYPE(v->real.get()) : v->python_type();
  return !type || type->tp_iter || (type->tp_as_sequence && type->tp_as_sequence->sq_item);
}

OPCODE(UNPACK_SEQUENCE) {
  ValueRef v = t.realize(f.pop());
  if (!can_iterate(v)) {
    if (breaks_where_raised(t)) graph_break<GB0063>(v->print());
    t.raise(PyExc_TypeError, "cannot unpack non-iterable " + type_name(v->python_type()) + " object");
  }
  auto items = collect(t, v);
  const auto want = static_cast<std::size_t>(i.a);
  if (items.size() != want && breaks_where_raised(t))
    graph_break<GB0077>(std::to_string(want), std::to_string(items.size()));
  if (items.size() < want)
    t.raise(PyExc_ValueError, "not enough values to unpack (expected " + std::to_string(want) + ", got " +
                                  std::to_string(items.size()) + ")");
  if (items.size() > want)
    t.raise(PyExc_ValueError, "too many values to unpack (expected " + std::to_string(want) + ")");
  for (std::size_t k = items.size(); k-- > 0;) f.push(items[k]);
}

OPCODE(UNPACK_EX) {
  ValueRef v = t.realize(f.pop());
  if (!can_iterate(v)) {
    if (breaks_where_raised(t)) graph_break<GB0062>(v->print());
    t.raise(PyExc_TypeError, "cannot unpack non-iterable " + type_name(v->python_type()) + " object");
  }
  auto items = collect(t, v);
  const auto before = static_cast<std::size_t>(i.a), after = static_cast<std::size_t>(i.b);
  if (items.size() < before + after)
    t.raise(PyExc_ValueError, "not enough values to unpack (expected at least " + std::to_string(before + after) +
                                  ", got " + std::to_string(items.size()) + ")");
  for (std::size_t k = 0; k < after; ++k) f.push(items[items.size() - 1 - k]);
  f.push(make_ref<ListValue>(std::vector<ValueRef>(items.begin() + i.a, items.end() - i.b)));
  for (std::size_t k = before; k-- > 0;) f.push(items[k]);
}

OPCODE(CONVERT_VALUE) {
  ValueRef v = f.pop();
  f.push(t.format_value(v, i.a, {}));
}

OPCODE(FORMAT_VALUE) {
  ValueRef spec = i.b ? f.pop() : ValueRef();
  ValueRef v = f.pop();
  ValueRef s = t.format_value(v, i.a, i.a == 0 ? spec : ValueRef());
  if (i.a != 0 && spec) s = t.format_value(s, 0, spec);
  f.push(std::move(s));
}

}  // namespace md
