// Complex elements made, moved, folded and multiplied, by their parts.
#include <algorithm>
#include <cmath>

#include "ir/composites/complex_parts.h"
#include "ir/composites/complex_rules.h"

namespace md {

namespace {

DType dtype_argument(const Expansion& e, DType otherwise) {
  const DType* given = e.op.dtype < 0 ? nullptr : e.arg(e.op.dtype).get_if<DType>();
  return given ? *given : otherwise;
}

Arg device_argument(const Expansion& e) { return e.op.device < 0 ? Arg() : e.arg(e.op.device); }

// The operand as 1 and more dimensions of elements before that of the parts.
SizeVec with_parts(SizeVec sizes) {
  sizes.push_back(2);
  return sizes;
}

Arg filled(const Expansion& e, const SizeVec& sizes, const Arg& number, DType t) {
  const std::complex<double> c = complex_number(number);
  const auto full = [&](double part) {
    return e.call(id::Full, {sizes_arg(sizes), part, to_real(t), device_argument(e)});
  };
  return PartsCaller{e}.joined({full(c.real()), full(c.imag())});
}

// The operand with other elements. In a graph it stays an operand: its gradient is zeros, not none.
Arg filled_anew(const Expansion& e, const Arg& number) {
  const TensorType self = e.tensor(0);
  if (!e.arg(0).is<Node*>()) return filled(e, self.sizes, number, self.dtype);
  const PartsCaller p{e};
  const ComplexParts z = p.parts(0);
  const std::complex<double> c = complex_number(number);
  return p.joined({e.call(id::Fill, {z.re, c.real()}), e.call(id::Fill, {z.im, c.imag()})});
}

// The dtype all the values have that are moved together.
DType moved_dtype(const Expansion& e) {
  std::vector<Arg> values;
  const auto add = [&](const Arg& a) {
    if (is_tensor_operand(a) && (is_differentiable(type_of(a).dtype))) values.push_back(a);
  };
  for (const Arg& a : e.args) {
    add(a);
    if (const auto* l = a.get_if<ListArg>()) std::ranges::for_each(l->items, add);
  }
  for (const Arg& a : e.args)
    if (a.is<std::complex<double>>()) values.push_back(a);
  return dtype_argument(e, values.empty() ? DType::Complex64 : promoted_dtype(values));
}

// Positions and masks are the same for both parts.
bool is_place(const Param& p) {
  return p.name == "index" || p.name == "indices" || p.name == "mask" || p.name == "condition";
}

// Of a factor there is no part: what is multiplied has them.
bool is_value(const Param& p) {
  if (p.name == "alpha" || is_place(p)) return false;
  switch (p.type) {
    case ParamType::Tensor:
    case ParamType::TensorOpt:
    case ParamType::Operand:
    case ParamType::OperandOpt:
    case ParamType::TensorList:
    case ParamType::TensorRest:
    case ParamType::Scalar:
    case ParamType::ScalarOpt:
      return true;
    default:
      return false;
  }
}

Arg part_of(const PartsCaller& p, const Arg& a, DType t, bool imaginary) {
  if (const auto* l = a.get_if<ListArg>()) {
    ListArg out{{}, l->tuple};
    for (const Arg& x : l->items) out.items.push_back(part_of(p, x, t, imaginary));
    return out;
  }
  if (!a.is_number() && !is_tensor_operand(a)) return a;
  const ComplexParts z = p.parts(a, t);
  if (!imaginary) return z.re;
  return z.im.is<double>() && !a.is_number() ? p.e.call(id::FullLike, {z.re, 0.0}) : z.im;
}

// The call on the real and on the imaginary parts.
Arg each_part(const Expansion& e, DType t) {
  const PartsCaller p{e};
  const auto called = [&](bool imaginary) {
    std::vector<Arg> args(e.args.begin(), e.args.end());
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (is_value(e.op.schema.params[i])) args[i] = part_of(p, args[i], t, imaginary);
      if (args[i].is<DType>()) args[i] = to_real(args[i].get<DType>());
    }
    return e.caller.call(e.op, std::move(args));
  };
  const Arg re = called(false), im = called(true);
  return p.joined({re, im});
}

Arg on_pairs(const Expansion& e) {
  const PartsCaller p{e};
  return p.elementwise(e.arg(0), [&](const Arg& part) { return e.call(e.op.id, {part}); });
}

// Elements `from` to `to` of dimension `d`.
Arg part_along(const Expansion& e, const Arg& x, int d, std::int64_t from, std::int64_t to) {
  return e.call(id::Narrow, {x, d, from, to - from});
}

// By halves: pairs of what is multiplied, then pairs of those.
Arg product_along(const Expansion& e, Arg x, int d) {
  std::int64_t n = fixed_size(type_of(x).sizes[static_cast<std::size_t>(d)]);
  if (n == 0) {
    SizeVec sizes = type_of(x).sizes;
    sizes[static_cast<std::size_t>(d)] = 1;
    return filled(e, sizes, 1.0, type_of(x).dtype);
  }
  while (n > 1) {
    const std::int64_t half = n / 2;
    Arg y = e.call(id::Mul, {part_along(e, x, d, 0, half), part_along(e, x, d, half, 2 * half)});
    if (n % 2) y = e.call(id::Cat, {ListArg{{y, part_along(e, x, d, n - 1, n)}}, d});
    x = y, n = half + n % 2;
  }
  return x;
}

// Linear in each of the first two operands.
Arg bilinear(const Expansion& e) {
  const PartsCaller p{e};
  const DType t = promoted_dtype(e.args.first(2));
  const auto tensors = [&](int i) {
    const ComplexParts z = p.parts(e.arg(i), t);
    return ComplexParts{z.re, z.im.is<double>() ? e.call(id::FullLike, {z.re, 0.0}) : z.im};
  };
  const ComplexParts x = tensors(0), y = tensors(1);
  const auto times = [&](const Arg& u, const Arg& v) {
    std::vector<Arg> args(e.args.begin(), e.args.end());
    args[0] = u, args[1] = v;
    return e.caller.call(e.op, std::move(args));
  };
  return p.joined({p.sub(times(x.re, y.re), times(x.im, y.im)), p.add(times(x.re, y.im), times(x.im, y.re))});
}

}  // namespace

