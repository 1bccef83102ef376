// Derivatives of matrix products and of joining.
#include "ir/gradients/derivation.h"
#include "registry/ops/kernels.h"

namespace md {

namespace {
// As the transposed weight of a linear layer lies: its gradient is computed so that it fits the weight's own.
bool lies_by_columns(const Arg& matrix) {
  const TensorType t = type_of(matrix);
  return t.strides[0].is_const(1) && !t.strides[1].is_const(1);
}
}  // namespace

Gradients vjp_rule(ops::Mm, const Derivation& d) {
  Gradients out(d.args.size());
  if (d.wants(0)) out[0] = d.call(id::Mm, {d.g(), d.call(id::MatrixT, {d.arg(1)})});
  if (!d.wants(1)) return out;
  if (lies_by_columns(d.arg(1)))
    out[1] = d.call(id::MatrixT, {d.call(id::Mm, {d.call(id::MatrixT, {d.g()}), d.arg(0)})});
  else
    out[1] = d.call(id::Mm, {d.call(id::MatrixT, {d.arg(0)}), d.g()});
  return out;
}

namespace {
Gradients batch_gradients(OpId product, const Derivation& d) {
  Gradients out(d.args.size());
  if (d.wants(0)) out[0] = d.call(product, {d.g(), d.call(id::LastTwoT, {d.arg(1)})});
  if (d.wants(1)) out[1] = d.call(product, {d.call(id::LastTwoT, {d.arg(0)}), d.g()});
  return out;
}
}  // namespace

Gradients vjp_rule(ops::Bmm, const Derivation& d) { return batch_gradients(id::Bmm, d); }
Gradients vjp_rule(ops::BatchedMm, const Derivation& d) { return batch_gradients(id::BatchedMm, d); }

// Each operand gets its part. Empty vectors may be joined with anything and have none.
Gradients vjp_rule(ops::Cat, const Derivation& d) {
  const int rank = type_of(d.g()).dim();
  const int dim = checked_dim(d, d.size(1), rank);
  ListArg parts;
  Size start = 0;
  for (const Arg& operand : d.arg(0).get<ListArg>().items) {
    const TensorType t = type_of(operand);
    const bool left_out = t.dim() != rank;
    const Size length = left_out ? Size(0) : t.sizes[static_cast<std::size_t>(dim)];
    if (!is_floating(t.dtype)) {
      parts.items.emplace_back();
    } else if (left_out) {
      parts.items.push_back(d.call(id::Zeros, {sizes_arg(t.sizes), t.dtype}));
    } else {
      parts.items.push_back(d.call(id::Narrow, {d.g(), dim, start, length}));
    }
    start = start + length;
  }
  return d.all({parts});
}

}  // namespace md
