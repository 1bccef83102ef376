// What there is only of complex numbers: made of parts, conjugates, angles, transforms.
#include <numbers>

#include "ir/composites/complex_parts.h"
#include "ir/tensor/lazy_view.h"
#include "registry/ops/complex.h"

namespace md {

namespace {

// Both of one dtype that parts may have.
DType dtype_of_parts(const Expansion& e) {
  const DType a = e.tensor(0).dtype, b = e.tensor(1).dtype;
  const auto fits = [](DType t) { return t == DType::Float32 || t == DType::Float64; };
  if (!fits(a) || !fits(b)) {
    throw OpError(ErrorKind::Runtime, fmt::format("Expected both inputs to be Half, Float or Double tensors but got {} "
                                                  "and {}",
                                                  info(a).guard_name, info(b).guard_name));
  }
  if (a != b) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Expected object of scalar type {} but got scalar type {} for second argument",
                              info(a).guard_name, info(b).guard_name));
  }
  return a;
}

Arg conjugate(const Expansion& e) {
  const PartsCaller p{e};
  const ComplexParts z = p.parts(0);
  return p.joined({z.re, p.neg(z.im)});
}

}  // namespace

Arg expand_rule(ops::ComplexOf, const Expansion& e) {
  dtype_of_parts(e);
  return PartsCaller{e}.joined({e.arg(0), e.arg(1)});
}

Arg expand_rule(ops::Polar, const Expansion& e) {
  dtype_of_parts(e);
  const PartsCaller p{e};
  return p.joined({p.mul(e.arg(0), p.fn(id::Cos, e.arg(1))), p.mul(e.arg(0), p.fn(id::Sin, e.arg(1)))});
}

namespace {

// The real parts, or the imaginary ones: a view, of which the signs may be pending.
Arg part_view(const Expansion& e, int part) {
  const auto* t = e.arg(0).get_if<TensorRef>();
  const Pending p = t ? pending_of(**t) : Pending{};
  Arg z = e.arg(0);
  if (p.conjugate) z = e.call(id::ConjView, {z});
  if (p.negative) z = e.call(id::NegView, {z});
  const Arg seen = e.call(id::Select, {e.call(id::ViewAsReal, {z}), -1, part});
  return p.negative != (part == 1 && p.conjugate) ? e.call(id::NegView, {seen}) : seen;
}

}  // namespace

Arg expand_rule(ops::RealPart, const Expansion& e) { return is_complex_tensor(e.arg(0)) ? part_view(e, 0) : e.arg(0); }

Arg expand_rule(ops::ImagPart, const Expansion& e) {
  if (!is_complex_tensor(e.arg(0))) {
    throw OpError(ErrorKind::Runtime, "imag is not implemented for tensors with non-complex dtypes.");
  }
  return part_view(e, 1);
}

// Of an example inside vmap the elements are computed at once.
Arg expand_rule(ops::Conj, const Expansion& e) {
  if (!is_complex_tensor(e.arg(0))) return e.arg(0);
  const auto* t = e.arg(0).get_if<TensorRef>();
  return t && batch_of(**t) ? conjugate(e) : e.call(id::ConjView, {e.arg(0)});
}

Arg expand_rule(ops::ConjPhysical, const Expansion& e) { return is_complex_tensor(e.arg(0)) ? conjugate(e) : e.arg(0); }

Arg expand_rule(ops::Angle, const Expansion& e) {
  const PartsCaller p{e};
  const DType t = e.tensor(0).dtype;
  if (is_complex(t)) return p.angle(p.parts(0));
  const Arg x = is_floating(t) ? e.arg(0) : converted(e, e.arg(0), default_dtype());
  const Arg found = p.where(e.call(id::Lt, {x, 0}), std::numbers::pi, e.call(id::FullLike, {x, 0.0}));
  return is_floating(t) ? p.where(e.call(id::IsNan, {x}), x, found) : found;
}

Arg expand_rule(ops::FourierTransform, const Expansion& e) {
  const PartsCaller p{e};
  const TensorType x = e.tensor(0);
  if (!is_complex(x.dtype)) e.fail(ErrorKind::Runtime, "a complex tensor is needed, not {}", info(x.dtype).name);
  Arg pairs = p.pairs(e.arg(0));
  Arg scale = e.arg(3);
  for (const Size d : e.sizes(1)) {
    const int at = checked_dim(e, d, x.dim());
    pairs = e.call(id::FourierPairs, {pairs, at, e.arg(2), scale});
    scale = 1.0;
  }
  return p.of_pairs(pairs);
}

}  // namespace md
