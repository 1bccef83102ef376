// Promotion of dtypes: what a call is computed in, what its result has, and which dtypes it is not defined for.
#include "ir/infer/promotion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/graph/op_visit.h"
#include "ir/infer/infer.h"

namespace md {

namespace {

struct OperandInfo {
  DType dtype;
  int rank;  // -1: a number
  bool requires_grad;
};

OperandInfo operand_info(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) {
    const TensorImpl& x = **t;
    return {x.dtype, x.wrapped_number ? -1 : x.dim(), x.requires_grad};
  }
  if (const auto* n = a.get_if<Node*>()) {
    const TensorType& t = (*n)->type();
    return {t.dtype, t.wrapped_number ? -1 : t.dim(), t.requires_grad};
  }
  return {number_dtype(a), -1, false};
}

// torch's three priorities: dimensioned tensors, 0-d tensors, numbers. A lower one decides only with a higher category.
struct Promotion {
  std::array<DType, 3> best{};
  std::array<bool, 3> seen{};

  void add(const OperandInfo& o) {
    const int level = o.rank > 0 ? 0 : o.rank == 0 ? 1 : 2;
    const DType t = level < 2              ? o.dtype
                    : is_floating(o.dtype) ? default_dtype()
                    : is_complex(o.dtype)  ? to_complex(default_dtype())
                                           : o.dtype;
    best[level] = seen[level] ? promoted(best[level], t) : t;
    seen[level] = true;
  }
  DType result() const {
    DType t = DType::Bool;
    bool any = false;
    for (int level = 0; level < 3; ++level) {
      if (!seen[level]) continue;
      if (any && is_floating(t) && is_complex(best[level]))
        t = to_complex(t);
      else if (!any || info(best[level]).category > info(t).category)
        t = best[level];
      any = true;
    }
    return t;
  }
};

[[noreturn]] void unsupported_dtype(const Op& op, DType t) {
  throw OpError(ErrorKind::NotImplemented,
                fmt::format("{}() is not defined for {} tensors", op.public_name, info(t).name));
}

// Bits alone decide the result of these, or the arithmetic of the wider dtype that stands for a stored one.
constexpr OpId kOnStored[] = {id::Mul,   id::Eq,    id::Ne,      id::Where,   id::Fill,        id::Copy,
                              id::IsNan, id::Clone, id::Compact, id::Convert, id::CopyToDevice};
constexpr OpId kMovesStored[] = {id::Cat,          id::WriteView, id::Index, id::IndexPut,
                                 id::MaskedSelect, id::SelectAt,  id::Item};

// What a call that would be computed in a dtype that is only stored is computed in instead.
DType stands_for(const Op& op, DType t) {
  const bool bits = op.id == id::BitwiseAnd || op.id == id::BitwiseOr || op.id == id::BitwiseXor;
  const bool known = std::ranges::find(kOnStored, op.id) != std::end(kOnStored);
  if (!known && !(is_float8(t) ? op.id == id::Abs : bits)) unsupported_dtype(op, t);
  return working(t);
}

[[noreturn]] void refuse_bools(const Op& op) {
  throw OpError(ErrorKind::Runtime, fmt::format("{}(): bool operands are not supported; use the `^` or logical_xor() "
                                                "operator, or `~` to invert a mask",
                                                op.public_name));
}

void check_computes(const Op& op, DType t) {
  const auto computes = [&] {
    switch (info(t).category) {
      case DTypeCategory::Bool:
        return op.traits.on_bools;
      case DTypeCategory::Integral:
        return op.traits.on_ints;
      case DTypeCategory::Floating:
        return op.traits.on_floats;
      case DTypeCategory::Complex:
        return false;  // such calls are opened before
    }
    return false;
  };
  if (!computes()) unsupported_dtype(op, t);
}

// The dtype parameter, whether or not it has a value.
DType dtype_or(const Op& op, std::span<const Arg> args, DType otherwise) {
  const DType* given = op.dtype < 0 ? nullptr : args[op.dtype].get_if<DType>();
  return given ? *given : otherwise;
}

// What the operands from `first` on promote to. Most calls of a program are of tensors that have one dtype.
DType promoted_operands(const Op& op, std::span<const Arg> args, int first) {
  const auto* t = first < op.operands ? args[first].get_if<TensorRef>() : nullptr;
  if (t && (*t)->dim() > 0 && (*t)->dtype != DType::Bool) {
    const DType own = (*t)->dtype;
    int i = first + 1;
    for (; i < op.operands; ++i) {
      const auto* next = args[i].get_if<TensorRef>();
      if (!next || (*next)->dtype != own) break;
    }
    if (i >= op.operands) return own;
  }
  Promotion p;
  for (int i = first; i < op.operands; ++i) {
    const OperandInfo o = operand_info(args[i]);
    if (op.decl->no_bools && o.dtype == DType::Bool) refuse_bools(op);
    p.add(o);
  }
  return p.result();
}

ComputeTypes types_by_rule(const Op& op, std::span<const Arg> args) {
  switch (op.decl->promote) {
    case Promote::KeepFirst: {
      const DType t = operand_info(args[0]).dtype;
      return {t, op.traits.finds_position && op.schema.results == 1 ? DType::Int64 : t};
    }
    case Promote::Convert: {
      const DType t = args[op.dtype].get<DType>();
      return {t, t};
    }
    case Promote::Accumulate: {
      const DType own = operand_info(args[0]).dtype;
      const DType t = dtype_or(op, args, is_differentiable(own) ? own : DType::Int64);
      return {t, t};
    }
    case Promote::Logical:
      // any() and all() of uint8, which once stood for bool, stay uint8.
      if (op.kind() == OpKind::Reduction && operand_info(args[0]).dtype == DType::UInt8) {
        return {DType::Bool, DType::UInt8};
      }
      return {DType::Bool, DType::Bool};
    default:
      break;
  }
  DType t = promoted_operands(op, args, op.decl->promote == Promote::Select ? 1 : 0);
  if (op.decl->promote == Promote::IntToFloat && !is_floating(t)) t = default_dtype();
  return {t, op.decl->promote == Promote::Compare ? DType::Bool : t};
}

void check_fill_value(const Arg& value) {
  if (value.is_number() || type_of(value).dim() == 0) return;
  throw OpError(ErrorKind::Runtime,
                fmt::format("fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
                            type_of(value).dim()));
}

}  // namespace

