// Stack, locals, cells.
#include "frontend/opcodes/family.h"
#include "frontend/trace/listed_raises.h"
#include "frontend/values/functions.h"
#include "frontend/values/let_go.h"

namespace md {

static std::string slot_name(const SymbolicFrame& f, int slot) {
  return text_of(f.body->slot_names[static_cast<std::size_t>(slot)].get());
}
static ValueRef& slot(SymbolicFrame& f, int n) { return f.slots[static_cast<std::size_t>(n)]; }

static Ref<CellValue> cell_at(Tracer& t, SymbolicFrame& f, int n) {
  ValueRef v = t.realize(slot(f, n));
  auto* c = as<CellValue>(v);
  if (!c) throw InternalError("slot " + slot_name(f, n) + " holds no cell");
  return Ref<CellValue>(c);
}

OPCODE(NOP) {}
OPCODE(RESUME) {}
OPCODE(POP_TOP) {
  let_go(f, f.top(), 1);
  f.pop();
}
OPCODE(COPY) { f.push(f.top(i.a)); }
OPCODE(SWAP) { std::swap(f.top(), f.top(i.a)); }
OPCODE(PUSH_NULL) { f.push(null_value()); }

// Tuples among a code object's constants are the same objects each time.
static ValueRef code_constant(Tracer& t, PyObject* c) {
  if (!PyTuple_CheckExact(c)) return is_constant_object(c) ? t.constant(c) : from_folded(t, c);
  std::vector<ValueRef> items;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(c); ++k) items.push_back(code_constant(t, PyTuple_GET_ITEM(c, k)));
  auto tuple = make_ref<TupleValue>(std::move(items));
  tuple->real = PyRef::borrow(c);
  return tuple;
}

OPCODE(LOAD_CONST) {
  PyObject* c = f.body->consts[static_cast<std::size_t>(i.a)].get();
  f.push(code_constant(t, c));
}

OPCODE(LOAD_FAST) {
  ValueRef v = slot(f, i.a);
  if (is_null(v)) {
    // A comprehension in this frame has used the name and put back that nothing was there.
    if (v && breaks_where_raised(t)) graph_break<GB0076>(slot_name(f, i.a));
    if (breaks_where_raised(t) && slot_name(f, i.a)[0] == '.') graph_break<GB0012>(slot_name(f, i.a));
    if (breaks_where_raised(t)) graph_break<GB0011>(slot_name(f, i.a));
    t.raise(PyExc_UnboundLocalError,
            "cannot access local variable '" + slot_name(f, i.a) + "' where it is not associated with a value");
  }
  f.push(std::move(v));
}

OPCODE(STORE_FAST) {
  let_go(f, slot(f, i.a), 1);
  ValueRef v = f.pop();
  t.name_node(v, slot_name(f, i.a));
  slot(f, i.a) = std::move(v);
}

OPCODE(DELETE_FAST) {
  if (is_null(slot(f, i.a)))
    t.raise(PyExc_UnboundLocalError,
            "cannot access local variable '" + slot_name(f, i.a) + "' where it is not associated with a value");
  let_go(f, slot(f, i.a), 1);
  slot(f, i.a) = ValueRef();
}

OPCODE(LOAD_FAST_AND_CLEAR) {
  ValueRef v = std::move(slot(f, i.a));
  slot(f, i.a) = ValueRef();
  f.push(v ? v : null_value());
}

OPCODE(MAKE_CELL) {
  auto c = make_ref<CellValue>();
  c->content = slot(f, i.a);
  c->looked = true;
  slot(f, i.a) = c;
}

// make_frame and the root set-up have filled the free slots.
OPCODE(COPY_FREE_VARS) {}
OPCODE(LOAD_CLOSURE) { f.push(slot(f, i.a)); }

OPCODE(LOAD_DEREF) {
  ValueRef v = cell_at(t, f, i.a)->get(t);
  if (is_null(v)) {
    if (breaks_where_raised(t)) graph_break<GB0091>(slot_name(f, i.a));
    const bool free = f.body->slot_kinds[static_cast<std::size_t>(i.a)] & kSlotFree;
    t.raise(free ? PyExc_NameError : PyExc_UnboundLocalError,
            free ? "cannot access free variable '" + slot_name(f, i.a) +
                       "' where it is not associated with a value in enclosing scope"
                 : "cannot access local variable '" + slot_name(f, i.a) + "' where it is not associated with a value");
  }
  f.push(v);
}

OPCODE(STORE_DEREF) {
  ValueRef v = f.pop();
  t.name_node(v, slot_name(f, i.a));
  cell_at(t, f, i.a)->set(t, std::move(v));
}

OPCODE(DELETE_DEREF) {
  if (!t.config.trace_more) listed_instruction(f, i);
  cell_at(t, f, i.a)->set(t, {});
}

}  // namespace md
