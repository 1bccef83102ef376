// The reference engine: every op on one element at a time, in the defined order. The oracle of all other tiers.
#include <fmt/format.h>

#include <memory>

#include "ir/graph/op_visit.h"
#include "ir/reference/engine.h"
#include "ir/reference/reference.h"
#include "ir/tensor/stored_numbers.h"
#include "registry/reduction_order.h"

namespace md {

#define MD_OP(S) void reference_kernel(ops::S, const KernelCall& c);
#include "registry/ops.inc"
#undef MD_OP

static void gather_stored(const TensorImpl& t, ElementCursor& at, std::int64_t n, DType compute, void* out) {
  const auto* base = static_cast<const char*>(t.data());
  const auto item = static_cast<std::int64_t>(item_size(t.dtype));
  visit_dtype(compute, [&](auto to) {
    using To = decltype(to);
    for (std::int64_t i = 0; i < n; ++i, at.next()) {
      WorkingOf<To>& v = static_cast<WorkingOf<To>*>(out)[i];
      visit_stored(t.dtype, base + at.offset() * item, [&](auto number) {
        if constexpr (std::is_floating_point_v<decltype(number)>) {
          v = widen(convert_value<To>(number));
        } else if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) {
          v = widen(convert_value<To>(static_cast<float>(number)));
        } else if constexpr (std::is_same_v<To, bool>) {
          v = number != 0;
        } else {
          v = widen(static_cast<To>(number));
        }
      });
    }
  });
}

static void scatter_stored(const void* values, DType from, std::int64_t n, const TensorImpl& t, ElementCursor& at) {
  auto* base = static_cast<char*>(t.data());
  const auto item = static_cast<std::int64_t>(item_size(t.dtype));
  visit_dtype(from, [&](auto source) {
    const auto* v = static_cast<const WorkingOf<decltype(source)>*>(values);
    for (std::int64_t i = 0; i < n; ++i, at.next()) store_number(t.dtype, base + at.offset() * item, v[i]);
  });
}

void gather(const TensorImpl& t, ElementCursor& at, std::int64_t n, DType compute, void* out) {
  if (is_storage_only(compute)) compute = working(compute);
  if (is_storage_only(t.dtype)) return gather_stored(t, at, n, compute, out);
  visit_dtype(t.dtype, [&](auto from) {
    visit_dtype(compute, [&](auto to) {
      using To = decltype(to);
      const auto* base = t.as<decltype(from)>();
      for (std::int64_t i = 0; i < n; ++i, at.next()) {
        static_cast<WorkingOf<To>*>(out)[i] = widen(convert_value<To>(base[at.offset()]));
      }
    });
  });
}

void scatter(const void* values, DType from, std::int64_t n, const TensorImpl& t, ElementCursor& at) {
  if (is_storage_only(from)) from = working(from);
  if (is_storage_only(t.dtype)) return scatter_stored(values, from, n, t, at);
  visit_dtype(from, [&](auto source) {
    visit_dtype(t.dtype, [&](auto to) {
      using From = decltype(source);
      using To = decltype(to);
      auto* base = t.as<To>();
      for (std::int64_t i = 0; i < n; ++i, at.next()) {
        base[at.offset()] = convert_value<To>(narrow<From>(static_cast<const WorkingOf<From>*>(values)[i]));
      }
    });
  });
}

void number_element(const Arg& number, DType compute, void* out) {
  visit_dtype(compute, [&](auto to) {
    using To = decltype(to);
    auto& v = *static_cast<WorkingOf<To>*>(out);
    if (const auto* d = number.get_if<double>()) {
      v = widen(convert_value<To>(*d));
    } else if (const auto* b = number.get_if<bool>()) {
      v = widen(convert_value<To>(*b));
    } else {
      v = widen(convert_value<To>(number.get<Size>().value()));
    }
  });
}

namespace {

constexpr std::int64_t kBlock = 256;
using Buffer = std::array<double, kBlock>;  // room for a block of any dtype

// One operand of a pointwise call: a tensor read block by block, or a number repeated.
class Operand {
 public:
  Operand(const Arg& a, DType compute, const DimVec& sizes) : compute_(compute) {
    if (const auto* t = a.get_if<TensorRef>()) {
      tensor_ = t->get();
      cursor_.emplace(*tensor_, sizes);
      return;
    }
    visit_dtype(working(compute), [&](auto v) {
      number_element(a, compute, &v);
      std::fill_n(reinterpret_cast<decltype(v)*>(buffer_.data()), kBlock, v);
    });
  }
  const void* next(std::int64_t n) {
    if (tensor_) gather(*tensor_, *cursor_, n, compute_, buffer_.data());
    return buffer_.data();
  }

