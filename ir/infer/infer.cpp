// Inference: dispatch by op, dtype promotion, pointwise and reduction rules.
#include "ir/infer/infer.h"

#include <algorithm>
#include <array>

#include "ir/graph/dataflow.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/graph/op_visit.h"
#include "ir/infer/asked_gradient.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/composite.h"
#include "ir/infer/memory_formats.h"
#include "ir/infer/promotion.h"
#include "ir/infer/type_caller.h"
#include "ir/infer/unbacked.h"

namespace md {

// Declared for every op; one of them is defined (ir/infer/infer_*.cpp) for those whose kind has no general rule.
#define MD_OP(S)                                     \
  TensorType infer_rule(ops::S, const InferCall& c); \
  std::vector<TensorType> infer_results(ops::S, const InferCall& c);
#include "registry/ops.inc"
#undef MD_OP

namespace {

using Rule = std::vector<TensorType> (*)(const InferCall&);

template <class O>
constexpr Rule rule_of() {
  constexpr OpKind k = O::decl.kind;
  if constexpr (k == OpKind::Pointwise || k == OpKind::Reduction || k == OpKind::Composite) {
    return nullptr;
  } else {
    return [](const InferCall& c) -> std::vector<TensorType> {
      if constexpr (has_named_results(O::decl.signature)) {
        return infer_results(O{}, c);
      } else {
        return {infer_rule(O{}, c)};
      }
    };
  }
}
constexpr Rule kRules[] = {
#define MD_OP(S) rule_of<ops::S>(),
#include "registry/ops.inc"
#undef MD_OP
};

// --- Promotion -----------------------------------------------------------------------------------------------------

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

// Kernels move such elements; none computes with them.
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

// --- Layout --------------------------------------------------------------------------------------------------------

// > 0: dimension a should vary slower than b in the result, by the first operand that tells them apart.
int compare_dims(std::span<const TensorType> operands, const SizeVec& sizes, int a, int b) {
  for (const TensorType& t : operands) {
    const int shift = static_cast<int>(sizes.size()) - t.dim();
    if (a < shift || b < shift) continue;
    const bool broadcast_a = t.sizes[a - shift].is_const(1) && !sizes[a].is_const(1);
    const bool broadcast_b = t.sizes[b - shift].is_const(1) && !sizes[b].is_const(1);
    const Size sa = t.strides[a - shift], sb = t.strides[b - shift];
    if (broadcast_a || broadcast_b || sa.is_const(0) || sb.is_const(0)) continue;
    if (!(sa == sb)) return layout_lt(sa, sb) ? -1 : 1;
    if (!(sizes[a] == sizes[b]) && layout_lt(sizes[b], sizes[a])) return 1;
  }
  return 0;
}

bool dense(const TensorType& t) {
  SizeVec order;
  for (int i = 0; i < t.dim(); ++i) {
    if (!t.sizes[i].is_const(1)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](Size x, Size y) {
    const Size sx = t.strides[x.value()], sy = t.strides[y.value()];
    return !(sx == sy) && layout_lt(sx, sy);
  });
  Size expected = 1;
  for (const Size d : order) {
    if (!(t.strides[d.value()] == expected)) return false;
    expected = expected * t.sizes[d.value()];
  }
  return true;
}

}  // namespace

SizeVec joined_strides(std::span<const TensorType> operands, const SizeVec& sizes) {
  bool same_shape = true, all_row_major = true, same_strides = true;
  for (const TensorType& t : operands) {
    same_shape &= t.sizes == sizes;
    all_row_major &= same_shape && is_row_major(t.sizes, t.strides);
    same_strides &= t.strides == operands[0].strides;
  }
  if (operands.empty() || (same_shape && all_row_major) || sizes.size() < 2) return row_major_strides(sizes);
  if (same_shape && same_strides && dense(operands[0])) return operands[0].strides;
  const int rank = static_cast<int>(sizes.size());
  SmallVector<int, 8> order;  // fastest first
  for (int i = rank - 1; i >= 0; --i) order.push_back(i);
  for (int i = 1; i < rank; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      const int c = compare_dims(operands, sizes, order[j], order[at]);
      if (c < 0) break;
      if (c > 0) std::swap(order[j], order[at]), at = j;
    }
  }
  SizeVec strides(sizes.size());
  Size next = 1;
  for (const int d : order) {
    strides[d] = next;
    next = next * max(sizes[d], 1);
  }
  return strides;
}

