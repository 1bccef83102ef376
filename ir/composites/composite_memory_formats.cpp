// Composites that name a memory format: copies, conversions, random tensors like others.
#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/infer/expansion.h"
#include "ir/infer/memory_formats.h"
#include "ir/infer/unbacked.h"
#include "ir/tensor/readable.h"
#include "registry/ops/composites.h"
#include "registry/ops/randomness.h"

namespace md {
namespace {

// A copy of `x` that has these strides, which are dense with the dimensions in this order from the slowest on.
template <class Order>
Arg laid_out(const Expansion& e, const Arg& x, const Order& order, const SizeVec& strides) {
  ListArg there, back;
  back.items.resize(order.size());
  for (const int d : order) {
    back.items[static_cast<std::size_t>(d)] = static_cast<int>(there.items.size());
    there.items.emplace_back(d);
  }
  const Arg dense = e.call(id::Compact, {e.call(id::Permute, {x, there})});
  const Arg copy = e.call(id::Permute, {dense, back});
  const SizeVec sizes = type_of(x).sizes;
  const bool empty = std::ranges::any_of(sizes, [](const Size s) { return s.is_const(0); });
  return empty ? e.call(id::AsStrided, {copy, sizes_arg(sizes), sizes_arg(strides)}) : copy;
}

const MemoryFormat* named_format(const Arg& a) {
  const auto* f = a.get_if<MemoryFormat>();
  return f && *f != MemoryFormat::Preserve ? f : nullptr;
}

// Converted where fewer elements move: both are where the tensor was.
Arg moved(const Expansion& e, DType t, Device d) { return on_device(e, converted(e, e.arg(0), t), d); }

// What to() and its kin do: the tensor itself if it is what is asked for, else a copy.
Arg to(const Expansion& e, DType t, Device d, bool copy, const Arg& format) {
  const Arg& x = e.arg(0);
  const TensorType type = type_of(x);
  const bool same = type.dtype == t && device_of(x) == d;
  const MemoryFormat* f = named_format(format);
  if (!f) return same && copy ? e.call(id::Clone, {x}) : moved(e, t, d);
  if (same && !copy && suggested_format(type) == *f) return x;
  const Arg changed = moved(e, t, d);
  return !same && type_of(changed).strides == format_strides(*f, type.sizes) ? changed : in_format(e, changed, *f);
}

Arg to_dtype(const Expansion& e, DType t) { return to(e, t, device_of(e.arg(0)), false, e.arg(1)); }

}  // namespace

Arg in_format(const Expansion& e, const Arg& x, MemoryFormat f) {
  if (f == MemoryFormat::Contiguous) return e.call(id::Compact, {x});
  const TensorType t = type_of(x);
  return laid_out(e, x, format_order(f, t.dim()), format_strides(f, t.sizes));
}

// --- Copies ----------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::CloneFormat, const Expansion& e) {
  const MemoryFormat* f = named_format(e.arg(1));
  return f ? in_format(e, e.arg(0), *f) : e.call(id::Clone, {e.arg(0)});
}

Arg expand_rule(ops::Contiguous, const Expansion& e) {
  const TensorType t = e.tensor(0);
  const auto f = e.arg(1).get<MemoryFormat>();
  if (has_format(t, f)) return e.arg(0);
  if (f == MemoryFormat::Preserve) e.fail(ErrorKind::Runtime, "no tensor is made contiguous by preserve_format");
  need_known_layout(t);
  return in_format(e, e.arg(0), f);
}

// --- Conversions -----------------------------------------------------------------------------------------------------

