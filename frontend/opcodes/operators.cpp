// Unary, binary, comparison, identity, membership, subscripts.
#include "frontend/opcodes/family.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/number_functions.h"
#include "frontend/values/objects.h"

namespace md {

OPCODE(UNARY_OP) { f.push(t.unary_op(f.pop(), i.a)); }

OPCODE(BINARY_OP) {
  ValueRef b = f.pop(), a = f.pop();
  f.push(t.binary_op(a, b, i.a));
}

// What is a bool already needs no conversion, also where only a run knows which: the jump that follows decides, as it
// does where the running version has no conversions.
static bool jump_decides(const ValueRef& v) {
  return v->kind == ValueKind::Tensor || v->kind == ValueKind::Array || v->python_type() == &PyBool_Type;
}

OPCODE(COMPARE_OP) {
  ValueRef b = f.pop(), a = f.pop();
  ValueRef r = t.compare(a, b, i.a);
  if (i.b && !jump_decides(r)) r = t.boolean(t.realize(r)->truth(t));
  f.push(std::move(r));
}

OPCODE(CONTAINS_OP) {
  ValueRef container = t.realize(f.pop()), item = f.pop();
  if (NumberValue* n = plan_number(item); n && n->drawn) break_on_drawn("contains", {ValueRef(n), container});
  f.push(t.boolean(container->contains(t, item) != (i.a == 1)));
}

OPCODE(IS_OP) {
  ValueRef b = f.pop(), a = f.pop();
  f.push(t.boolean(same_object(t, a, b) != (i.a == 1)));
}

OPCODE(TO_BOOL) {
  ValueRef v = t.realize(f.top());
  if (jump_decides(v)) return;
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

}  // namespace md
