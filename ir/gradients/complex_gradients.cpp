// Derivatives of views of parts, and of the Fourier transform. A gradient of a complex tensor holds in its parts the
// gradients of the parts.
#include "ir/gradients/derivation.h"
#include "registry/ops/complex.h"

namespace md {

Gradients vjp_rule(ops::ViewAsReal, const Derivation& d) {
  const TensorType g = type_of(d.g());
  const Arg pairs = is_row_major(g.sizes, g.strides) ? d.g() : d.call(id::Compact, {d.g()});
  return d.all({d.call(id::ViewAsComplex, {pairs})});
}

Gradients vjp_rule(ops::ViewAsComplex, const Derivation& d) {
  const Arg g = is_complex(type_of(d.g()).dtype) ? d.g() : converted(d, d.g(), type_of(d.y()).dtype);
  return d.all({d.call(id::ViewAsReal, {g})});
}

Gradients vjp_rule(ops::ConjView, const Derivation& d) { return d.all({d.call(id::ConjPhysical, {d.g()})}); }
Gradients vjp_rule(ops::NegView, const Derivation& d) { return d.all({d.call(id::Neg, {d.g()})}); }

// The matrix of the transform is its own transpose; that of the parts' gradients is conjugate to it.
Gradients vjp_rule(ops::FourierPairs, const Derivation& d) {
  return d.all({d.call(id::FourierPairs, {d.g(), d.arg(1), !d.flag(2), d.arg(3)})});
}

}  // namespace md
