// Conjugations and negations are done where elements are read, as calls that the record of gradients knows.
#include "ir/run/lazy_calls.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/composite.h"
#include "ir/run/eager.h"

namespace md {

namespace {

Arg mapped_tensors(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) return *t ? Arg(resolved(*t)) : a;
  const auto* l = a.get_if<ListArg>();
  if (!l) return a;
  ListArg out{{}, l->tuple};
  for (const Arg& x : l->items) out.items.push_back(mapped_tensors(x));
  return out;
}

Arg with_done(Arg x, Pending p, OpId conjugate, OpId negative) {
  if (p.conjugate) x = eager_caller().call(conjugate, {std::move(x)});
  if (p.negative) x = eager_caller().call(negative, {std::move(x)});
  return x;
}

}  // namespace

bool holds_pending(std::span<const Arg> args) {
  return std::ranges::any_of(args, [](const Arg& a) {
    if (const auto* t = a.get_if<TensorRef>()) return *t && pending_of(**t);
    const auto* l = a.get_if<ListArg>();
    return l && holds_pending(l->items);
  });
}

TensorRef as_in_memory(const TensorRef& t) {
  return with_done(t, pending_of(*t), id::ConjView, id::NegView).get<TensorRef>();
}

TensorRef resolved(const TensorRef& t) {
  const Pending p = pending_of(*t);
  if (!p) return t;
  return with_done(as_in_memory(t), p, id::ConjPhysical, id::Neg).get<TensorRef>();
}

std::vector<Arg> resolved(std::span<const Arg> args) {
  std::vector<Arg> out;
  for (const Arg& a : args) out.push_back(mapped_tensors(a));
  return out;
}

Arg turned_round(const TensorImpl& self, Arg value) {
  if (type_of(value).dtype != self.dtype) value = eager_caller().call(id::Convert, {value, self.dtype});
  return with_done(std::move(value), pending_of(self), id::ConjPhysical, id::Neg);
}

Pending pending_of_view(const Op& op, Pending p) {
  switch (op.id) {
    case id::ConjView:
      p.conjugate = !p.conjugate;
      break;
    case id::NegView:
      p.negative = !p.negative;
      break;
    case id::ViewAsReal:
      if (!p.conjugate) break;
      throw OpError(ErrorKind::Runtime,
                    "view_as_real doesn't work on unresolved conjugated tensors: resolve_conj() gives a copy whose "
                    "parts can be seen");
    case id::ViewDType:
      if (!p) break;
      throw OpError(ErrorKind::Runtime,
                    "Tensor." + op.public_name +
                        (p.conjugate ? " is not supported for conjugate view tensors when converting to a "
                                       "different dtype"
                                     : " is not supported for tensors with negative bit set when "
                                       "converting to a different dtype"));
    default:
      break;
  }
  return p;
}

}  // namespace md
