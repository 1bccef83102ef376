// The rules by op, a table, and one walk that asks each node's rule for an equal node.
#include "ir/compile/passes/simplify.h"

#include <cmath>

#include "ir/compile/passes/crossings.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"

namespace md {
namespace {

bool is_number(const Arg& a, double v) {
  if (const auto* d = a.get_if<double>()) return *d == v && !std::signbit(*d) == !std::signbit(v);
  if (const auto* s = a.get_if<Size>()) return s->is_const(static_cast<std::int64_t>(v)) && !std::signbit(v);
  const auto* b = a.get_if<bool>();
  return b && *b == (v == 1) && (v == 0 || v == 1) && !std::signbit(v);
}

Node* node(const Arg& a) {
  const auto* n = a.get_if<Node*>();
  return n ? *n : nullptr;
}

// The operand of `n` if that is a call of the same op.
Node* same_inside(const Node& n) {
  Node* inner = node(n.args[0]);
  return inner && inner->kind == NodeKind::Op && inner->op == n.op ? inner : nullptr;
}

// Each rule names the value `n` equals, or null.
using Rule = Node* (*)(const Node& n);

Node* operand(const Node& n) { return node(n.args[0]); }

Node* times_one(const Node& n) {
  if (is_number(n.args[1], 1)) return node(n.args[0]);
  return is_number(n.args[0], 1) ? node(n.args[1]) : nullptr;
}

Node* over_one(const Node& n) { return is_number(n.args[1], 1) ? node(n.args[0]) : nullptr; }

Node* minus_zero(const Node& n) { return is_number(n.args[1], 0) ? node(n.args[0]) : nullptr; }

// Only adding -0.0 keeps the sign of zeros; integers have no such sign.
Node* plus_zero(const Node& n) {
  const auto neutral = [&](const Arg& a) {
    return is_number(a, -0.0) || (is_number(a, 0) && !is_floating(n.type().dtype));
  };
  if (neutral(n.args[1])) return node(n.args[0]);
  return neutral(n.args[0]) ? node(n.args[1]) : nullptr;
}

Node* undone(const Node& n) {
  const Node* inner = same_inside(n);
  return inner ? node(inner->args[0]) : nullptr;
}

Node* done_twice(const Node& n) { return same_inside(n); }

// Every value of `from` is a value of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (is_floating(from)) return is_floating(to) && item_size(to) > item_size(from);
  if (is_integral(to)) return item_size(to) >= item_size(from);
  return is_floating(to) && info(from).digits <= info(to).digits;
}

Node* convert_and_back(const Node& n) {
  Node* inner = node(n.args[0]);
  if (inner->type().dtype == n.type().dtype) return inner;
  if (inner->kind != NodeKind::Op || inner->op != n.op) return nullptr;
  Node* x = node(inner->args[0]);
  return x->type().dtype == n.type().dtype && is_lossless(x->type().dtype, inner->type().dtype) ? x : nullptr;
}

Node* copied(const Node& n) { return node(n.args[1]); }

// A copy reads only the shape of what it overwrites: told so, it does not keep that alive.
void detach_copy(Node& n) {
  if (n.op != id::Copy) return;
  const Node* src = node(n.args[1]);
  if (!(src->type().sizes == n.type().sizes)) return;
  BoundArgs args{n.args[1], n.type().dtype};
  if (!same_type(infer(op(id::Convert), args).at(0), n.type())) return;
  n.op = id::Convert;
  n.target = op(id::Convert).public_name;
  n.args = std::move(args);
}

// The value a node hands on unchanged, whatever the layout.
Node* passed_on(const Node& n) {
  if (n.kind != NodeKind::Op) return nullptr;
  if (n.op == id::Copy) return node(n.args[1]);
  return n.op == id::Clone || n.op == id::Compact || n.op == id::Convert ? node(n.args[0]) : nullptr;
}

// write_view copies its base and reads its source in any layout.
void strip_copies(Node& n) {
  if (n.op != id::WriteView) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* of = node(n.args[i]);
    for (Node* from = passed_on(*of); from; from = passed_on(*of)) {
      if (from->type().dtype != of->type().dtype || !(from->type().sizes == of->type().sizes)) break;
      if (!(from->type().device == of->type().device)) break;
      n.args[i] = from;
      of = from;
    }
  }
}

// A kernel is handed numbers on the CPU by value: it needs none of them on its device.
void read_numbers_on_cpu(Node& n) {
  if (op(n.op).kind() != OpKind::Pointwise || n.op == id::CopyToDevice) return;
  BoundArgs args = n.args;
  bool any = false;
  for (Arg& a : args) {
    const Node* brought = node(a);
    while (brought && brought->kind == NodeKind::Op && brought->op == id::Expand) brought = node(brought->args[0]);
    if (!brought || brought->kind != NodeKind::Op || brought->op != id::CopyToDevice) continue;
    Node* const number = node(brought->args[0]);
    const TensorType &from = number->type(), &to = brought->type();
    if (!is_number_on_cpu(from) || from.dtype != to.dtype || from.wrapped_number != to.wrapped_number) continue;
    a = number;
    any = true;
  }
  if (any && same_type(infer(op(n.op), args).at(0), n.type())) n.args = std::move(args);
}

struct Row {
  OpId op;
  Rule rule;
};

constexpr Row kRules[] = {
    {id::Mul, times_one},
    {id::Div, over_one},
    {id::Sub, minus_zero},
    {id::Add, plus_zero},
    {id::Neg, undone},
    {id::LogicalNot, undone},
    {id::BitwiseNot, undone},
    {id::Abs, done_twice},
    {id::Relu, done_twice},
    {id::Floor, done_twice},
    {id::Ceil, done_twice},
    {id::Trunc, done_twice},
    {id::Round, done_twice},
    {id::Sign, done_twice},
    {id::Clone, operand},
    {id::Compact, operand},
    {id::Convert, convert_and_back},
    {id::Copy, copied},
};

}  // namespace

void simplify(Graph& g) {
  const auto leaves = escaping(g);
  Rule rules[id::kCount] = {};
  for (const Row& row : kRules) rules[row.op] = row.rule;
  Replacements replaced;
  for (const auto& n : g.nodes) {
    replaced.apply(*n);
    if (n->kind != NodeKind::Op) continue;
    strip_copies(*n);
    read_numbers_on_cpu(*n);
    const bool leaf = leaves.contains(n.get());
    Node* equal = !leaf && n->op < id::kCount && rules[n->op] ? rules[n->op](*n) : nullptr;
    if (equal && same_type(equal->type(), n->type())) {
      replaced.replace(n.get(), equal);
    } else {
      detach_copy(*n);
    }
  }
}

}  // namespace md
