// Composite ops: dispatch, arithmetic, creation, reductions, conversions.
#include "ir/infer/composite.h"

#include <array>
#include <cmath>

#include "ir/infer/complex_calls.h"
#include "ir/infer/expansion.h"
#include "ir/infer/memory_formats.h"
#include "ir/tensor/readable.h"
#include "registry/ops/activations.h"
#include "registry/ops/arrangement.h"
#include "registry/ops/complex.h"
#include "registry/ops/composites.h"
#include "registry/ops/convolution.h"
#include "registry/ops/folds.h"
#include "registry/ops/indexing.h"
#include "registry/ops/products.h"
#include "registry/ops/randomness.h"

namespace md {

// Declared for every op; defined here and in composite_shapes.cpp for the composites.
#define MD_OP(S)  \
  namespace ops { \
  struct S;       \
  }               \
  Arg expand_rule(ops::S, const Expansion& e);
#include "registry/ops.inc"
#undef MD_OP

namespace {
std::vector<Arg> with_defaults(const Op& o, std::initializer_list<Arg> leading) {
  std::vector<Arg> bound(leading);
  for (std::size_t i = bound.size(); i < o.schema.params.size(); ++i) bound.push_back(o.schema.params[i].default_value);
  return bound;
}
}  // namespace

Arg OpCaller::call(OpId id, std::initializer_list<Arg> leading) {
  const Op& o = op(id);
  return call(o, with_defaults(o, leading));
}

Arg Expansion::call_there(OpId id, std::initializer_list<Arg> leading) const {
  const Op& o = md::op(id);
  std::vector<Arg> bound = with_defaults(o, leading);
  const bool makes = o.device >= 0 && o.operands == 0;
  if (makes && bound[static_cast<std::size_t>(o.device)].is_none()) bound[static_cast<std::size_t>(o.device)] = place;
  return caller.call(o, std::move(bound));
}

Arg on_device(const Expansion& e, const Arg& x, Device d) {
  return device_of(x) == d ? x : e.call(id::CopyToDevice, {x, d});
}

Arg converted(const Expansion& e, const Arg& x, DType t) {
  return type_of(x).dtype == t ? x : e.call(id::Convert, {x, t});
}

namespace {

// The dtype this op gives for these operands.
DType arithmetic_dtype(OpId id, const Arg& a, const Arg& b) {
  const Arg args[] = {a, b};
  if (involves_complex(args)) return promoted_dtype(args);
  return compute_types(op(id), args).result;
}

Arg scaled_number(const Arg& x, const Arg& alpha) {
  const auto as_complex_number = [](const Arg& a) {
    if (const auto* c = a.get_if<std::complex<double>>()) return *c;
    if (const auto* d = a.get_if<double>()) return std::complex<double>(*d);
    return std::complex<double>(a.is<bool>() ? a.get<bool>() : static_cast<double>(hint(a.get<Size>())));
  };
  if (x.is<std::complex<double>>() || alpha.is<std::complex<double>>())
    return as_complex_number(x) * as_complex_number(alpha);
  const auto as_size = [](const Arg& a) { return a.is<bool>() ? Size(a.get<bool>()) : a.get<Size>(); };
  if (!x.is<double>() && !alpha.is<double>()) return as_size(x) * as_size(alpha);
  const auto as_double = [&](const Arg& a) {
    return a.is<double>() ? a.get<double>() : static_cast<double>(hint(as_size(a)));
  };
  return as_double(x) * as_double(alpha);
}

bool is_one(const Arg& a) { return a == Arg(1) || a == Arg(1.0) || a == Arg(true); }

// alpha * x, in the dtype `id` of self and x will have.
Arg scaled(const Expansion& e, OpId id, const Arg& self, const Arg& x, const Arg& alpha) {
  const DType t = arithmetic_dtype(id, self, x);
  if (alpha.is<bool>() && t != DType::Bool) e.fail(ErrorKind::Runtime, "a bool alpha needs bool operands");
  if (alpha.is<double>() && !is_differentiable(t)) {
    e.fail(ErrorKind::Runtime, "alpha must be an integer when the operands are, not {}", alpha.get<double>());
  }
  if (is_one(alpha)) return x;
  if (x.is_number()) return scaled_number(x, alpha);
  const Arg factor = t == DType::Bool ? Arg(!(alpha == Arg(0) || alpha == Arg(false))) : alpha;
  return e.call(id::Mul, {converted(e, x, t), factor});
}

}  // namespace

Arg expand_rule(ops::AddAlpha, const Expansion& e) {
  return e.call(id::Add, {e.arg(0), scaled(e, id::Add, e.arg(0), e.arg(1), e.arg(2))});
}

Arg expand_rule(ops::SubAlpha, const Expansion& e) {
  return e.call(id::Sub, {e.arg(0), scaled(e, id::Sub, e.arg(0), e.arg(1), e.arg(2))});
}

Arg expand_rule(ops::Rsub, const Expansion& e) {
  return e.call(id::Sub, {e.arg(1), scaled(e, id::Sub, e.arg(1), e.arg(0), e.arg(2))});
}

Arg expand_rule(ops::DivMode, const Expansion& e) {
  if (e.arg(2).is_none()) return e.call(id::Div, {e.arg(0), e.arg(1)});
  const std::string& mode = e.arg(2).get<std::string>();
  if (mode == "floor") return e.call(id::FloorDivide, {e.arg(0), e.arg(1)});
  if (mode == "trunc") return e.call(id::TruncDivide, {e.arg(0), e.arg(1)});
  e.fail(ErrorKind::Runtime, "rounding_mode must be None, 'trunc' or 'floor', not '{}'", mode);
}

namespace {

// The exponent as a double if it is a known number, else NaN.
double known_exponent(const Arg& a) {
  if (const auto* d = a.get_if<double>()) return *d;
  if (const auto* s = a.get_if<Size>()) return s->is_const() ? static_cast<double>(s->value()) : std::nan("");
  return a.get<bool>();
}

Arg power(const Expansion& e, const Arg& x, const Arg& exponent) {
  const DType t = arithmetic_dtype(id::Add, x, exponent);
  const double n = known_exponent(exponent);
  if (t == DType::Bool && n != 0 && n != 1) e.fail(ErrorKind::NotImplemented, "not defined for bool tensors");
  if (!is_floating(t) && n < 0) e.fail(ErrorKind::Runtime, "integers to negative integer powers are not allowed");
  const Arg base = converted(e, x, t);
  const auto squared = [&] { return e.call(id::Mul, {base, base}); };
  if (n == 0) return e.call(id::FullLike, {base, 1});
  if (n == 1) return e.call(id::Clone, {base});
  if (n == 2) return squared();
  if (n == 3) return e.call(id::Mul, {squared(), base});
  if (n == -1) return e.call(id::Reciprocal, {base});
  if (n == -2) return e.call(id::Reciprocal, {squared()});
  if (n == 0.5) return e.call(id::Sqrt, {base});
  if (n == -0.5) return e.call(id::Rsqrt, {base});
  return e.call(id::Pow, {base, exponent});
}

}  // namespace

Arg expand_rule(ops::PowScalar, const Expansion& e) { return power(e, e.arg(0), e.arg(1)); }

Arg expand_rule(ops::Square, const Expansion& e) { return power(e, e.arg(0), 2); }

Arg expand_rule(ops::Clamp, const Expansion& e) {
  if (e.arg(1).is_none() && e.arg(2).is_none()) e.fail(ErrorKind::Runtime, "min and max are both None");
  Arg x = e.arg(0);
  if (!e.arg(1).is_none()) x = e.call(id::ClampMin, {x, e.arg(1)});
  return e.arg(2).is_none() ? x : e.call(id::ClampMax, {x, e.arg(2)});
}

Arg expand_rule(ops::RoundDecimals, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  if (!is_floating(t)) e.fail(ErrorKind::NotImplemented, "decimals are not defined for {}", info(t).name);
  const std::int64_t decimals = hint(e.size(1));
  if (decimals == 0) return e.call(id::Round, {e.arg(0)});
  const double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  const OpId up = decimals > 0 ? id::Mul : id::Div, down = decimals > 0 ? id::Div : id::Mul;
  return e.call(down, {e.call(id::Round, {e.call(up, {e.arg(0), scale})}), scale});
}

Arg expand_rule(ops::MaskedFill, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  const Arg& value = e.arg(2);
  const Arg filled = e.call(id::Where, {e.arg(1), value.is_number() ? value : converted(e, value, t), e.arg(0)});
  const Arg result = converted(e, filled, t);
  const TensorType layout = type_of(result);
  return is_row_major(layout.sizes, layout.strides) ? result : e.call(id::Compact, {result});
}

// --- Creation --------------------------------------------------------------------------------------------------------

namespace {

// The dtype argument, or that of the tensor in front.
Arg dtype_or_own(const Expansion& e) {
  const Arg& given = e.arg(e.op.dtype);
  return given.is_none() ? Arg(e.tensor(0).dtype) : given;
}

Arg filled_like(const Expansion& e, int value) {
  return e.call(id::FullLike, {e.arg(0), value, e.arg(1), e.arg(2), e.arg(3), e.arg(4)});
}

Arg new_tensor(const Expansion& e, OpId id) { return e.call(id, {e.arg(1), dtype_or_own(e), e.arg(3), e.arg(4)}); }

}  // namespace

Arg expand_rule(ops::ZerosLike, const Expansion& e) { return filled_like(e, 0); }
Arg expand_rule(ops::OnesLike, const Expansion& e) { return filled_like(e, 1); }
Arg expand_rule(ops::NewZeros, const Expansion& e) { return new_tensor(e, id::Zeros); }
Arg expand_rule(ops::NewOnes, const Expansion& e) { return new_tensor(e, id::Ones); }
Arg expand_rule(ops::NewEmpty, const Expansion& e) { return new_tensor(e, id::Empty); }

Arg expand_rule(ops::NewFull, const Expansion& e) {
  return e.call(id::Full, {e.arg(1), e.arg(2), dtype_or_own(e), e.arg(4), e.arg(5)});
}

Arg expand_rule(ops::ArangeEnd, const Expansion& e) {
  return e.call(id::Arange, {0, e.arg(0), 1, e.arg(1), e.arg(2), e.arg(3)});
}

Arg expand_rule(ops::ArangeStart, const Expansion& e) {
  return e.call(id::Arange, {e.arg(0), e.arg(1), 1, e.arg(2), e.arg(3), e.arg(4)});
}

Arg expand_rule(ops::RandintHigh, const Expansion& e) {
  return e.call(id::Randint, {0, e.arg(0), e.arg(1), e.arg(2), e.arg(3), e.arg(4)});
}

// --- Reductions ------------------------------------------------------------------------------------------------------

namespace {

// Number of elements a reduction over `dim` (None or []: all) folds into one.
Size folded_count(const Expansion& e, const TensorType& x, const Arg& dim) {
  const auto* list = dim.get_if<ListArg>();
  if (!list || list->items.empty()) return product(x.sizes);
  Size n = 1;
  for (const Arg& d : list->items) {
    const int at = checked_dim(e, d.get<Size>(), x.dim());
    if (x.dim() > 0) n = n * x.sizes[at];
  }
  return n;
}

Arg mean(const Expansion& e, const Arg& x, const Arg& dim, bool keepdim, const Arg& dtype) {
  const Size n = folded_count(e, type_of(x), dim);
  return e.call(id::Div, {e.call(id::Sum, {x, dim, keepdim, dtype}), n});
}

// n - correction, at least 0.
Arg degrees_of_freedom(Size n, const Arg& correction) {
  const Arg one = 1;
  const Arg& c = correction.is_none() ? one : correction;
  if (const auto* s = c.get_if<Size>()) return max(n - *s, 0);
  const double d = c.is<bool>() ? c.get<bool>() : c.get<double>();
  if (!n.is_const()) guard_eq(n, hint(n));  // a fractional correction needs the number itself
  return std::max(static_cast<double>(hint(n)) - d, 0.0);
}

Arg variance(const Expansion& e, const Arg& x, const Arg& dim, const Arg& correction, bool keepdim) {
  const TensorType t = type_of(x);
  if (!is_floating(t.dtype)) {
    e.fail(ErrorKind::Runtime, "only floating point tensors have a variance here, not {}", info(t.dtype).name);
  }
  const Arg distance = e.call(id::Sub, {x, mean(e, x, dim, true, NoneArg{})});
  const Arg total = e.call(id::Sum, {e.call(id::Mul, {distance, distance}), dim, keepdim, NoneArg{}});
  return e.call(id::Div, {total, degrees_of_freedom(folded_count(e, t, dim), correction)});
}

Arg largest_of_all(const Expansion& e, OpId id) {
  if (guard_eq(product(e.tensor(0).sizes), 0)) {
    e.fail(ErrorKind::Runtime, "a tensor of sizes {} has no elements to choose from; give dim",
           sizes_text(e.tensor(0).sizes));
  }
  return e.call(id, {e.arg(0)});
}

Arg unbiased(const Expansion& e, int i) { return e.flag(i) ? 1 : 0; }

}  // namespace

Arg expand_rule(ops::Mean, const Expansion& e) {
  const DType t = e.arg(3).is_none() ? e.tensor(0).dtype : e.arg(3).get<DType>();
  if (!is_differentiable(t)) {
    e.fail(ErrorKind::Runtime, "the mean of {} values needs a floating point dtype: give dtype or convert first",
           info(t).name);
  }
  return mean(e, e.arg(0), e.arg(1), e.flag(2), e.arg(3));
}

Arg expand_rule(ops::MaxAll, const Expansion& e) { return largest_of_all(e, id::AMax); }
Arg expand_rule(ops::MinAll, const Expansion& e) { return largest_of_all(e, id::AMin); }
Arg expand_rule(ops::MaxOther, const Expansion& e) { return e.call(id::Maximum, {e.arg(0), e.arg(1)}); }
Arg expand_rule(ops::MinOther, const Expansion& e) { return e.call(id::Minimum, {e.arg(0), e.arg(1)}); }

Arg expand_rule(ops::Var, const Expansion& e) { return variance(e, e.arg(0), e.arg(1), e.arg(2), e.flag(3)); }
Arg expand_rule(ops::VarUnbiased, const Expansion& e) {
  return variance(e, e.arg(0), NoneArg{}, unbiased(e, 1), false);
}
Arg expand_rule(ops::VarUnbiasedDim, const Expansion& e) {
  return variance(e, e.arg(0), e.arg(1), unbiased(e, 2), e.flag(3));
}
Arg expand_rule(ops::Std, const Expansion& e) {
  return e.call(id::Sqrt, {variance(e, e.arg(0), e.arg(1), e.arg(2), e.flag(3))});
}
Arg expand_rule(ops::StdUnbiased, const Expansion& e) {
  return e.call(id::Sqrt, {variance(e, e.arg(0), NoneArg{}, unbiased(e, 1), false)});
}
Arg expand_rule(ops::StdUnbiasedDim, const Expansion& e) {
  return e.call(id::Sqrt, {variance(e, e.arg(0), e.arg(1), unbiased(e, 2), e.flag(3))});
}

// --- Copies, comparisons
// ------------------------------------------------------------------------------------------

Arg expand_rule(ops::CopyFrom, const Expansion& e) {
  const Arg& x = e.arg(1);
  const EarlyReturn others_go_on(e.flag(2));
  const DType t = x.is<double>() ? DType::Float64 : x.is<bool>() ? DType::Bool : DType::Int64;
  return e.call(id::Copy, {e.arg(0), x.is_number() ? e.call(id::Full, {ListArg{}, x, t}) : x});
}

Arg expand_rule(ops::IsClose, const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  if (t != e.tensor(1).dtype) {
    e.fail(ErrorKind::Runtime, "{} did not match {}", info(t).name, info(e.tensor(1).dtype).name);
  }
  const double rtol = e.arg(2).get<double>(), atol = e.arg(3).get<double>();
  if (rtol < 0) e.fail(ErrorKind::Runtime, "rtol must be greater than or equal to zero, but got {}", rtol);
  if (atol < 0) e.fail(ErrorKind::Runtime, "atol must be greater than or equal to zero, but got {}", atol);
  Arg close = e.call(id::Eq, {e.arg(0), e.arg(1)});
  if (e.flag(4) && is_floating(t)) {
    const Arg both = e.call(id::LogicalAnd, {e.call(id::IsNan, {e.arg(0)}), e.call(id::IsNan, {e.arg(1)})});
    close = e.call(id::LogicalOr, {close, both});
  }
  const DType work = t == DType::Bool ? default_dtype() : t;
  const Arg a = converted(e, e.arg(0), work), b = converted(e, e.arg(1), work);
  const Arg error = e.call(id::Abs, {e.call(id::Sub, {a, b})});
  const Arg allowed = e.call(id::Add, {e.call(id::Abs, {e.call(id::Mul, {b, rtol})}), atol});
  const Arg within = e.call(id::LogicalAnd, {e.call(id::IsFinite, {error}), e.call(id::Le, {error, allowed})});
  return e.call(id::LogicalOr, {close, within});
}

// --- Dispatch --------------------------------------------------------------------------------------------------------

namespace {

using ExpandRule = Arg (*)(const Expansion&);

template <class O>
constexpr ExpandRule expand_rule_of() {
  if constexpr (requires { O::decl; }) {
    if constexpr (O::decl.kind == OpKind::Composite) return [](const Expansion& e) { return expand_rule(O{}, e); };
  }
  return nullptr;
}
constexpr ExpandRule kExpandRules[] = {
#define MD_OP(S) expand_rule_of<ops::S>(),
#include "registry/ops.inc"
#undef MD_OP
};

// The half an op that rounds once gives for these arguments, if it gives one.
std::optional<DType> rounded_result(const Op& composite, std::span<const Arg> bound) {
  if (!composite.decl->rounds_once) return {};
  const DType* given = composite.dtype < 0 ? nullptr : bound[composite.dtype].get_if<DType>();
  const DType t = given                    ? *given
                  : composite.operands > 1 ? arithmetic_dtype(id::Add, bound[0], bound[1])
                                           : type_of(bound[0]).dtype;
  for (int i = 2; i < composite.operands; ++i) {
    if (arithmetic_dtype(id::Add, bound[0], bound[i]) != t) return {};
  }
  return is_half(t) ? std::optional(t) : std::nullopt;
}

// The call on float32 operands, its results rounded to `t`.
Arg expand_wide(ExpandRule rule, const Op& composite, OpCaller& caller, std::span<const Arg> bound, DType t,
                Device place) {
  std::vector<Arg> wide(bound.begin(), bound.end());
  const Expansion given{{composite, bound}, caller, place};
  for (Arg& a : wide) {
    if (is_tensor(a) && is_half(type_of(a).dtype)) a = converted(given, a, wide_dtype(type_of(a).dtype));
  }
  if (composite.dtype >= 0 && !wide[composite.dtype].is_none()) wide[composite.dtype] = DType::Float32;
  Arg result = rule(Expansion{{composite, wide}, caller, place});
  const auto round = [&](const Arg& a) { return is_floating(type_of(a).dtype) ? converted(given, a, t) : a; };
  const auto* list = result.get_if<ListArg>();
  if (!list) return round(result);
  ListArg rounded;
  rounded.tuple = list->tuple;
  for (const Arg& a : list->items) rounded.items.push_back(round(a));
  return rounded;
}

// How results lie in memory, where the parts of a composite would leave them otherwise.
enum class ResultLayout : std::uint8_t { Any, RowMajor, OfOperand, OfOperands };

constexpr auto kResultLayouts = [] {
  std::array<ResultLayout, id::kCount> layouts{};
  for (const OpId of : {id::Softmax, id::LogSoftmax, id::SafeSoftmax, id::LayerNorm})
    layouts[of] = ResultLayout::RowMajor;
  for (const OpId of : {id::MaxPool2d, id::MaxPool3d, id::MaxPool2dWithIndices, id::MaxPool3dWithIndices, id::AvgPool2d,
                        id::AvgPool3d, id::AdaptiveAvgPool2d, id::AdaptiveMaxPool2dWithIndices, id::Interpolate,
                        id::PixelShuffle, id::PixelUnshuffle, id::ChannelShuffle, id::Roll})
    layouts[of] = ResultLayout::OfOperand;
  for (const OpId of : {id::Conv2d, id::Conv3d, id::Conv2dPadding, id::Conv3dPadding, id::ConvTranspose2d})
    layouts[of] = ResultLayout::OfOperands;
  return layouts;
}();

Arg in_layout(const Expansion& e, Arg result) {
  if (const auto* l = result.get_if<ListArg>()) {
    ListArg all{{}, l->tuple};
    for (const Arg& x : l->items) all.items.push_back(in_layout(e, x));
    return all;
  }
  const TensorType t = type_of(result);
  const ResultLayout layout = kResultLayouts[e.op.id];
  MemoryFormat f = MemoryFormat::Contiguous;
  if (layout != ResultLayout::RowMajor) {
    if (t.dim() < 4) return result;
    f = suggested_format(e.tensor(0));
    if (f == MemoryFormat::Contiguous && layout == ResultLayout::OfOperands) f = suggested_format(e.tensor(1));
    if (f == MemoryFormat::Contiguous || info(f).rank != t.dim()) return result;
    return t.strides == format_strides(f, t.sizes) ? result : in_format(e, result, f);
  }
  return is_row_major(t.sizes, t.strides) ? result : in_format(e, result, f);
}

// Where a composite's parts make what they need; whether its operands fit together they say themselves.
Device place_of(const Op& composite, std::span<const Arg> bound) {
  const Device* named = composite.device < 0 ? nullptr : bound[composite.device].get_if<Device>();
  if (named) return available(*named);
  Device found;
  for (const Arg& a : bound) {
    const auto* l = a.get_if<ListArg>();
    for (const Arg& x : l ? std::span<const Arg>(l->items) : std::span<const Arg>(&a, 1)) {
      if (found.is_cpu() && is_tensor(x)) found = device_of(x);
    }
  }
  return found;
}

}  // namespace

Arg expand(const Op& composite, OpCaller& caller, std::span<const Arg> bound) {
  ExpandRule rule = composite.id < std::size(kExpandRules) ? kExpandRules[composite.id] : nullptr;
  const bool of_complex = involves_complex(bound);
  if (const ComplexRule special = of_complex ? complex_rule_of(composite.id) : nullptr) rule = special;
  if (!rule) throw InternalError(fmt::format("{} is not a composite op", composite.name()));
  const Device place = place_of(composite, bound);
  if (of_complex) {
    try {
      return rule(Expansion{{composite, bound}, caller, place});
    } catch (const std::bad_variant_access&) {  // the rule reads a number that may not be complex
      throw OpError(ErrorKind::NotImplemented, composite.public_name + "() is not defined for complex numbers");
    }
  }
  const auto t = rounded_result(composite, bound);
  const Expansion e{{composite, bound}, caller, place};
  Arg result = t ? expand_wide(rule, composite, caller, bound, *t, place) : rule(e);
  return kResultLayouts[composite.id] == ResultLayout::Any ? result : in_layout(e, std::move(result));
}

}  // namespace md
