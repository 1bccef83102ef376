// Derivatives of ops that read and write elements by position: what was read is added back, what was written over gets
// nothing, what was written gets what is read there.
#include <string>

#include "ir/gradients/derivation.h"
#include "registry/ops/indexing.h"

namespace md {

namespace {

// In the dtype of the gradient.
Arg zeros(const Derivation& d, const SizeVec& sizes) {
  return d.call(id::Zeros, {sizes_arg(sizes), type_of(d.g()).dtype});
}
Arg zeros_of(const Derivation& d, int i) { return zeros(d, d.sizes_of(i)); }

Arg flat(const Derivation& d, const Arg& x) { return reshaped(d, x, SizeVec{product(type_of(x).sizes)}); }

// Of an op whose first operand is parameter 0 and whose source is parameter `i`.
template <class Self, class Source>
Gradients of_write(const Derivation& d, int i, Self self, Source source) {
  Gradients out(d.args.size());
  if (d.wants(0)) out[0] = self();
  if (d.wants(i)) out[static_cast<std::size_t>(i)] = source();
  return out;
}

}  // namespace

// --- By tensors of positions -----------------------------------------------------------------------------------------

Gradients vjp_rule(ops::Index, const Derivation& d) {
  return d.all({d.call(id::IndexPut, {zeros_of(d, 0), d.arg(1), d.g(), true})});
}

Gradients vjp_rule(ops::IndexPut, const Derivation& d) {
  return of_write(
      d, 2, [&] { return d.flag(3) ? d.g() : d.call(id::IndexPut, {d.g(), d.arg(1), zeros(d, SizeVec{}), false}); },
      [&] { return d.call(id::Index, {d.g(), d.arg(1)}); });
}

Gradients vjp_rule(ops::Take, const Derivation& d) {
  return d.all({d.call(id::Put, {zeros_of(d, 0), d.arg(1), d.g(), true})});
}

Gradients vjp_rule(ops::Put, const Derivation& d) {
  return of_write(
      d, 2, [&] { return d.flag(3) ? d.g() : d.call(id::Put, {d.g(), d.arg(1), zeros_of(d, 2), false}); },
      [&] { return reshaped(d, d.call(id::Take, {d.g(), d.arg(1)}), d.sizes_of(2)); });
}

Gradients vjp_rule(ops::WriteView, const Derivation& d) {
  return of_write(
      d, 1, [&] { return d.call(id::WriteView, {d.g(), zeros_of(d, 1), d.arg(2), d.arg(3)}); },
      [&] {
        const Arg whole = d.call(id::Compact, {d.g()});
        return d.call(id::AsStrided, {whole, sizes_arg(d.sizes_of(1)), d.arg(2), d.arg(3)});
      });
}

// --- Slices of one dimension -----------------------------------------------------------------------------------------

namespace {
// The slices of the gradient that went to `index`, in the sizes of the source.
Arg selected(const Derivation& d) {
  const Arg slices = d.call(id::IndexSelect, {d.g(), d.arg(1), d.arg(2)});
  return type_of(slices).dim() == d.rank(3) ? slices : reshaped(d, slices, d.sizes_of(3));
}

Arg without_slices(const Derivation& d) { return d.call(id::IndexFill, {d.g(), d.arg(1), d.arg(2), 0.0}); }
}  // namespace

Gradients vjp_rule(ops::IndexSelect, const Derivation& d) {
  return d.all({d.call(id::IndexAdd, {zeros_of(d, 0), d.arg(1), d.arg(2), d.g()})});
}

Gradients vjp_rule(ops::IndexAdd, const Derivation& d) {
  const bool scaled = !(d.arg(4) == Arg(1) || d.arg(4) == Arg(1.0) || d.arg(4) == Arg(true));
  return of_write(d, 3, [&] { return d.g(); }, [&] { return scaled ? d.mul(selected(d), d.arg(4)) : selected(d); });
}

Gradients vjp_rule(ops::IndexCopy, const Derivation& d) {
  return of_write(d, 3, [&] { return without_slices(d); }, [&] { return selected(d); });
}

Gradients vjp_rule(ops::IndexFill, const Derivation& d) { return d.all({without_slices(d)}); }

Gradients vjp_rule(ops::IndexFillTensor, const Derivation& d) {
  return of_write(
      d, 3, [&] { return without_slices(d); },
      [&] { return d.call(id::Sum, {d.sub(d.g(), without_slices(d))}); });  // a slice named twice counts once
}

// Positions are whole numbers: nothing flows.
Gradients vjp_rule(ops::RepeatPositions, const Derivation& d) { return d.all({}); }

// --- Along one dimension ---------------------------------------------------------------------------------------------

namespace {

// The elements of `x` that `index` names.
Arg gathered(const Derivation& d, const Arg& x) { return d.call(id::Gather, {x, d.arg(1), d.arg(2)}); }
Arg with_zeros(const Derivation& d, const Arg& x) { return d.call(id::ScatterValue, {x, d.arg(1), d.arg(2), 0.0}); }

// As in torch the source may not be larger than the index, unless it is broadcast.
void check_source(const Derivation& d, const char* node) {
  const SizeVec source = d.sizes_of(3), index = d.sizes_of(2);
  bool fits = source.size() == index.size();
  for (std::size_t i = 0; fits && i < source.size(); ++i) fits = source[i].is_const(1) || guard_eq(source[i], index[i]);
  if (fits) return;
  throw OpError(ErrorKind::Runtime,
                fmt::format("Function {}Backward0 returned an invalid gradient at index 1 - got {} but expected shape "
                            "compatible with {}",
                            node, sizes_text(index), sizes_text(source)));
}

Arg source_gradient(const Derivation& d, const char* node) {
  check_source(d, node);
  return gathered(d, d.g());
}

}  // namespace

Gradients vjp_rule(ops::Gather, const Derivation& d) {
  return d.all({d.call(id::ScatterAdd, {zeros_of(d, 0), d.arg(1), d.arg(2), d.g()})});
}

Gradients vjp_rule(ops::Scatter, const Derivation& d) {
  return of_write(d, 3, [&] { return with_zeros(d, d.g()); }, [&] { return source_gradient(d, "Scatter"); });
}

Gradients vjp_rule(ops::ScatterValue, const Derivation& d) { return d.all({with_zeros(d, d.g())}); }

Gradients vjp_rule(ops::ScatterAdd, const Derivation& d) {
  return of_write(d, 3, [&] { return d.g(); }, [&] { return source_gradient(d, "ScatterAdd"); });
}

namespace {
// torch has none either.
[[noreturn]] void no_derivative(const Derivation& d) {
  throw OpError(ErrorKind::NotImplemented, fmt::format("the derivative for '{}' is not implemented", d.op.public_name));
}
}  // namespace

Gradients vjp_rule(ops::ScatterReduceSource, const Derivation& d) { no_derivative(d); }
Gradients vjp_rule(ops::ScatterReduceValue, const Derivation& d) { no_derivative(d); }

// --- scatter_reduce --------------------------------------------------------------------------------------------------

namespace {

Arg scattered_sum(const Derivation& d, const Arg& onto, const Arg& source) {
  return d.call(id::ScatterAdd, {onto, d.arg(1), d.arg(2), source});
}
Arg is_zero(const Derivation& d, const Arg& x) { return d.call(id::Eq, {x, 0}); }

// The op with another self and source.
Arg folded_again(const Derivation& d, const Arg& self, const Arg& source) {
  return d.call(id::ScatterReduce, {self, d.arg(1), d.arg(2), source, d.arg(4), d.arg(5)});
}

// The result without a factor is the result divided by it; where the factor is 0, the result with a 1 in its place.
Arg self_of_prod(const Derivation& d) {
  const Arg self = d.where(is_zero(d, d.arg(0)), 1.0, d.arg(0));
  return d.div(d.mul(d.g(), folded_again(d, self, d.arg(3))), self);
}
Arg source_of_prod(const Derivation& d) {
  const Arg source = d.arg(3), zero = is_zero(d, source);
  const Arg ones = converted(d, zero, type_of(d.g()).dtype);
  const Arg count = gathered(d, scattered_sum(d, zeros_of(d, 0), ones));
  const Arg only_zero = d.call(id::LogicalAnd, {zero, d.call(id::Eq, {count, 1})});
  const Arg others = folded_again(d, d.arg(0), d.where(only_zero, 1.0, source));
  const Arg divided = d.div(gathered(d, d.mul(d.g(), d.y())), d.where(zero, 1.0, source));
  return d.where(only_zero, gathered(d, d.mul(d.g(), others)), divided);
}

Gradients of_prod(const Derivation& d) {
  return of_write(d, 3, [&] { return self_of_prod(d); }, [&] { return source_of_prod(d); });
}

Gradients of_mean(const Derivation& d) {
  const Arg before = d.call(id::FullLike, {d.g(), d.flag(5) ? 1.0 : 0.0});
  const Arg folded = scattered_sum(d, before, d.call(id::FullLike, {d.arg(3), 1.0}));
  const Arg count = d.where(is_zero(d, folded), 1.0, folded);
  return of_write(
      d, 3, [&] { return d.div(d.g(), count); }, [&] { return d.div(gathered(d, d.g()), gathered(d, count)); });
}

// Equal extremes share the gradient.
Gradients of_scattered_extreme(const Derivation& d) {
  const DType t = type_of(d.g()).dtype;
  const Arg self_has = converted(d, d.call(id::Eq, {d.arg(0), d.y()}), t);
  const Arg source_has = converted(d, d.call(id::Eq, {d.arg(3), gathered(d, d.y())}), t);
  const Arg share = d.div(d.g(), scattered_sum(d, self_has, source_has));
  return of_write(d, 3, [&] { return d.mul(self_has, share); }, [&] { return d.mul(source_has, gathered(d, share)); });
}

Gradients of_sum(const Derivation& d) {
  return of_write(d, 3, [&] { return d.g(); }, [&] { return gathered(d, d.g()); });
}

}  // namespace

Gradients vjp_rule(ops::ScatterReduce, const Derivation& d) {
  const auto& reduce = d.arg(4).get<std::string>();
  if (d.wants(3)) check_source(d, "ScatterReduce");
  Gradients out = reduce == "sum"    ? of_sum(d)
                  : reduce == "prod" ? of_prod(d)
                  : reduce == "mean" ? of_mean(d)
                                     : of_scattered_extreme(d);
  if (d.wants(0) && !d.flag(5)) out[0] = with_zeros(d, out[0]);
  return out;
}

// --- By mask ---------------------------------------------------------------------------------------------------------

namespace {
// The masked elements of the gradient in order. Those that are not masked go to a place before them, which is cut off.
Arg in_order(const Derivation& d) {
  const Arg mask = flat(d, d.call(id::Expand, {d.arg(1), sizes_arg(type_of(d.g()).sizes)}));
  const Arg places = d.mul(d.call(id::CumSum, {mask, 0}), mask);
  const Size count = product(d.sizes_of(2));
  const Arg all = d.call(id::IndexAdd, {zeros(d, SizeVec{count + 1}), 0, places, flat(d, d.g())});
  return reshaped(d, d.call(id::Narrow, {all, 0, 1, count}), d.sizes_of(2));
}
}  // namespace

Gradients vjp_rule(ops::MaskedScatter, const Derivation& d) {
  return of_write(d, 2, [&] { return d.where(d.arg(1), 0.0, d.g()); }, [&] { return in_order(d); });
}

}  // namespace md