namespace complex_rule {

Arg by_parts(const Expansion& e) { return each_part(e, moved_dtype(e)); }
Arg clone(const Expansion& e) { return on_pairs(e); }
Arg copy_to_device(const Expansion& e) {
  return PartsCaller{e}.elementwise(e.arg(0), [&](const Arg& part) { return e.call(e.op.id, {part, e.place}); });
}
Arg compact(const Expansion& e) { return on_pairs(e); }

Arg convert(const Expansion& e) {
  const DType to = e.arg(e.op.dtype).get<DType>();
  const Arg& x = e.arg(0);
  if (is_complex(to))
    return is_complex_tensor(x) && type_of(x).dtype == to ? e.call(id::Clone, {x}) : as_complex(e, x, to);
  if (to == DType::Bool) return e.call(id::Ne, {x, 0});
  const Arg real = PartsCaller{e}.parts(0).re;
  return type_of(real).dtype == to ? e.call(id::Clone, {real}) : converted(e, real, to);
}

// `other` in the sizes and the dtype of `self`, a tensor of its own.
Arg copy(const Expansion& e) {
  const TensorType self = e.tensor(0);
  Arg x = e.arg(1);
  if (x.is_number()) return filled(e, self.sizes, x, self.dtype);
  if (type_of(x).dtype != self.dtype) x = converted(e, x, self.dtype);
  if (!(type_of(x).sizes == self.sizes)) x = e.call(id::Expand, {x, sizes_arg(self.sizes)});
  const Device there = device_of(e.arg(0));
  return device_of(x) == there ? e.call(id::Clone, {x}) : e.call(id::CopyToDevice, {x, there});
}

Arg fill(const Expansion& e) {
  const TensorType self = e.tensor(0);
  if (!is_complex(self.dtype)) {
    e.fail(ErrorKind::Runtime, "value cannot be converted to type {} without overflow", info(self.dtype).name);
  }
  if (e.arg(1).is_number()) return filled_anew(e, e.arg(1));
  return e.call(id::Clone, {e.call(id::Expand, {converted(e, e.arg(1), self.dtype), sizes_arg(self.sizes)})});
}

Arg zero(const Expansion& e) { return filled_anew(e, 0.0); }

Arg zeros(const Expansion& e) {
  const Arg sizes = sizes_arg(with_parts(e.sizes(0)));
  const DType t = e.arg(e.op.dtype).get<DType>();
  return PartsCaller{e}.of_pairs(e.call(id::Zeros, {sizes, to_real(t), device_argument(e)}));
}
Arg ones(const Expansion& e) { return filled(e, e.sizes(0), 1.0, e.arg(e.op.dtype).get<DType>()); }

Arg full(const Expansion& e) {
  const DType t = dtype_argument(e, to_complex(default_dtype()));
  if (is_complex(t)) return filled(e, e.sizes(0), e.arg(1), t);
  if (complex_number(e.arg(1)).imag() != 0 || e.arg(1).is<std::complex<double>>())
    e.fail(ErrorKind::Runtime, "value cannot be converted to type {} without overflow", info(t).name);
  return e.call(id::Full, {e.arg(0), e.arg(1), t, device_argument(e)});
}

Arg full_like(const Expansion& e) {
  const TensorType x = e.tensor(0);
  const DType t = dtype_argument(e, x.dtype);
  if (is_complex(t)) return filled(e, x.sizes, e.arg(1), t);
  if (e.arg(1).is<std::complex<double>>())
    e.fail(ErrorKind::Runtime, "value cannot be converted to type {} without overflow", info(t).name);
  return e.call(id::Full, {sizes_arg(x.sizes), e.arg(1), t, device_argument(e)});
}

Arg eye(const Expansion& e) {
  const DType t = e.arg(e.op.dtype).get<DType>();
  return PartsCaller{e}.joined({e.call(id::Eye, {e.arg(0), e.arg(1), to_real(t), device_argument(e)}), 0.0});
}

Arg linspace(const Expansion& e) {
  const std::complex<double> start = complex_number(e.arg(0)), end = complex_number(e.arg(1));
  const DType t = dtype_argument(e, to_complex(default_dtype()));
  if (!is_complex(t))
    e.fail(ErrorKind::Runtime, "linspace(): inferred dtype is complex, but {} is given", info(t).name);
  const auto line = [&](double from, double to) {
    return e.call(id::Linspace, {from, to, e.arg(2), to_real(t), device_argument(e)});
  };
  return PartsCaller{e}.joined({line(start.real(), end.real()), line(start.imag(), end.imag())});
}

namespace {
Arg random_pairs(const Expansion& e) {
  std::vector<Arg> args(e.args.begin(), e.args.end());
  args[0] = sizes_arg(with_parts(e.sizes(0)));
  args[static_cast<std::size_t>(e.op.dtype)] = to_real(e.arg(e.op.dtype).get<DType>());
  if (e.op.requires_grad >= 0) args[static_cast<std::size_t>(e.op.requires_grad)] = false;
  return e.caller.call(e.op, std::move(args));
}
}  // namespace

Arg rand(const Expansion& e) { return PartsCaller{e}.of_pairs(random_pairs(e)); }
// The variance of a number is 1, that of its parts half of it.
Arg randn(const Expansion& e) { return PartsCaller{e}.of_pairs(e.call(id::Mul, {random_pairs(e), std::sqrt(0.5)})); }

// Both parts of each element.
Arg uniform(const Expansion& e) {
  const PartsCaller p{e};
  return p.of_pairs(e.call(id::Uniform, {p.pairs(e.arg(0)), e.arg(1), e.arg(2)}));
}
Arg normal(const Expansion& e) {
  const PartsCaller p{e};
  const double spread = complex_number(e.arg(2)).real() * std::sqrt(0.5);
  const Arg both = p.of_pairs(e.call(id::NormalFill, {p.pairs(e.arg(0)), 0.0, spread}));
  return e.arg(1) == Arg(0.0) ? both : e.call(id::Add, {both, e.arg(1)});
}

// --- Folds -----------------------------------------------------------------------------------------------------------

Arg sum(const Expansion& e) {
  const DType t = dtype_argument(e, e.tensor(0).dtype);
  if (is_complex(t)) return each_part(e, t);
  std::vector<Arg> args(e.args.begin(), e.args.end());
  args[0] = converted(e, args[0], t);
  return e.caller.call(e.op, std::move(args));
}

Arg prod(const Expansion& e) {
  const DType t = dtype_argument(e, e.tensor(0).dtype);
  Arg x = converted(e, e.arg(0), t);
  const TensorType type = type_of(x);
  if (e.arg(1).is_none()) {
    return e.call(id::Select, {product_along(e, reshaped(e, x, SizeVec{product(type.sizes)}), 0), 0, 0});
  }
  const int d = checked_dim(e, e.size(1), type.dim());
  if (type.dim() == 0) return e.call(id::Clone, {x});
  const Arg folded = product_along(e, x, d);
  return e.flag(2) ? folded : e.call(id::Select, {folded, d, 0});
}

// Each step multiplies by what lies twice as far back.
Arg cumprod(const Expansion& e) {
  const DType t = dtype_argument(e, e.tensor(0).dtype);
  Arg x = converted(e, e.arg(0), t);
  const int d = checked_dim(e, e.size(1), type_of(x).dim());
  if (type_of(x).dim() == 0) return e.call(id::Clone, {x});
  const std::int64_t n = fixed_size(type_of(x).sizes[static_cast<std::size_t>(d)]);
  if (n < 2) return e.call(id::Clone, {x});
  for (std::int64_t step = 1; step < n; step *= 2) {
    const Arg later = e.call(id::Mul, {part_along(e, x, d, step, n), part_along(e, x, d, 0, n - step)});
    x = e.call(id::Cat, {ListArg{{part_along(e, x, d, 0, step), later}}, d});
  }
  return x;
}

// Shifted by the largest real part.
Arg log_cumsum_exp(const Expansion& e) {
  const PartsCaller p{e};
  if (e.rank(0) == 0) return e.call(id::Clone, {e.arg(0)});
  const Arg top = e.call(id::Detach, {e.call(id::AMax, {p.parts(0).re, ListArg{{e.arg(1)}}, true})});
  const Arg grown = e.call(id::Exp, {e.call(id::Sub, {e.arg(0), top})});
  return e.call(id::Add, {e.call(id::Log, {e.call(id::CumSum, {grown, e.arg(1)})}), top});
}

Arg log_sum_exp(const Expansion& e) {
  const Arg grown = e.call(id::Exp, {e.arg(0)});
  return e.call(id::Log, {e.call(id::Sum, {grown, e.arg(1), e.arg(2)})});
}

// Of the distances' squares, which are those of the parts.
Arg variance(const Expansion& e) {
  const PartsCaller p{e};
  const ComplexParts z = p.parts(0);
  const auto of = [&](const Arg& part) {
    std::vector<Arg> args(e.args.begin(), e.args.end());
    args[0] = part;
    return e.caller.call(e.op, std::move(args));
  };
  return p.add(of(z.re), of(z.im));
}
Arg spread(const Expansion& e) {
  const PartsCaller p{e};
  const ComplexParts z = p.parts(0);
  const auto of = [&](const Arg& part) {
    std::vector<Arg> args(e.args.begin(), e.args.end());
    args[0] = part;
    const Arg one = e.caller.call(e.op, std::move(args));
    return p.mul(one, one);
  };
  return p.fn(id::Sqrt, p.add(of(z.re), of(z.im)));
}

Arg of_absolute(const Expansion& e) {
  std::vector<Arg> args(e.args.begin(), e.args.end());
  args[0] = e.call(id::Abs, {args[0]});
  for (Arg& a : args)
    if (a.is<DType>()) a = to_real(a.get<DType>());
  return e.caller.call(e.op, std::move(args));
}

// --- Products --------------------------------------------------------------------------------------------------------

Arg matrix_product(const Expansion& e) {
  const DType a = e.tensor(0).dtype, b = e.tensor(1).dtype;
  if (a != b) {
    throw OpError(ErrorKind::Runtime, fmt::format("expected m1 and m2 to have the same dtype, but got: {} != {}",
                                                  info(a).name, info(b).name));
  }
  return bilinear(e);
}

Arg convolution(const Expansion& e) { return bilinear(e); }

Arg conjugate_first(const Expansion& e) {
  const DType a = e.tensor(0).dtype, b = e.tensor(1).dtype;
  if (a != b) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("vdot : expected both vectors to have same dtype, but found {} and {}",
                              info(a).guard_name, info(b).guard_name));
  }
  return e.call(id::Dot, {e.call(id::Conj, {e.arg(0)}), e.arg(1)});
}