namespace {

// --- Pointwise and reductions --------------------------------------------------------------------------------------

void check_mask(const InferCall& c) {
  if (c.op.decl->promote != Promote::Select) return;
  const DType t = operand_info(c.arg(0)).dtype;
  if (t != DType::Bool && t != DType::UInt8)
    c.fail(ErrorKind::Runtime, "the condition must be a bool tensor, not {}", info(t).name);
}

TensorType infer_pointwise(const InferCall& c) {
  const ComputeTypes types = compute_types(c.op, c.args);
  check_mask(c);
  std::vector<TensorType> operands;
  bool grad = false;
  for (int i = 0; i < c.op.operands; ++i) {
    if (c.arg(i).is_number()) continue;
    operands.push_back(c.tensor(i));
    grad |= operands.back().requires_grad;
  }
  SizeVec sizes = operands.empty() ? SizeVec() : operands[0].sizes;
  for (std::size_t i = 1; i < operands.size(); ++i) sizes = broadcast(c, sizes, operands[i].sizes);
  TensorType out;
  out.dtype = types.result;
  out.strides = keeps_strides(c.op)    ? like_strides(operands[0])
                : c.op.decl->row_major ? row_major_strides(sizes)
                                       : joined_strides(operands, sizes);
  out.sizes = std::move(sizes);
  out.requires_grad = grad && grad_enabled() && is_differentiable(out.dtype);
  return out;
}

// Which dimensions a reduction folds; none given means all.
std::vector<bool> reduced_dims(const InferCall& c, int rank) {
  const Arg none;
  const Arg& dim = c.op.dim < 0 ? none : c.arg(c.op.dim);
  const ListArg* list = dim.get_if<ListArg>();
  if (dim.is_none() || (list && list->items.empty())) return std::vector<bool>(rank, true);
  std::vector<bool> reduced(rank, false);
  const std::span<const Arg> dims = list ? std::span<const Arg>(list->items) : std::span<const Arg>(&dim, 1);
  for (const Arg& d : dims) {
    const int at = checked_dim(c, d.get<Size>(), rank);
    if (rank == 0) continue;
    if (reduced[at]) c.fail(ErrorKind::Runtime, "dim {} appears multiple times in the list of dims", at);
    reduced[at] = true;
  }
  return reduced;
}

void check_elements(const InferCall& c, const SizeVec& sizes, const std::vector<bool>& reduced) {
  const auto* list = c.arg(c.op.dim).get_if<ListArg>();
  const bool no_dim = c.arg(c.op.dim).is_none() || (list && list->items.empty());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!reduced[i] || !guard_eq(sizes[i], 0)) continue;
    // torch raises RuntimeError for amax(x), IndexError for argmax(x) and wherever dim is given.
    const ErrorKind kind = no_dim && !c.op.traits.finds_position ? ErrorKind::Runtime : ErrorKind::Index;
    c.fail(kind, "dim {} of sizes {} has no elements to choose from", i, sizes_text(sizes));
  }
}

std::vector<TensorType> infer_reduction(const InferCall& c) {
  const TensorType x = c.tensor(0);
  const ComputeTypes types = compute_types(c.op, c.args);
  const std::vector<bool> reduced = reduced_dims(c, x.dim());
  if (c.op.traits.needs_elements) check_elements(c, x.sizes, reduced);
  const bool keep = c.op.keepdim >= 0 && c.flag(c.op.keepdim);
  SizeVec sizes;
  for (int i = 0; i < x.dim(); ++i) {
    if (!reduced[i]) sizes.push_back(x.sizes[i]);
    if (reduced[i] && keep) sizes.push_back(1);
  }
  TensorType out = fresh_type(c, types.result, std::move(sizes));
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(out.dtype);
  if (c.op.schema.results == 1) return {out};
  TensorType positions = out;
  positions.dtype = DType::Int64;
  positions.requires_grad = false;
  return {out, positions};
}

// --- Composites ----------------------------------------------------------------------------------------------------

// `a` if it is among the operands, or in a list of them.
Node* operand_handed_back(const Arg& a, std::span<const Arg> args) {
  auto* const* n = a.get_if<Node*>();
  bool found = false;
  for (const Arg& x : args) {
    if (n) for_each_value(x, [&](const Node* operand) { found |= operand == *n; });
  }
  return found ? *n : nullptr;
}

