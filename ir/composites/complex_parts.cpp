// From complex tensors to their parts and back, and arithmetic on parts.
#include "ir/composites/complex_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/infer/unbacked.h"
#include "ir/tensor/lazy_view.h"

namespace md {

std::complex<double> complex_number(const Arg& number) {
  if (const auto* c = number.get_if<std::complex<double>>()) return *c;
  if (const auto* d = number.get_if<double>()) return *d;
  if (const auto* b = number.get_if<bool>()) return *b ? 1.0 : 0.0;
  return static_cast<double>(fixed_size(number.get<Size>()));
}

namespace {

const double* as_known(const Arg& a) { return a.get_if<double>(); }

// The order of dimensions from the slowest in memory to the fastest, and the one that undoes it.
std::pair<ListArg, ListArg> memory_orders(const SizeVec& strides) {
  std::vector<int> slow_to_fast(strides.size());
  std::iota(slow_to_fast.begin(), slow_to_fast.end(), 0);
  std::ranges::stable_sort(slow_to_fast, [&](int a, int b) {
    const Size x = strides[static_cast<std::size_t>(a)], y = strides[static_cast<std::size_t>(b)];
    return !(x == y) && layout_lt(y, x);
  });
  ListArg order, back;
  back.items.resize(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) {
    order.items.emplace_back(slow_to_fast[i]);
    back.items[static_cast<std::size_t>(slow_to_fast[i])] = static_cast<int>(i);
  }
  return {order, back};
}

template <class F>
Arg known_or_called(const PartsCaller& p, OpId id, const Arg& a, const Arg& b, F&& f) {
  const double *x = as_known(a), *y = as_known(b);
  return x && y ? Arg(f(*x, *y)) : p.e.call(id, {a, b});
}

// A tensor of the part, of the sizes of the other one where it is a number.
Arg part_tensor(const Expansion& e, const Arg& part, const Arg& other) {
  if (!as_known(part)) return part;
  if (as_known(other)) return e.call(id::Full, {ListArg{}, part, default_dtype()});
  // In a graph it is computed with what reads it.
  if (other.is<Node*>()) return e.call(id::Fill, {e.call(id::Detach, {other}), part});
  return e.call(id::FullLike, {other, part});
}

}  // namespace

Arg PartsCaller::add(const Arg& a, const Arg& b) const {
  return known_or_called(*this, id::Add, a, b, [](double x, double y) { return x + y; });
}
Arg PartsCaller::sub(const Arg& a, const Arg& b) const {
  return known_or_called(*this, id::Sub, a, b, [](double x, double y) { return x - y; });
}
Arg PartsCaller::mul(const Arg& a, const Arg& b) const {
  return known_or_called(*this, id::Mul, a, b, [](double x, double y) { return x * y; });
}
Arg PartsCaller::div(const Arg& a, const Arg& b) const {
  return known_or_called(*this, id::Div, a, b, [](double x, double y) { return x / y; });
}
Arg PartsCaller::neg(const Arg& a) const { return as_known(a) ? Arg(-*as_known(a)) : e.call(id::Neg, {a}); }

Arg PartsCaller::hypot(const Arg& a, const Arg& b) const {
  if (as_known(a) && as_known(b)) return std::hypot(*as_known(a), *as_known(b));
  return e.call(id::Hypot, {part_tensor(e, a, b), part_tensor(e, b, a)});
}
Arg PartsCaller::atan2(const Arg& y, const Arg& x) const {
  if (as_known(x) && as_known(y)) return std::atan2(*as_known(y), *as_known(x));
  return e.call(id::Atan2, {part_tensor(e, y, x), part_tensor(e, x, y)});
}

Arg PartsCaller::is_zero(const ComplexParts& z) const {
  return e.call(id::LogicalAnd,
                {e.call(id::Eq, {part_tensor(e, z.re, z.im), 0.0}), e.call(id::Eq, {part_tensor(e, z.im, z.re), 0.0})});
}

Arg PartsCaller::pairs(const Arg& x) const {
  const auto* t = x.get_if<TensorRef>();
  const Pending p = t ? pending_of(**t) : Pending{};
  Arg z = x;
  if (p.conjugate) z = e.call(id::ConjView, {z});
  if (p.negative) z = e.call(id::NegView, {z});
  const Arg held = e.call(id::ViewAsReal, {z});
  if (!p) return held;
  const auto part = [&](int i, bool turned) {
    const Arg seen = e.call(id::Select, {held, -1, i});
    return turned ? neg(seen) : seen;
  };
  return e.call(id::ViewAsReal, {joined({part(0, p.negative), part(1, p.conjugate != p.negative)})});
}

ComplexParts PartsCaller::parts(const Arg& x, DType t) const {
  if (x.is_number()) {
    const std::complex<double> c = complex_number(x);
    return {c.real(), c.imag()};
  }
  const DType real = to_real(t);
  if (!is_complex_tensor(x)) return {converted(e, x, real), 0.0};
  const Arg both = pairs(x);
  const auto part = [&](int i) { return converted(e, e.call(id::Select, {both, -1, i}), real); };
  return {part(0), part(1)};
}

// Whatever gave the pairs may have laid the parts apart.
Arg PartsCaller::of_pairs(const Arg& pairs) const {
  const TensorType t = type_of(pairs);
  bool together = t.strides.back().is_const(1);
  for (std::size_t i = 0; i + 1 < t.strides.size(); ++i) together &= guard_eq(mod(t.strides[i], 2), 0);
  together = together && guard_eq(mod(t.offset, 2), 0);
  return e.call(id::ViewAsComplex, {together ? pairs : e.call(id::Compact, {pairs})});
}

Arg PartsCaller::joined(const ComplexParts& p) const {
  Arg re = part_tensor(e, p.re, p.im), im = part_tensor(e, p.im, p.re);
  const SizeVec a = type_of(re).sizes, b = type_of(im).sizes;
  if (!(a == b)) {
    const Arg sizes = sizes_arg(broadcast(e, a, b));
    re = e.call(id::Expand, {re, sizes}), im = e.call(id::Expand, {im, sizes});
  }
  const auto together = [&](const Arg& a, const Arg& b) {
    return e.call(id::ViewAsComplex, {e.call(id::Stack, {ListArg{{a, b}}, -1})});
  };
  const TensorType operands[] = {type_of(re), type_of(im)};
  const SizeVec strides = joined_strides(operands, operands[0].sizes);
  if (is_row_major(operands[0].sizes, strides)) return together(re, im);
  const auto [order, back] = memory_orders(strides);
  return e.call(id::Permute, {together(e.call(id::Permute, {re, order}), e.call(id::Permute, {im, order})), back});
}

ComplexParts PartsCaller::product(const ComplexParts& x, const ComplexParts& y) const {
  return {sub(mul(x.re, y.re), mul(x.im, y.im)), add(mul(x.re, y.im), mul(x.im, y.re))};
}

// Scaled by the larger part of the divisor, so that squares neither overflow nor vanish; the scale is no function of
// the operands to derivatives, for the quotient does not depend on it.
ComplexParts PartsCaller::quotient(const ComplexParts& x, const ComplexParts& y) const {
  if (y.im == Arg(0.0)) return {div(x.re, y.re), div(x.im, y.re)};
  const Arg c = part_tensor(e, y.re, y.im), d = part_tensor(e, y.im, y.re);
  const auto size = [&](const Arg& a) { return e.call(id::Abs, {e.call(id::Detach, {a})}); };
  const Arg scale = e.call(id::Maximum, {size(c), size(d)});
  const ComplexParts u{div(x.re, scale), div(x.im, scale)}, v{div(c, scale), div(d, scale)};
  const Arg divisor = add(mul(v.re, v.re), mul(v.im, v.im));
  return {div(add(mul(u.re, v.re), mul(u.im, v.im)), divisor), div(sub(mul(u.im, v.re), mul(u.re, v.im)), divisor)};
}

Arg PartsCaller::absolute(const ComplexParts& z) const {
  if (as_known(z.re) && as_known(z.im)) return std::hypot(*as_known(z.re), *as_known(z.im));
  const Arg zero = is_zero(z);
  return where(zero, 0.0, hypot(where(zero, 1.0, part_tensor(e, z.re, z.im)), part_tensor(e, z.im, z.re)));
}

Arg PartsCaller::angle(const ComplexParts& z) const {
  const Arg zero = is_zero(z), re = part_tensor(e, z.re, z.im), im = part_tensor(e, z.im, z.re);
  const Arg there = e.call(id::Atan2, {e.call(id::Detach, {im}), e.call(id::Detach, {re})});
  return where(zero, there, e.call(id::Atan2, {im, where(zero, 1.0, re)}));
}

// By the half of the plane: what is added has one sign.
ComplexParts PartsCaller::square_root(const ComplexParts& z) const {
  const Arg zero = is_zero(z);
  const Arg re = where(zero, 1.0, part_tensor(e, z.re, z.im)), im = part_tensor(e, z.im, z.re);
  const Arg size = hypot(re, im), right = e.call(id::Ge, {re, 0.0});
  const Arg root = fn(id::Sqrt, mul(add(size, fn(id::Abs, re)), 0.5));
  const Arg other = div(im, mul(root, 2.0));
  const Arg real = where(right, root, fn(id::Abs, other));
  const Arg imag = where(right, other, e.call(id::CopySign, {root, im}));
  return {where(zero, 0.0, real), where(zero, im, imag)};
}

Arg as_complex(const Expansion& e, const Arg& x, DType t) {
  const PartsCaller p{e};
  if (!is_complex_tensor(x)) return p.joined({converted(e, x, to_real(t)), 0.0});
  if (type_of(x).dtype == t) return x;
  return p.elementwise(x, [&](const Arg& part) { return converted(e, part, to_real(t)); });
}

}  // namespace md
