// Inference: dispatch by op, dtype promotion, pointwise and reduction rules.
#include "ir/infer/infer.h"

#include <algorithm>

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
  const DType t = type_of(c.arg(0)).dtype;
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

}  // namespace

// Row-major ones may say anything of dimensions that do not matter, and keep it.
SizeVec like_strides(const TensorType& x) {
  return is_row_major(x.sizes, x.strides) ? x.strides : joined_strides({&x, 1}, x.sizes);
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