Arg expand_rule(ops::ToDtype, const Expansion& e) {
  return to(e, e.arg(1).get<DType>(), device_of(e.arg(0)), e.flag(3), e.arg(4));
}
Arg expand_rule(ops::ToDevice, const Expansion& e) {
  const EarlyReturn others_go_on(e.flag(3));
  return to(e, chosen_dtype(e, e.tensor(0).dtype), e.place, e.flag(4), e.arg(5));
}
Arg expand_rule(ops::ToOther, const Expansion& e) {
  const EarlyReturn others_go_on(e.flag(2));
  return to(e, e.tensor(1).dtype, device_of(e.arg(1)), e.flag(3), e.arg(4));
}
Arg expand_rule(ops::TypeAs, const Expansion& e) { return moved(e, e.tensor(1).dtype, device_of(e.arg(1))); }
Arg expand_rule(ops::Cpu, const Expansion& e) { return to(e, e.tensor(0).dtype, kCpu, false, e.arg(1)); }
Arg expand_rule(ops::ToFloat, const Expansion& e) { return to_dtype(e, DType::Float32); }
Arg expand_rule(ops::ToDouble, const Expansion& e) { return to_dtype(e, DType::Float64); }
Arg expand_rule(ops::ToInt, const Expansion& e) { return to_dtype(e, DType::Int32); }
Arg expand_rule(ops::ToLong, const Expansion& e) { return to_dtype(e, DType::Int64); }
Arg expand_rule(ops::ToHalf, const Expansion& e) { return to_dtype(e, DType::Float16); }
Arg expand_rule(ops::ToBFloat16, const Expansion& e) { return to_dtype(e, DType::BFloat16); }
Arg expand_rule(ops::ToChar, const Expansion& e) { return to_dtype(e, DType::Int8); }
Arg expand_rule(ops::ToShort, const Expansion& e) { return to_dtype(e, DType::Int16); }
Arg expand_rule(ops::ToByte, const Expansion& e) { return to_dtype(e, DType::UInt8); }
Arg expand_rule(ops::ToBool, const Expansion& e) { return to_dtype(e, DType::Bool); }

// --- Random tensors like others --------------------------------------------------------------------------------------

namespace {

// Of equal strides the size of 1 is the faster one: so the dense copy has these very strides.
std::vector<int> slowest_first(const SizeVec& sizes, const SizeVec& strides) {
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return strides[i] == strides[j] ? layout_lt(sizes[j], sizes[i]) : layout_lt(strides[j], strides[i]);
  });
  return order;
}

// `draw` makes a row-major tensor that requires a gradient if told so. One in another order is a copy of it, which
// eager calls (ir/run/eager.cpp) and inference make a leaf where the call asks for one.
template <class Draw>
Arg drawn_like(const Expansion& e, Draw&& draw) {
  const TensorType x = e.tensor(0);
  const SizeVec strides = strides_like(x, e.args.back());
  const Arg& grad = e.arg(e.op.requires_grad);
  if (strides == row_major_strides(x.sizes)) return draw(grad);
  if (grad.get<bool>() && !is_differentiable(chosen_dtype(e, x.dtype))) {
    e.fail(ErrorKind::Runtime, "only Tensors of floating point and complex dtype can require gradients");
  }
  return laid_out(e, draw(false), slowest_first(x.sizes, strides), strides);
}

Arg dtype_like(const Expansion& e) { return e.arg(e.op.dtype).is_none() ? Arg(e.tensor(0).dtype) : e.arg(e.op.dtype); }

Arg random_like(const Expansion& e, OpId id) {
  return drawn_like(e, [&](const Arg& grad) {
    return e.call(id, {sizes_arg(e.tensor(0).sizes), dtype_like(e), e.arg(e.op.device), grad});
  });
}

Arg integers_like(const Expansion& e, const Arg& low, const Arg& high) {
  return drawn_like(e, [&](const Arg& grad) {
    return e.call(id::Randint, {low, high, sizes_arg(e.tensor(0).sizes), dtype_like(e), e.arg(e.op.device), grad});
  });
}

}  // namespace

Arg expand_rule(ops::RandLike, const Expansion& e) { return random_like(e, id::Rand); }
Arg expand_rule(ops::RandnLike, const Expansion& e) { return random_like(e, id::Randn); }
Arg expand_rule(ops::RandintLike, const Expansion& e) { return integers_like(e, 0, e.arg(1)); }
Arg expand_rule(ops::RandintLikeLow, const Expansion& e) { return integers_like(e, e.arg(1), e.arg(2)); }

}  // namespace md
