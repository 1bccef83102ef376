// Which op takes complex operands by which rule, and what is refused.
#include "ir/composites/complex_rules.h"

#include <algorithm>
#include <array>

#include "ir/composites/complex_parts.h"

namespace md {

namespace {

struct ComplexRow {
  OpId op;
  ComplexRule rule;
};

constexpr ComplexRow kComplexRows[] = {
    {id::Add, complex_rule::add},
    {id::Sub, complex_rule::sub},
    {id::Mul, complex_rule::mul},
    {id::Div, complex_rule::div},
    {id::Neg, complex_rule::neg},
    {id::Pow, complex_rule::pow},
    {id::PowScalar, complex_rule::pow_scalar},
    {id::FloatPower, complex_rule::float_power},
    {id::Square, complex_rule::square},
    {id::Reciprocal, complex_rule::reciprocal},
    {id::Abs, complex_rule::abs},
    {id::Sign, complex_rule::sgn},
    {id::Exp, complex_rule::exp},
    {id::Exp2, complex_rule::exp2},
    {id::Expm1, complex_rule::expm1},
    {id::Log, complex_rule::log},
    {id::Log2, complex_rule::log2},
    {id::Log10, complex_rule::log10},
    {id::Log1p, complex_rule::log1p},
    {id::Sqrt, complex_rule::sqrt},
    {id::Rsqrt, complex_rule::rsqrt},
    {id::Sin, complex_rule::sin},
    {id::Cos, complex_rule::cos},
    {id::Tan, complex_rule::tan},
    {id::Sinh, complex_rule::sinh},
    {id::Cosh, complex_rule::cosh},
    {id::Tanh, complex_rule::tanh},
    {id::Asin, complex_rule::asin},
    {id::Acos, complex_rule::acos},
    {id::Atan, complex_rule::atan},
    {id::Asinh, complex_rule::asinh},
    {id::Acosh, complex_rule::acosh},
    {id::Atanh, complex_rule::atanh},
    {id::Sinc, complex_rule::sinc},
    {id::Lerp, complex_rule::lerp},
    {id::LerpScalar, complex_rule::lerp},
    {id::Sigmoid, complex_rule::sigmoid},
    {id::Silu, complex_rule::silu},
    {id::Eq, complex_rule::eq},
    {id::Ne, complex_rule::ne},
    {id::Lt, complex_rule::refuse_order},
    {id::Le, complex_rule::refuse_order},
    {id::Gt, complex_rule::refuse_order},
    {id::Ge, complex_rule::refuse_order},
    {id::IsNan, complex_rule::is_nan},
    {id::IsInf, complex_rule::is_inf},
    {id::IsFinite, complex_rule::is_finite},
    {id::IsReal, complex_rule::is_real},
    {id::LogicalAnd, complex_rule::by_masks},
    {id::LogicalOr, complex_rule::by_masks},
    {id::LogicalXor, complex_rule::by_masks},
    {id::LogicalNot, complex_rule::by_masks},
    {id::Any, complex_rule::by_masks},
    {id::All, complex_rule::by_masks},
    {id::NonZero, complex_rule::by_masks},
    {id::Where, complex_rule::by_parts},
    {id::Clone, complex_rule::clone},
    {id::Compact, complex_rule::compact},
    {id::CopyToDevice, complex_rule::copy_to_device},
    {id::Convert, complex_rule::convert},
    {id::Copy, complex_rule::copy},
    {id::CopyFrom, complex_rule::copy},
    {id::Fill, complex_rule::fill},
    {id::Zero, complex_rule::zero},
    {id::Zeros, complex_rule::zeros},
    {id::Ones, complex_rule::ones},
    {id::Full, complex_rule::full},
    {id::FullLike, complex_rule::full_like},
    {id::Eye, complex_rule::eye},
    {id::Linspace, complex_rule::linspace},
    {id::Rand, complex_rule::rand},
    {id::Randn, complex_rule::randn},
    {id::Uniform, complex_rule::uniform},
    {id::NormalFill, complex_rule::normal},
    {id::Sum, complex_rule::sum},
    {id::Prod, complex_rule::prod},
    {id::CumSum, complex_rule::by_parts},
    {id::CumProd, complex_rule::cumprod},
    {id::LogCumSumExp, complex_rule::log_cumsum_exp},
    {id::LogSumExp, complex_rule::log_sum_exp},
    {id::Var, complex_rule::variance},
    {id::VarUnbiased, complex_rule::variance},
    {id::VarUnbiasedDim, complex_rule::variance},
    {id::Std, complex_rule::spread},
    {id::StdUnbiased, complex_rule::spread},
    {id::StdUnbiasedDim, complex_rule::spread},
    {id::VectorNorm, complex_rule::of_absolute},
    {id::LinalgNorm, complex_rule::of_absolute},
    {id::LinalgNormName, complex_rule::of_absolute},
    {id::Mm, complex_rule::matrix_product},
    {id::Bmm, complex_rule::matrix_product},
    {id::BatchedMm, complex_rule::matrix_product},
    {id::Convolution, complex_rule::convolution},
    {id::Vdot, complex_rule::conjugate_first},
    {id::LinalgVecdot, complex_rule::vecdot},
    {id::Cat, complex_rule::by_parts},
    {id::Flip, complex_rule::by_parts},
    {id::Gather, complex_rule::by_parts},
    {id::Index, complex_rule::index},
    {id::IndexPut, complex_rule::index_put},
    {id::IndexSelect, complex_rule::by_parts},
    {id::IndexAdd, complex_rule::by_parts},
    {id::IndexCopy, complex_rule::by_parts},
    {id::IndexFill, complex_rule::by_parts},
    {id::IndexFillTensor, complex_rule::by_parts},
    {id::Take, complex_rule::by_parts},
    {id::Put, complex_rule::by_parts},
    {id::Scatter, complex_rule::by_parts},
    {id::ScatterValue, complex_rule::by_parts},
    {id::ScatterAdd, complex_rule::by_parts},
    {id::MaskedScatter, complex_rule::by_parts},
    {id::MaskedFill, complex_rule::masked_fill},
    {id::WriteView, complex_rule::write_view},
};

constexpr auto kComplexRules = [] {
  std::array<ComplexRule, id::kCount> rules{};
  for (const ComplexRow& row : kComplexRows) rules[row.op] = row.rule;
  return rules;
}();

bool is_complex_argument(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) return *t && is_complex((*t)->dtype);
  if (const auto* n = a.get_if<Node*>()) return !(*n)->multi && !(*n)->types.empty() && is_complex((*n)->type().dtype);
  if (const auto* t = a.get_if<DType>()) return is_complex(*t);
  if (const auto* l = a.get_if<ListArg>()) return std::ranges::any_of(l->items, is_complex_argument);
  return a.is<std::complex<double>>();
}

}  // namespace

ComplexRule complex_rule_of(OpId id) { return id < kComplexRules.size() ? kComplexRules[id] : nullptr; }

bool involves_complex(std::span<const Arg> args) { return std::ranges::any_of(args, is_complex_argument); }

void refuse_complex(const Op& op, std::span<const Arg> args) {
  const bool only_room = op.id == id::Empty || op.id == id::EmptyLike || op.kind() == OpKind::View;
  if (only_room || !involves_complex(args)) return;
  DType t = DType::Complex64;
  for (const Arg& a : args)
    if (is_complex_tensor(a)) t = type_of(a).dtype;
  // These ask before they look for a kernel.
  constexpr OpId kAsking[] = {id::Maximum, id::Minimum, id::Sort, id::ArgMax, id::ArgMin};
  const bool asks = std::ranges::find(kAsking, op.id) != std::end(kAsking);
  throw OpError(asks ? ErrorKind::Runtime : ErrorKind::NotImplemented,
                fmt::format("\"{}\" not implemented for '{}'", op.public_name, info(t).guard_name));
}

}  // namespace md
