// Jumps, iteration, returns, generators.
#include "frontend/cpython/object_attr.h"
#include "frontend/opcodes/family.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"

namespace md {

OPCODE(JUMP) { f.pc = i.target; }

// The jump is that of `assert x` or `assert x, "text"`: what it jumps over only raises.
static bool is_assertion(const SymbolicFrame& f, const Instruction& i) {
  const auto& code = f.body->instructions;
  auto k = static_cast<std::size_t>(i.a == kJumpTrue ? f.current + 1 : i.target);
  if (k >= code.size() || code[k].op != Opcode::LOAD_ASSERTION_ERROR) return false;
  for (++k; k < code.size() && code[k].op != Opcode::RAISE_VARARGS; ++k) {
    const bool text =
        code[k].op == Opcode::LOAD_CONST && PyUnicode_Check(f.body->consts[static_cast<std::size_t>(code[k].a)].get());
    if (!text && code[k].op != Opcode::CALL) return false;
  }
  return k < code.size();
}

// An assertion of what only a run knows is a check in the graph. Where it fails the frame runs as plain Python, which
// raises what the program raises. False: it is no such assertion.
static bool assertion_holds(Tracer& t, const SymbolicFrame& f, const Instruction& i, const ValueRef& v) {
  auto* tensor = as<TensorValue>(v);
  if ((!tensor && v->kind != ValueKind::SizeTest) || !is_assertion(f, i)) return false;
  if (!tensor) return assert_sizes(t, *as<SizeTestValue>(v)), true;
  // At the end of a loop's body 3.12 and later jump over the jump back to where it fails. Else it is `assert a and b`.
  const auto& next = f.body->instructions[static_cast<std::size_t>(f.current) + 1];
  if (!t.graphs.outer.empty() || (i.a != kJumpTrue && next.op != Opcode::JUMP)) return false;
  for (const Size& size : tensor->type.sizes)
    if (!size.is_const() || size != Size(1)) return false;
  require_true(t, *as<TensorValue>(truth_in_graph(t, *tensor)));
  return true;
}

OPCODE(POP_JUMP_IF) {
  if (i.a == kJumpNone || i.a == kJumpNotNone) {
    const bool none = is_true_constant(t.realize(f.pop()), Py_None);
    if (none == (i.a == kJumpNone)) f.pc = i.target;
    return;
  }
  ValueRef v = t.realize(f.top());
  const bool truth = assertion_holds(t, f, i, v) || v->truth(t);
  f.pop();
  if (truth == (i.a == kJumpTrue)) f.pc = i.target;
}

OPCODE(GET_ITER) {
  ValueRef v = t.realize(f.pop());
  f.push(v->iter(t));
}

OPCODE(FOR_ITER) {
  ValueRef it = t.realize(f.top());
  ValueRef v = it->next(t);
  if (v) return f.push(std::move(v));
  f.pop();
  f.pc = i.target;
}

OPCODE(RETURN_VALUE) {
  ValueRef v = f.pop();
  t.return_from_frame(std::move(v));
}

OPCODE(RETURN_GENERATOR) {
  f.is_generator = true;
  t.make_generator();
}

OPCODE(YIELD_VALUE) {
  ValueRef v = f.pop();
  t.yield_from_frame(std::move(v));
}

OPCODE(GET_YIELD_FROM_ITER) {
  ValueRef v = t.realize(f.pop());
  f.push(v->kind == ValueKind::Generator ? v : v->iter(t));
}

// receiver, sent → receiver, yielded; or at the end → receiver, returned (END_SEND drops the receiver).
OPCODE(SEND) {
  ValueRef sent = f.pop();
  ValueRef receiver = t.realize(f.top());
  ValueRef returned = t.none(), v;
  const bool sends = !is_true_constant(sent, Py_None);
  if (auto* g = as<GeneratorValue>(receiver)) {
    if (sends && !t.config.trace_more) listed_break<GB0120>();
    v = g->send(t, sent, returned);
  } else {
    if (sends) graph_break<GB0120>();
    auto* o = as<ObjectValue>(receiver);
    if (o && !t.config.trace_more && !type_find(o->type, checked(PyUnicode_InternFromString("__iter__")).get()))
      listed_break<GB0094>(type_name(o->type));
    v = o ? o->advance(t, returned) : receiver->next(t);
  }
  if (v) return f.push(std::move(v));
  f.push(returned);
  f.pc = i.target;
}

OPCODE(END_SEND) {
  ValueRef v = f.pop();
  f.pop();
  f.push(std::move(v));
}

}  // namespace md