 private:
  const TensorImpl* tensor_ = nullptr;
  std::optional<ElementCursor> cursor_;
  DType compute_;
  Buffer buffer_;
};

void run_pointwise(const KernelCall& c) {
  const ComputeTypes types = compute_types(c.op, c.args);
  const BodyFn body = reference_body(c.op.id, types.compute);
  const TensorImpl& out = *c.out[0];
  std::vector<Operand> operands;
  operands.reserve(static_cast<std::size_t>(c.op.operands));
  for (int i = 0; i < c.op.operands; ++i) {
    operands.emplace_back(c.args[i], operand_dtype(c.op, c.args, i, types.compute), out.sizes);
  }
  ElementCursor at(out, out.sizes);
  Buffer result;
  const void* in[3] = {};
  // A body yields the compute dtype, or masks where the result is bool.
  const DType yields = types.result == DType::Bool ? DType::Bool : types.compute;
  const std::int64_t total = out.numel();
  for (std::int64_t done = 0; done < total; done += kBlock) {
    const std::int64_t n = std::min(kBlock, total - done);
    for (std::size_t i = 0; i < operands.size(); ++i) in[i] = operands[i].next(n);
    if (!body(in, result.data(), n)) throw OpError(ErrorKind::Runtime, std::string(failure_of(c.op.id)));
    scatter(result.data(), yields, n, out, at);
  }
}

// The operand with its kept dimensions first and its reduced ones last, each in their own order.
struct SplitAxes {
  DimVec kept_sizes, kept_strides, sizes, strides;
  bool last_is_reduced = true;
};

SplitAxes split_axes(const KernelCall& c, const TensorImpl& x) {
  const Arg none;
  const Arg& dim = c.op.dim < 0 ? none : c.args[c.op.dim];
  const ListArg* list = dim.get_if<ListArg>();
  const bool all = dim.is_none() || (list && list->items.empty());
  std::vector<bool> reduced(x.sizes.size(), all);
  const std::span<const Arg> dims = list ? std::span<const Arg>(list->items) : std::span<const Arg>(&dim, 1);
  for (std::size_t i = 0; !all && i < dims.size(); ++i) {
    const std::int64_t d = dims[i].get<Size>().value();
    if (x.dim() > 0) reduced[d < 0 ? d + x.dim() : d] = true;
  }
  SplitAxes s;
  for (int i = 0; i < x.dim(); ++i) {
    (reduced[i] ? s.sizes : s.kept_sizes).push_back(x.sizes[i]);
    (reduced[i] ? s.strides : s.kept_strides).push_back(x.strides[i]);
    s.last_is_reduced = reduced[i];
  }
  return s;
}

// One result of a reduction from its n gathered values.
void reduce_one(const KernelCall& c, DType compute, const void* values, std::int64_t n, int lanes, ElementCursor& first,
                ElementCursor* second) {
  if (!c.op.traits.finds_position) {
    double result;
    reference_fold(c.op.id, compute)(values, n, lanes, &result);
    return scatter(&result, compute, 1, *c.out[0], first);
  }
  const std::int64_t at = reference_find(c.op.id, compute)(values, n);
  if (second) {
    const auto* bytes = static_cast<const char*>(values);
    scatter(bytes + at * static_cast<std::int64_t>(item_size(working(compute))), compute, 1, *c.out[0], first);
  }
  scatter(&at, DType::Int64, 1, second ? *c.out[1] : *c.out[0], second ? *second : first);
}

void run_reduction(const KernelCall& c) {
  const TensorImpl& x = c.tensor(0);
  const ComputeTypes types = compute_types(c.op, c.args);
  const SplitAxes s = split_axes(c, x);
  const TensorImpl kept(x.storage, x.dtype, s.kept_sizes, s.kept_strides, x.offset);
  TensorImpl folded(x.storage, x.dtype, s.sizes, s.strides, x.offset);
  const std::int64_t n = folded.numel(), results = kept.numel();
  const int lanes = s.last_is_reduced ? kInnerLanes : kOuterLanes;
  std::vector<double> values(static_cast<std::size_t>(n));
  ElementCursor start(kept, kept.sizes), first(*c.out[0], c.out[0]->sizes);
  std::optional<ElementCursor> second;
  if (c.out.size() > 1) second.emplace(*c.out[1], c.out[1]->sizes);
  for (std::int64_t i = 0; i < results; ++i, start.next()) {
    folded.offset = x.offset + start.offset();
    ElementCursor at(folded, folded.sizes);
    gather(folded, at, n, types.compute, values.data());
    reduce_one(c, types.compute, values.data(), n, lanes, first, second ? &*second : nullptr);
  }
}

using KernelFn = void (*)(const KernelCall&);

template <class O>
constexpr KernelFn kernel_of() {
  constexpr OpKind k = O::decl.kind;
  if constexpr (k == OpKind::Create || k == OpKind::Random || k == OpKind::Kernel) {
    return [](const KernelCall& c) { reference_kernel(O{}, c); };
  } else {
    return nullptr;
  }
}
constexpr KernelFn kKernels[] = {
#define MD_OP(S) kernel_of<ops::S>(),
#include "registry/ops.inc"
#undef MD_OP
};

class ReferenceEngine final : public Engine {
 public:
  void run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) override {
    const KernelCall c{op, args, out};
    if (op.kind() == OpKind::Pointwise) return run_pointwise(c);
    if (op.kind() == OpKind::Reduction) return run_reduction(c);
    const KernelFn f = op.id < std::size(kKernels) ? kKernels[op.id] : nullptr;
    if (!f) throw InternalError(fmt::format("the reference engine has no kernel for {}", op.name()));
    f(c);
  }
};

}  // namespace

Engine& reference_engine() {
  static ReferenceEngine e;
  return e;
}

}  // namespace md
