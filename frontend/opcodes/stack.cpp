// Stack, locals, cells.
#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/opcodes/family.h"
#include "frontend/values/functions.h"

namespace md {
namespace {

std::string slot_name(const SymbolicFrame& f, int slot) {
  return text_of(f.body->slot_names[static_cast<std::size_t>(slot)].get());
}
ValueRef& slot(SymbolicFrame& f, int n) { return f.slots[static_cast<std::size_t>(n)]; }

Ref<CellValue> cell_at(Tracer& t, SymbolicFrame& f, int n) {
  ValueRef v = t.realize(slot(f, n));
  auto* c = as<CellValue>(v);
  if (!c) throw InternalError("slot " + slot_name(f, n) + " holds no cell");
  return Ref<CellValue>(c);
}

OPCODE(NOP) {}
OPCODE(RESUME) {}
OPCODE(POP_TOP) { f.pop(); }
OPCODE(COPY) { f.push(f.top(i.a)); }
OPCODE(SWAP) { std::swap(f.top(), f.top(i.a)); }
OPCODE(PUSH_NULL) { f.push(null_value()); }

// Tuples among a code object's constants are the same objects each time.
ValueRef code_constant(Tracer& t, PyObject* c) {
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
    if (t.uncaught() && slot_name(f, i.a)[0] == '.') graph_break<GB0012>(slot_name(f, i.a));
    if (t.uncaught()) graph_break<GB0011>(slot_name(f, i.a));
    t.raise(PyExc_UnboundLocalError,
            "cannot access local variable '" + slot_name(f, i.a) + "' where it is not associated with a value");
  }
  f.push(std::move(v));
}

// Whether a __del__ of the program may run where the object, or what it holds, is let go of.
bool has_finalizer(PyObject* o, int depth) {
  constexpr int kMaxDepth = 2;
  constexpr Py_ssize_t kMaxItems = 32;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    const Py_ssize_t n = std::min(PySequence_Fast_GET_SIZE(o), kMaxItems);
    for (Py_ssize_t k = 0; depth < kMaxDepth && k < n; ++k)
      if (has_finalizer(PySequence_Fast_ITEMS(o)[k], depth + 1)) return true;
    return false;
  }
  static PyObject* const name = PyUnicode_InternFromString("__del__");
  return (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(o) && Py_TYPE(o)->tp_finalize &&
         type_find(Py_TYPE(o), name);
}

// A variable lets go of what it held.
void let_go(const ValueRef& held) {
  if (held && held->real && has_finalizer(held->real.get(), 0))
    unmodelled(held->print(), "end of an object with __del__");
}

OPCODE(STORE_FAST) {
  let_go(slot(f, i.a));
  ValueRef v = f.pop();
  t.name_node(v, slot_name(f, i.a));
  slot(f, i.a) = std::move(v);
}

OPCODE(DELETE_FAST) {
  if (is_null(slot(f, i.a)))
    t.raise(PyExc_UnboundLocalError,
            "cannot access local variable '" + slot_name(f, i.a) + "' where it is not associated with a value");
  let_go(slot(f, i.a));
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
    if (t.uncaught()) graph_break<GB0091>(slot_name(f, i.a));
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

OPCODE(DELETE_DEREF) { cell_at(t, f, i.a)->set(t, {}); }

constexpr OpcodeRow kRows[] = {{Opcode::NOP, NOP},
                               {Opcode::RESUME, RESUME},
                               {Opcode::POP_TOP, POP_TOP},
                               {Opcode::COPY, COPY},
                               {Opcode::SWAP, SWAP},
                               {Opcode::PUSH_NULL, PUSH_NULL},
                               {Opcode::LOAD_CONST, LOAD_CONST},
                               {Opcode::LOAD_FAST, LOAD_FAST},
                               {Opcode::STORE_FAST, STORE_FAST},
                               {Opcode::DELETE_FAST, DELETE_FAST},
                               {Opcode::LOAD_FAST_AND_CLEAR, LOAD_FAST_AND_CLEAR},
                               {Opcode::MAKE_CELL, MAKE_CELL},
                               {Opcode::COPY_FREE_VARS, COPY_FREE_VARS},
                               {Opcode::LOAD_CLOSURE, LOAD_CLOSURE},
                               {Opcode::LOAD_DEREF, LOAD_DEREF},
                               {Opcode::STORE_DEREF, STORE_DEREF},
                               {Opcode::DELETE_DEREF, DELETE_DEREF}};

}  // namespace

std::span<const OpcodeRow> stack_opcodes() { return kRows; }

}  // namespace md
