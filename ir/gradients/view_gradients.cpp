// Derivatives of views: where each element of the view lies in its base, its gradient goes.
#include "ir/gradients/derivation.h"
#include "registry/ops/arrangement.h"
#include "registry/ops/indexing.h"
#include "registry/ops/kernels.h"
#include "registry/ops/views.h"

namespace md {

namespace {

Gradients reshaped_back(const Derivation& d) { return d.all({reshaped(d, d.g(), d.sizes_of(0))}); }

Gradients swapped_back(const Derivation& d, std::int64_t a, std::int64_t b) {
  return d.all({d.call(id::Transpose, {d.g(), a, b})});
}

// The same view of another tensor.
Arg same_view(const Derivation& d, const Arg& of) {
  std::vector<Arg> args(d.args.begin(), d.args.end());
  args[0] = of;
  return d.caller.call(d.op, std::move(args));
}

// Into zeros: of a view that shows each element of its base once at most.
Gradients written_back(const Derivation& d) {
  const Arg zeros = d.call(id::Zeros, {sizes_arg(d.sizes_of(0)), type_of(d.g()).dtype});
  const TensorType part = type_of(same_view(d, zeros));
  return d.all({d.call(id::WriteView, {zeros, d.g(), sizes_arg(part.strides), part.offset})});
}

// Added into zeros: of a view that may show an element several times. `places` numbers the elements of `count`.
Arg added_back(const Derivation& d, const Arg& places, Size count) {
  const Arg flat_places = reshaped(d, places, SizeVec{product(type_of(places).sizes)});
  const Arg flat = reshaped(d, d.g(), SizeVec{product(type_of(d.g()).sizes)});
  const Arg zeros = d.call(id::Zeros, {ListArg{{Arg(count)}}, type_of(d.g()).dtype});
  return d.call(id::IndexAdd, {zeros, 0, flat_places, flat});
}

Arg numbers_below(const Derivation& d, Size count) { return d.call(id::Arange, {0, count, 1, DType::Int64}); }

// One more than the largest place that such a tensor reaches in its storage.
Size storage_reach(const SizeVec& sizes, const SizeVec& strides, Size offset) {
  Size reach = offset + Size(1);
  for (std::size_t i = 0; i < sizes.size(); ++i) reach = reach + (sizes[i] - Size(1)) * strides[i];
  return reach;
}

}  // namespace

Gradients vjp_rule(ops::View, const Derivation& d) { return reshaped_back(d); }
Gradients vjp_rule(ops::Squeeze, const Derivation& d) { return reshaped_back(d); }
Gradients vjp_rule(ops::SqueezeDim, const Derivation& d) { return reshaped_back(d); }
Gradients vjp_rule(ops::Unsqueeze, const Derivation& d) { return reshaped_back(d); }
Gradients vjp_rule(ops::Expand, const Derivation& d) { return d.all({d.g()}); }  // vjp() sums
Gradients vjp_rule(ops::Detach, const Derivation& d) { return d.all({}); }

Gradients vjp_rule(ops::Permute, const Derivation& d) {
  const auto& dims = d.arg(1).get<ListArg>().items;
  ListArg back;
  back.items.resize(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    back.items[static_cast<std::size_t>(checked_dim(d, dims[i].get<Size>(), d.rank(0)))] =
        Size(static_cast<std::int64_t>(i));
  return d.all({d.call(id::Permute, {d.g(), back})});
}
Gradients vjp_rule(ops::Transpose, const Derivation& d) {
  return d.all({d.call(id::Transpose, {d.g(), d.arg(1), d.arg(2)})});
}
Gradients vjp_rule(ops::MatrixT, const Derivation& d) { return d.all({d.call(id::MatrixT, {d.g()})}); }
Gradients vjp_rule(ops::ReversedT, const Derivation& d) { return d.all({d.call(id::ReversedT, {d.g()})}); }
Gradients vjp_rule(ops::LastTwoT, const Derivation& d) { return swapped_back(d, -2, -1); }

Gradients vjp_rule(ops::Select, const Derivation& d) { return written_back(d); }
Gradients vjp_rule(ops::SelectAt, const Derivation& d) { return written_back(d); }
Gradients vjp_rule(ops::Narrow, const Derivation& d) { return written_back(d); }
Gradients vjp_rule(ops::Slice, const Derivation& d) { return written_back(d); }
Gradients vjp_rule(ops::Diagonal, const Derivation& d) { return written_back(d); }

Gradients vjp_rule(ops::Unfold, const Derivation& d) {
  const Size count = product(d.sizes_of(0));
  const Arg places = same_view(d, reshaped(d, numbers_below(d, count), d.sizes_of(0)));
  return d.all({reshaped(d, added_back(d, places, count), d.sizes_of(0))});
}

// By places in the storage, as the sizes, strides and offset are given in them.
Gradients vjp_rule(ops::AsStrided, const Derivation& d) {
  const TensorType base = d.tensor(0), part = type_of(d.y());
  const Size a = storage_reach(base.sizes, base.strides, base.offset);
  const Size b = storage_reach(part.sizes, part.strides, part.offset);
  const Size count = guard_eq(product(part.sizes), 0) || hint(a) > hint(b) ? a : b;
  const auto view = [&](const Arg& of, const TensorType& as) {
    return d.call(id::AsStrided, {of, sizes_arg(as.sizes), sizes_arg(as.strides), as.offset});
  };
  const Arg storage = added_back(d, view(numbers_below(d, count), part), count);
  return d.all({view(storage, base)});
}

}  // namespace md