void check_moves(const Op& op, const Arg& a) {
  if (const auto* l = a.get_if<ListArg>()) {
    for (const Arg& x : l->items) check_moves(op, x);
  } else if (a.is<TensorRef>() || a.is<Node*>()) {
    const DType t = operand_info(a).dtype;
    const bool moved =
        std::ranges::find(kMovesStored, op.id) != std::end(kMovesStored) || (op.id == id::IndexSelect && is_float8(t));
    if (is_storage_only(t) && !moved) unsupported_dtype(op, t);
  }
}

DType promoted_dtype(std::span<const Arg> operands) {
  Promotion p;
  for (const Arg& a : operands) p.add(operand_info(a));
  return p.result();
}

DType promoted(DType a, DType b) {
  if (a == b || (!is_storage_only(a) && !is_storage_only(b))) return promote(a, b);
  const bool eight_bits = is_float8(a) || is_float8(b);
  if (!eight_bits && (is_floating(a) || is_floating(b))) return is_floating(a) ? a : b;
  throw OpError(ErrorKind::Runtime, fmt::format("{} elements have no common type with others: {} and {} were given",
                                                eight_bits ? "float8" : "uint16, uint32 and uint64", info(a).guard_name,
                                                info(b).guard_name));
}

ComputeTypes compute_types(const Op& op, std::span<const Arg> args) {
  ComputeTypes t = types_by_rule(op, args);
  if (is_storage_only(t.compute)) t.compute = stands_for(op, t.compute);
  check_computes(op, t.compute);
  if (op.decl == &ops::Fill::decl) check_fill_value(args[1]);
  if (op.decl->number_fits) {
    for (int i = 0; i < op.operands; ++i) {
      if (args[i].is_number()) check_number_fits(op, args[i], t.compute);
    }
  }
  return t;
}

DType operand_dtype(const Op& op, std::span<const Arg> args, int i, DType compute) {
  const Promote p = op.decl->promote;
  if (p == Promote::Logical || (p == Promote::Select && i == 0)) return DType::Bool;
  const bool exact = op.decl->exact_number && i == 1 && is_half(compute) && operand_info(args[i]).rank <= 0;
  return exact ? DType::Float32 : compute;
}

}  // namespace md
