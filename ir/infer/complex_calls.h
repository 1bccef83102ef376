// Calls with complex operands. No kernel and no body knows complex numbers: such a call is opened as a composite is,
// into calls on the real and imaginary parts. Views, and ops that only make room, take complex tensors as they are.
#pragma once

#include "ir/infer/expansion.h"

namespace md {

// Whether a number, a dtype or a tensor among the arguments is complex.
bool involves_complex(std::span<const Arg> args);

using ComplexRule = Arg (*)(const Expansion&);
// How calls of the op are opened that involve complex numbers; null: by no rule of their own.
ComplexRule complex_rule_of(OpId id);

// Whether the call is done by its parts because of a complex operand.
inline bool opens_complex(const Op& op, std::span<const Arg> args) {
  return op.kind() != OpKind::View && involves_complex(args) &&
         (op.kind() == OpKind::Composite || complex_rule_of(op.id));
}
// Whether the call is done by its parts: a composite, or one that involves complex numbers.
inline bool opens(const Op& op, std::span<const Arg> args) {
  return op.kind() == OpKind::Composite || opens_complex(op, args);
}

// Throws OpError(NotImplemented) for a call that involves complex numbers and has no way to be done with them.
void refuse_complex(const Op& op, std::span<const Arg> args);

// The dtype of arithmetic on these operands: tensors and numbers.
DType promoted_dtype(std::span<const Arg> operands);

}  // namespace md
