// Complex numbers as pairs of real ones: what the rules for calls with complex operands are written with.
#pragma once

#include "ir/infer/complex_calls.h"

namespace md {

// Real tensors, or doubles where the part is a number.
struct ComplexParts {
  Arg re, im;
};

inline bool is_tensor_operand(const Arg& a) { return a.is<TensorRef>() || a.is<Node*>(); }
inline bool is_complex_tensor(const Arg& a) { return is_tensor_operand(a) && is_complex(type_of(a).dtype); }
std::complex<double> complex_number(const Arg& number);  // of a number that is no symbol

// Arithmetic on real tensors and doubles, and how it gets from complex tensors and back.
struct PartsCaller {
  const Expansion& e;

  Arg add(const Arg& a, const Arg& b) const;
  Arg sub(const Arg& a, const Arg& b) const;
  Arg mul(const Arg& a, const Arg& b) const;
  Arg div(const Arg& a, const Arg& b) const;
  Arg neg(const Arg& a) const;
  Arg fn(OpId id, const Arg& a) const { return e.call(id, {a}); }
  Arg hypot(const Arg& a, const Arg& b) const;
  Arg atan2(const Arg& y, const Arg& x) const;
  Arg where(const Arg& mask, const Arg& a, const Arg& b) const { return e.call(id::Where, {mask, a, b}); }
  Arg is_zero(const ComplexParts& z) const;

  // The parts of an operand in the dtype of the parts of `t`.
  ComplexParts parts(const Arg& x, DType t) const;
  ComplexParts parts(int i) const { return parts(e.arg(i), promoted_dtype({&e.arg(i), 1})); }
  Arg pairs(const Arg& x) const;  // of a complex tensor; of a copy where a conjugation is pending
  Arg of_pairs(const Arg& pairs) const;
  // Laid out in memory as elementwise results of both parts are.
  Arg joined(const ComplexParts& p) const;
  // f of a real tensor that holds the elements' parts. In a graph each part is a value of its own, so that it fuses
  // with what is computed before and after; at once both are one call.
  template <class F>
  Arg elementwise(const Arg& x, F&& f) const {
    if (!x.is<Node*>()) return of_pairs(f(pairs(x)));
    const ComplexParts z = parts(x, type_of(x).dtype);
    return joined({f(z.re), f(z.im)});
  }

  ComplexParts product(const ComplexParts& x, const ComplexParts& y) const;
  ComplexParts quotient(const ComplexParts& x, const ComplexParts& y) const;
  ComplexParts square_root(const ComplexParts& z) const;
  Arg absolute(const ComplexParts& z) const;  // with a gradient of 0 at 0
  Arg angle(const ComplexParts& z) const;     // with a gradient of 0 at 0
};

// x in complex dtype `t`, whatever it was.
Arg as_complex(const Expansion& e, const Arg& x, DType t);

}  // namespace md