std::vector<TensorType> infer_composite(const InferCall& c, std::vector<Node*>* handed_back) {
  TypeCaller caller;
  const Arg result = expand(c.op, caller, c.args);
  std::vector<TensorType> types;
  const auto add = [&](const Arg& a) {
    types.push_back(type_of(a));
    if (asks_for_gradient(c.op, c.args, types.back().dtype))
      types.back().requires_grad = true, types.back().history = GradHistory::Leaf;
    if (handed_back) handed_back->push_back(operand_handed_back(a, c.args));
  };
  if (const auto* list = result.get_if<ListArg>()) {
    std::ranges::for_each(list->items, add);
  } else {
    add(result);
  }
  return types;
}

void check_fill_value(const Arg& value) {
  if (value.is_number() || type_of(value).dim() == 0) return;
  throw OpError(ErrorKind::Runtime,
                fmt::format("fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
                            type_of(value).dim()));
}

}  // namespace

// Row-major ones may say anything of dimensions that do not matter, and keep it.
SizeVec like_strides(const TensorType& x) {
  return is_row_major(x.sizes, x.strides) ? x.strides : joined_strides({&x, 1}, x.sizes);
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

static std::vector<TensorType> infer_by_kind(const Op& op, std::span<const Arg> args, std::vector<Node*>* handed_back) {
  const InferCall c{op, args};
  if (opens(op, args)) return infer_composite(c, handed_back);
  refuse_complex(op, args);
  switch (op.kind()) {
    case OpKind::Pointwise:
      return {infer_pointwise(c)};
    case OpKind::Reduction:
      return infer_reduction(c);
    default:
      if (op.kind() == OpKind::Kernel) {
        for (const Arg& a : args) check_moves(op, a);
      }
      if (op.decl->dynamic_sizes && !has_supply() && args[0].is<TensorRef>() && is_dynamic(op, args)) {
        std::vector<TensorType> types;
        for (const TensorRef& t : run_dynamic(op, args)) types.push_back(type_of(t));
        return types;
      }
      return kRules[op.id](c);
  }
}

static GradHistory history_of_result(const Op& op, std::span<const Arg> args, const TensorType& result) {
  const bool view = op.kind() == OpKind::View;
  if (!result.requires_grad) {
    if (!view || op.id == id::Detach) return GradHistory::Leaf;
    const TensorType x = type_of(args[0]);
    return x.requires_grad || x.history == GradHistory::UntrackedView ? GradHistory::UntrackedView : GradHistory::Leaf;
  }
  if (op.requires_grad >= 0) return GradHistory::Leaf;  // asked for by the call that makes it
  return view && type_of(args[0]).history != GradHistory::Computed ? GradHistory::LeafView : GradHistory::Computed;
}

static std::vector<TensorType> infer_settled(const Op& op, std::span<const Arg> args, std::vector<Node*>* handed_back) {
  check_enabled(op);
  std::vector<TensorType> types = infer_by_kind(op, args, handed_back);
  // Of a composite the parts have said it.
  const bool composite = opens(op, args);
  const Device device = composite ? kCpu : device_of_call(op, args);
  for (TensorType& t : types) {
    if (!composite) {
      t.device = device;
      if (op.kind() == OpKind::View) t.requires_grad &= grad_enabled();
      t.history = history_of_result(op, args, t);
    }
    for (Size& s : t.sizes) s = settle(s);
    for (Size& s : t.strides) {
      if (!s.is_const()) s = s.expr()->env->simplify(s);
    }
  }
  return types;
}

std::vector<TensorType> infer(const Op& op, std::span<const Arg> args) { return infer_settled(op, args, nullptr); }

std::vector<TensorType> infer(const Op& op, std::span<const Arg> args, std::vector<Node*>& handed_back) {
  handed_back.clear();
  std::vector<TensorType> types = infer_settled(op, args, &handed_back);
  handed_back.resize(types.size());
  return types;
}

TensorType type_of(const Arg& a) {
  if (const auto* n = a.get_if<Node*>()) return (*n)->type();
  const TensorImpl& x = **a.get_if<TensorRef>();
  TensorType t;
  t.dtype = x.dtype;
  t.device = x.device();
  t.sizes.resize(x.sizes.size());
  t.strides.resize(x.sizes.size());
  for (std::size_t i = 0; i < x.sizes.size(); ++i) t.sizes[i] = x.sizes[i], t.strides[i] = x.strides[i];
  t.offset = x.offset;
  t.requires_grad = x.requires_grad;
  t.history = x.history;
  t.wrapped_number = x.wrapped_number;
  return t;
}

}  // namespace md