Arg vecdot(const Expansion& e) {
  const Arg made = e.call(id::Mul, {e.call(id::Conj, {e.arg(0)}), e.arg(1)});
  return e.call(id::Sum, {made, ListArg{{e.arg(2)}}, false});
}

// --- Positions -------------------------------------------------------------------------------------------------------

// The same elements' pairs.
Arg index(const Expansion& e) {
  const PartsCaller p{e};
  return p.of_pairs(e.call(id::Index, {p.pairs(e.arg(0)), e.arg(1), e.arg(2)}));
}

Arg index_put(const Expansion& e) {
  const PartsCaller p{e};
  const DType t = e.tensor(0).dtype;
  if (e.tensor(2).dtype != t) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Index put requires the source and destination dtypes match, got {} for the destination "
                              "and {} for the source.",
                              info(t).guard_name, info(e.tensor(2).dtype).guard_name));
  }
  return p.of_pairs(e.call(id::IndexPut, {p.pairs(e.arg(0)), e.arg(1), p.pairs(e.arg(2)), e.arg(3)}));
}

Arg write_view(const Expansion& e) {
  const PartsCaller p{e};
  const TensorType self = e.tensor(0);
  if (!is_complex(self.dtype))
    return e.call(id::WriteView, {e.arg(0), converted(e, e.arg(1), self.dtype), e.arg(2), e.arg(3)});
  SizeVec strides;
  for (const Size s : e.sizes(2)) strides.push_back(s * 2);
  strides.push_back(1);
  const Arg source = as_complex(e, e.arg(1), self.dtype);
  return p.of_pairs(e.call(id::WriteView, {p.pairs(e.arg(0)), p.pairs(source), sizes_arg(strides), e.size(3) * 2}));
}

Arg masked_fill(const Expansion& e) {
  const TensorType self = e.tensor(0);
  if (!is_complex(self.dtype)) {
    e.fail(ErrorKind::Runtime, "value cannot be converted to type {} without overflow", info(self.dtype).name);
  }
  return converted(e, e.call(id::Where, {e.arg(1), e.arg(2), e.arg(0)}), self.dtype);
}

}  // namespace complex_rule
}  // namespace md
